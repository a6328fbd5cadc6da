"""What changed in a source's pods. Pure. Source: upstream `kubelet/config` (podStorage.merge).

Every source delivers its complete list; the mux remembers the last one and says what differs, pod by pod, keyed by UID.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from shared.kube.pods import CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE, pod_format, pod_full_name
from shared.kube.types import Pod

LOCAL_ANNOTATIONS: Final = frozenset({CONFIG_SOURCE, CONFIG_SEEN, CONFIG_MIRROR})
"""made on this node, so they say nothing about a change at the source"""


class Kind(StrEnum):
    """What happened to pods of one source, in the order in which it is told."""

    REMOVE = "remove"
    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    """it changed, and its graceful deletion has begun: a deletion time is set"""
    RECONCILE = "reconcile"
    """only the status that the source has differs"""


@dataclass(frozen=True)
class Operation:
    """Pods of one source to which the same happened. An ADD of no pods says that an empty source was read."""

    kind: Kind
    source: str
    pods: tuple[Pod, ...]


@dataclass(frozen=True)
class Merged:
    """What one list changed. `duplicates` were dropped: a pod before them in that list has their full name or UID."""

    operations: tuple[Operation, ...]
    duplicates: tuple[Pod, ...] = ()


def duplicate_message(pod: Pod, source: str) -> str:
    """Upstream's text of the FailedValidation event for a dropped duplicate."""
    name = pod.metadata.name
    return f'Error validating pod {pod_format(pod)} from {source} due to duplicate pod name "{name}", ignoring'


@dataclass
class Mux:
    """The pods last read, by source and UID. `registered` are the sources that must be read before anything is gone."""

    registered: frozenset[str]
    _pods: dict[str, dict[str, Pod]] = field(default_factory=dict)

    @property
    def all_read(self) -> bool:
        """Whether every registered source delivered a list."""
        return self.registered <= self._pods.keys()

    def merge(self, source: str, pods: Iterable[Pod], now_ns: int) -> Merged:
        """Take a source's complete list. `now_ns` is wall time, for the annotation of pods first seen."""
        first = source not in self._pods
        old = self._pods.get(source, {})
        unique, duplicates = _without_duplicates(pods)
        new: dict[str, Pod] = {}
        found: dict[Kind, list[Pod]] = {kind: [] for kind in Kind}
        for pod in unique:
            uid = pod.metadata.uid
            known = old.get(uid)
            if known is None:
                new[uid] = _annotated(pod, {CONFIG_SOURCE: source, CONFIG_SEEN: _seen_text(now_ns)})
                found[Kind.ADD].append(new[uid])
                continue
            kind = _difference(known, pod)
            new[uid] = known if kind is None else _refreshed(known, pod)
            if kind is not None:
                found[kind].append(new[uid])
        found[Kind.REMOVE] = [pod for uid, pod in old.items() if uid not in new]
        self._pods[source] = new
        operations = [Operation(kind, source, tuple(changed)) for kind, changed in found.items() if changed]
        if first and all(o.kind is Kind.RECONCILE for o in operations):
            operations.insert(0, Operation(Kind.ADD, source, ()))
        return Merged(tuple(operations), tuple(duplicates))


def _without_duplicates(pods: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
    """Of two pods with one full name, or with one UID (manifests may set it), the first counts."""
    names: set[str] = set()
    uids: set[str] = set()
    unique: list[Pod] = []
    duplicates: list[Pod] = []
    for pod in pods:
        name, uid = pod_full_name(pod), pod.metadata.uid
        (duplicates if name in names or uid in uids else unique).append(pod)
        names.add(name)
        uids.add(uid)
    return unique, duplicates


def _difference(known: Pod, pod: Pod) -> Kind | None:
    old, new = known.metadata, pod.metadata
    changed = (
        known.spec != pod.spec
        or old.labels != new.labels
        or old.deletion_timestamp != new.deletion_timestamp
        or old.deletion_grace_period_seconds != new.deletion_grace_period_seconds
        or _foreign(old.annotations) != _foreign(new.annotations)
    )
    if not changed:
        return Kind.RECONCILE if known.status != pod.status else None
    return Kind.DELETE if new.deletion_timestamp is not None else Kind.UPDATE


def _refreshed(known: Pod, pod: Pod) -> Pod:
    """The known pod with what a source may change; its local annotations stay."""
    local = {k: v for k, v in known.metadata.annotations.items() if k in LOCAL_ANNOTATIONS}
    new = pod.metadata
    metadata = replace(
        known.metadata,
        labels=new.labels,
        annotations={**new.annotations, **local},
        deletion_timestamp=new.deletion_timestamp,
        deletion_grace_period_seconds=new.deletion_grace_period_seconds,
        generation=new.generation,
    )
    return replace(known, metadata=metadata, spec=pod.spec, status=pod.status)


def _foreign(annotations: dict[str, str]) -> dict[str, str]:
    return {k: v for k, v in annotations.items() if k not in LOCAL_ANNOTATIONS}


def _annotated(pod: Pod, annotations: dict[str, str]) -> Pod:
    metadata = replace(pod.metadata, annotations={**pod.metadata.annotations, **annotations})
    return replace(pod, metadata=metadata)


def _seen_text(now_ns: int) -> str:
    """RFC3339 with all nine decimals, UTC."""
    seconds, fraction = divmod(now_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
