"""Which dead containers, sandboxes and log folders go. Pure. Source: upstream `kuberuntime` (containerGC).

The newest dead container of each name stays while its pod is there: its exit code, its log and its restart count are
what the pod's status and `kubectl logs --previous` come from.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from services.eviction.containers.model import DeadContainer, PodFate, Policy, Sandbox

K = TypeVar("K")
V = TypeVar("V")

MIN_ID_LENGTH: Final = 6
"""upstream `kuberuntime`: a shorter text behind the last dash is no container id"""


def plan_containers(
    dead: Iterable[DeadContainer],
    fates: Mapping[str, PodFate],
    policy: Policy,
    now_ns: int,
    *,
    all_stopped: bool = False,
) -> list[DeadContainer]:
    """What to remove, oldest first within a group. A pod without a fate is left as if it were running.

    `all_stopped`: disk is short, so that pods which will not run again lose their containers too.
    """
    old_enough = [c for c in dead if c.created_at_ns <= now_ns - int(policy.min_age_s * 1e9)]
    groups = _grouped(old_enough, lambda c: (c.pod_uid, c.name))
    removed: list[DeadContainer] = []
    kept: dict[tuple[str, str], list[DeadContainer]] = {}
    for key, members in groups.items():
        newest_first = sorted(members, key=lambda c: (c.created_at_ns, c.id), reverse=True)
        fate = fates.get(key[0])
        if fate is not None and _is_removable(fate, all_stopped):
            keep = 0
        else:
            keep = policy.max_per_container if policy.max_per_container >= 0 else len(members)
        removed += reversed(newest_first[keep:])
        if newest_first[:keep]:
            kept[key] = newest_first[:keep]
    return removed + _beyond_total(kept, policy.max_total)


def _is_removable(fate: PodFate, all_stopped: bool) -> bool:
    return fate.content_removable or (all_stopped and fate.runtime_removable)


def _beyond_total(kept: Mapping[tuple[str, str], list[DeadContainer]], limit: int) -> list[DeadContainer]:
    """What goes so that at most `limit` stay: evenly from each group first, then the oldest of all."""
    total = sum(map(len, kept.values()))
    if limit < 0 or total <= limit:
        return []
    each = max(1, limit // len(kept))
    removed = [c for members in kept.values() for c in members[each:]]
    left = sorted((c for members in kept.values() for c in members[:each]), key=lambda c: (c.created_at_ns, c.id))
    return removed + left[: max(0, len(left) - limit)]


def plan_sandboxes(
    sandboxes: Iterable[Sandbox], fates: Mapping[str, PodFate], *, all_stopped: bool = False
) -> list[Sandbox]:
    """Sandboxes that nothing uses: all of a pod that is gone, all but the newest of one that is there."""
    removed: list[Sandbox] = []
    for uid, members in _grouped(sandboxes, lambda s: s.pod_uid).items():
        oldest_first = sorted(members, key=lambda s: (s.created_at_ns, s.id))
        fate = fates.get(uid)
        candidates = oldest_first if fate is not None and _is_removable(fate, all_stopped) else oldest_first[:-1]
        removed += [s for s in candidates if not s.in_use]
    return removed


def plan_log_folders(folders: Iterable[str], fates: Mapping[str, PodFate]) -> list[str]:
    """Folders `<namespace>_<name>_<uid>` whose pod's content may be removed."""
    gone = []
    for folder in folders:
        fate = fates.get(pod_uid_of_log_folder(folder))
        if fate is not None and fate.content_removable:
            gone.append(folder)
    return gone


def pod_uid_of_log_folder(folder: str) -> str:
    """What follows the last underscore; the whole name where there is none."""
    return folder.rsplit("_", 1)[-1]


def container_id_of_link(link: str) -> str:
    """The container whose log a file `<pod>_<namespace>_<container>-<id>.log` is linked to; empty when it is none."""
    stem = link.removesuffix(".log")
    found = stem.rsplit("-", 1)[-1] if "-" in stem else ""
    return found if len(found) >= MIN_ID_LENGTH else ""


def _grouped(items: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
