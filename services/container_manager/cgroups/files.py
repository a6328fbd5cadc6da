"""Values as writes to cgroup files, for both versions. Pure.

The order is the one of upstream's library: a limit that may fail must not keep the ones before it from being set.
"""

from collections.abc import Iterable
from typing import Final

from services.container_manager.cgroups.model import Limits, Write
from shared.cgroups.formulas import weight

_DEFAULTS: Final = {"cpu.weight": "100", "cpu.shares": "1024", "memory.min": "0", "memory.low": "0"}
_UNLIMITED: Final = 1 << 62
"""v1 reads nearly 2^63 where no limit was set"""


def plan_writes(limits: Limits, version: int, sizes: Iterable[str]) -> list[Write]:
    """What to write into a group. `sizes` are the host's huge page sizes; where any is given each is written."""
    return _writes_v2(limits, sizes) if version == 2 else _writes_v1(limits, sizes)


def _writes_v2(limits: Limits, sizes: Iterable[str]) -> list[Write]:
    writes: list[Write] = []
    if limits.pids is not None:
        writes.append(Write("pids", "pids.max", str(max(1, limits.pids))))
    if limits.memory_bytes is not None:
        writes.append(Write("memory", "memory.max", str(limits.memory_bytes)))
    if limits.cpu_shares is not None:
        writes.append(Write("cpu", "cpu.weight", str(weight(limits.cpu_shares))))
    if limits.quota_us is not None:
        quota = str(limits.quota_us) if limits.quota_us > 0 else "max"
        writes.append(Write("cpu", "cpu.max", f"{quota} {limits.period_us}"))
    if limits.cpuset_cpus is not None:
        writes.append(Write("cpuset", "cpuset.cpus", limits.cpuset_cpus))
    for size, text in _hugetlb(limits, sizes):
        writes.append(Write("hugetlb", f"hugetlb.{size}.max", text))
        writes.append(Write("hugetlb", f"hugetlb.{size}.rsvd.max", text, optional=True))
    writes += [Write(name.partition(".")[0], name, str(text)) for name, text in limits.unified.items()]
    return writes


def _writes_v1(limits: Limits, sizes: Iterable[str]) -> list[Write]:
    writes: list[Write] = []
    if limits.cpuset_cpus is not None:
        writes.append(Write("cpuset", "cpuset.cpus", limits.cpuset_cpus))
    if limits.memory_bytes is not None:
        writes.append(Write("memory", "memory.limit_in_bytes", str(limits.memory_bytes)))
    if limits.cpu_shares is not None:
        writes.append(Write("cpu", "cpu.shares", str(limits.cpu_shares)))
    if limits.quota_us is not None:
        writes.append(Write("cpu", "cpu.cfs_period_us", str(limits.period_us)))
        writes.append(Write("cpu", "cpu.cfs_quota_us", str(limits.quota_us if limits.quota_us > 0 else -1)))
    if limits.pids is not None:
        writes.append(Write("pids", "pids.max", str(max(1, limits.pids))))
    for size, text in _hugetlb(limits, sizes):
        writes.append(Write("hugetlb", f"hugetlb.{size}.limit_in_bytes", text))
        writes.append(Write("hugetlb", f"hugetlb.{size}.rsvd.limit_in_bytes", text, optional=True))
    return writes


def _hugetlb(limits: Limits, sizes: Iterable[str]) -> list[tuple[str, str]]:
    given = limits.hugetlb_bytes
    return [] if given is None else [(size, str(given.get(size, 0))) for size in sizes]


def is_default(file: str, text: str) -> bool:
    """Whether a file says what the kernel puts into a new group."""
    text = text.strip()
    if file in _DEFAULTS:
        return text == _DEFAULTS[file]
    first = text.split(" ", 1)[0]
    return first in ("", "max", "-1") or (first.isdigit() and int(first) > _UNLIMITED)
