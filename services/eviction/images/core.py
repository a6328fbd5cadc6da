"""Which images go. Pure. Source: upstream `images` (realImageGCManager).

What is remembered of images is not stored: after a restart every image counts as first seen now, which only delays its
removal by the minimum age.
"""

from collections.abc import Collection, Iterable, Mapping

from services.eviction.images.model import Filesystem, Image, Policy, Record

Records = Mapping[str, Record]


def observe(records: Records, images: Iterable[Image], used: Collection[str], now_mono: float) -> dict[str, Record]:
    """What is known after one more listing. `used` holds ids and names that containers or volumes refer to."""
    found = {}
    for image in images:
        before = records.get(image.id)
        first = before.first_seen_mono if before is not None else now_mono
        last = before.last_used_mono if before is not None else None
        found[image.id] = Record(image, first, now_mono if is_used(image, used) else last)
    return found


def is_used(image: Image, used: Collection[str]) -> bool:
    """Whether its id, a tag or a digest of it is among those that are referred to."""
    return image.id in used or any(name in used for name in image.names)


def candidates(records: Records, used: Collection[str]) -> list[Record]:
    """Images that may be removed, the longest unused first, then the longest known."""
    free = [r for r in records.values() if not r.image.pinned and not is_used(r.image, used)]
    return sorted(free, key=lambda r: (_last_used(r), r.first_seen_mono, r.image.id))


def plan_aged(free: Iterable[Record], policy: Policy, now_mono: float, *, up_s: float) -> list[Record]:
    """Images that were not used for longer than the maximum age, once the daemon has been up for that long."""
    if policy.max_age_s <= 0 or up_s <= policy.max_age_s:
        return []
    return [r for r in free if now_mono - _last_used(r) > policy.max_age_s]


def bytes_to_free(filesystem: Filesystem, policy: Policy) -> int:
    """How much to free to come down to the low mark; 0 below the high mark. Percentages are whole numbers."""
    capacity, available = filesystem.capacity_bytes, min(filesystem.available_bytes, filesystem.capacity_bytes)
    if capacity <= 0 or usage_percent(filesystem) < policy.high_percent:
        return 0
    return max(0, capacity * (100 - policy.low_percent) // 100 - available)


def usage_percent(filesystem: Filesystem) -> int:
    """How full it is."""
    available = min(filesystem.available_bytes, filesystem.capacity_bytes)
    return 100 - available * 100 // filesystem.capacity_bytes if filesystem.capacity_bytes > 0 else 0


def plan_space(free: Iterable[Record], policy: Policy, now_mono: float, *, wanted_bytes: int | None) -> list[Record]:
    """Images whose sizes add up to what is wanted, in order; None: all of them. Young ones stay in any case.

    The sum is of what the runtime reports: images share layers, so less may come free. The next pass sees.
    """
    plan, freed = [], 0
    for record in free:
        if wanted_bytes is not None and freed >= wanted_bytes:
            break
        if _last_used(record) >= now_mono or now_mono - record.first_seen_mono < policy.min_age_s:
            continue
        plan.append(record)
        freed += record.image.size_bytes
    return plan


def _last_used(record: Record) -> float:
    return record.last_used_mono if record.last_used_mono is not None else float("-inf")


def format_size(amount: int) -> str:
    """`3.1 GiB`, as upstream's message has it."""
    size = float(amount)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def not_enough_message(filesystem: Filesystem, freed_bytes: int) -> str:
    """Of the node's event `FreeDiskSpaceFailed`."""
    return (
        f"Insufficient free disk space on the node's image filesystem ({usage_percent(filesystem)}% of "
        f"{format_size(filesystem.capacity_bytes)} used). Failed to free sufficient space by deleting unused images "
        f"(freed {freed_bytes} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or "
        "other data."
    )
