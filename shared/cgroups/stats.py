"""What the files of a control group say, as numbers. Pure: text in, numbers out.

Formulas are those of upstream's collector (`cadvisor`), stated where they are applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.cgroups.formulas import UNLIMITED_BYTES

PRESSURE_KINDS: Final = ("some", "full")


@dataclass(frozen=True)
class Memory:
    """Bytes and counts. `limit_bytes` None: unlimited."""

    usage_bytes: int
    working_set_bytes: int
    rss_bytes: int
    cache_bytes: int
    page_faults: int
    major_page_faults: int
    swap_bytes: int = 0
    limit_bytes: int | None = None

    @property
    def available_bytes(self) -> int | None:
        """What is left of the limit, never negative; None without a limit."""
        return None if self.limit_bytes is None else max(0, self.limit_bytes - self.working_set_bytes)


def parse_keyed(data: bytes) -> dict[bytes, int]:
    """A flat keyed file (`cpu.stat`, `memory.stat`): one `name value` a line; other lines are passed over."""
    found: dict[bytes, int] = {}
    for line in data.splitlines():
        name, _, value = line.partition(b" ")
        if value.isdigit():
            found[name] = int(value)
    return found


def parse_limit(data: bytes) -> int | None:
    """A limit file; None for `max`, for v1's "nearly 2^63" and for nothing."""
    text = data.strip()
    if not text.isdigit():
        return None
    value = int(text)
    return None if value > UNLIMITED_BYTES else value


def parse_number(data: bytes) -> int:
    """A file of one number; 0 for anything else (`max`)."""
    text = data.strip()
    return int(text) if text.isdigit() else 0


def parse_pressure(data: bytes) -> dict[str, dict[str, float]]:
    """A pressure file: `some` and `full` to avg10, avg60, avg300 (percent) and total (microseconds)."""
    found: dict[str, dict[str, float]] = {}
    for line in data.decode("ascii", "replace").splitlines():
        kind, *pairs = line.split() or [""]
        if kind in PRESSURE_KINDS:
            found[kind] = {name: float(value) for name, _, value in (p.partition("=") for p in pairs) if value}
    return found


def cpu_usage_ns_v2(cpu_stat: bytes) -> int:
    """CPU time in ns from `cpu.stat`."""
    return parse_keyed(cpu_stat).get(b"usage_usec", 0) * 1000


def memory_v2(current: bytes, stat: bytes, limit: bytes, swap: bytes = b"") -> Memory:
    """Memory of a v2 group: working set is what is in use less the file pages that nobody touched lately."""
    usage = parse_number(current)
    return _memory_v2(parse_keyed(stat), usage, swap=parse_number(swap), limit=parse_limit(limit))


def memory_root_v2(stat: bytes, *, total_bytes: int, swap_bytes: int = 0) -> Memory:
    """Memory of the v2 root, which has no `memory.current`: anonymous and file pages; the machine is the limit."""
    keyed = parse_keyed(stat)
    usage = keyed.get(b"anon", 0) + keyed.get(b"file", 0)
    return _memory_v2(keyed, usage, swap=swap_bytes, limit=total_bytes)


def _memory_v2(stat: Mapping[bytes, int], usage: int, *, swap: int, limit: int | None) -> Memory:
    return Memory(
        usage_bytes=usage,
        working_set_bytes=max(0, usage - stat.get(b"inactive_file", 0)),
        rss_bytes=stat.get(b"anon", 0),
        cache_bytes=stat.get(b"file", 0),
        page_faults=stat.get(b"pgfault", 0),
        major_page_faults=stat.get(b"pgmajfault", 0),
        swap_bytes=swap,
        limit_bytes=limit,
    )


def memory_v1(usage: bytes, stat: bytes, limit: bytes) -> Memory:
    """Memory of a v1 group, with what its children have (`total_` counters)."""
    used, keyed = parse_number(usage), parse_keyed(stat)
    return Memory(
        usage_bytes=used,
        working_set_bytes=max(0, used - keyed.get(b"total_inactive_file", 0)),
        rss_bytes=keyed.get(b"total_rss", 0),
        cache_bytes=keyed.get(b"total_cache", 0),
        page_faults=keyed.get(b"pgfault", 0),
        major_page_faults=keyed.get(b"pgmajfault", 0),
        swap_bytes=keyed.get(b"total_swap", 0),
        limit_bytes=parse_limit(limit),
    )
