"""Reads the files of many groups, cheaply. Blocks: call from a thread.

A group that goes while it is read counts as absent. What is read where is said in `shared.cgroups.stats`.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from services.container_manager.usage.core import Rates, container_id_of
from shared.cgroups import stats
from shared.cgroups.mounts import Hierarchies
from shared.cgroups.names import CgroupName
from shared.messages.container_manager import CgroupUsage, CpuUsage, MemoryUsage, PodUsage

_BUFFER = 16384
"""larger than any file that is read here, except lists of processes, which are read to their end"""


@dataclass(frozen=True)
class Root:
    """What the machine has and uses outside of any group: the limits of the root. Bytes."""

    memory_bytes: int
    hugepages_bytes: int
    swap_used_bytes: int = 0


class UsageReader:
    """Usage of groups by name; keeps the samples that rates are made of."""

    def __init__(self, hierarchies: Hierarchies) -> None:
        self.hierarchies = hierarchies
        self.rates = Rates()
        self._v2 = hierarchies.version == 2
        directory = hierarchies.directory
        root = CgroupName()
        self._cpu = "" if self._v2 else str(directory(root, "cpuacct"))
        self._memory = "" if self._v2 else str(directory(root, "memory"))
        self._all = str(hierarchies.root)
        self._pressure = self._v2 and Path("/proc/pressure").is_dir()

    def read_root(self, machine: Root) -> CgroupUsage:
        """The whole machine. Available memory is what is left of it, less what is set aside as huge pages."""
        now, mono = time.time(), time.monotonic()
        memory = self._read_root_memory(machine)
        available = max(0, (memory.available_bytes or 0) - machine.hugepages_bytes)
        return CgroupUsage(
            cpu=self._read_cpu("", now, mono),
            memory=_memory_message(memory, now, psi=self._psi("", "memory"), available=available),
            io_psi=self._psi("", "io"),
            name="/",
        )

    def read_group(self, path: str, label: str) -> CgroupUsage | None:
        """The group at that path, under a label; None when it is not there."""
        usage = self._read(path, label=label)
        if usage is None:
            return None
        try:
            # Upstream's collector takes this for the start of a group, which has no time of birth.
            started = Path((self._all if self._v2 else self._memory) + path).stat().st_mtime
        except OSError:
            started = 0.0
        return CgroupUsage(cpu=usage.cpu, memory=usage.memory, io_psi=usage.io_psi, name=label, started_at=started)

    def read_pod(self, uid: str, name: CgroupName, wanted: frozenset[str] | None) -> PodUsage | None:
        """A pod and its containers: those whose ids are `wanted`, or all that have a group (the sandbox too)."""
        path = name.path(self.hierarchies.driver)
        pod = self._read(path)
        if pod is None:
            return None
        containers = []
        for directory in self._children(path):
            container = container_id_of(directory)
            if container is None or (wanted is not None and container not in wanted):
                continue
            usage = self._read(f"{path}/{directory}", container=container, count=True)
            if usage is not None:
                containers.append(usage)
        total = CgroupUsage(
            cpu=pod.cpu, memory=pod.memory, io_psi=pod.io_psi, pids=sum(c.pids for c in containers), name=path
        )
        return PodUsage(pod_uid=uid, pod=total, containers=containers)

    def _read(self, path: str, *, label: str = "", container: str = "", count: bool = False) -> CgroupUsage | None:
        now, mono = time.time(), time.monotonic()
        cpu = self._read_cpu(path, now, mono)
        if cpu is None:
            return None
        memory = self._read_memory(path)
        return CgroupUsage(
            cpu=cpu,
            memory=_memory_message(memory, now, psi=self._psi(path, "memory")) if memory is not None else None,
            pids=self._count(path) if count else 0,
            container=container,
            name=label,
            io_psi=self._psi(path, "io"),
        )

    def _read_cpu(self, path: str, now: float, mono: float) -> CpuUsage | None:
        if self._v2:
            data = _read(f"{self._all}{path}/cpu.stat")
            usage = stats.cpu_usage_ns_v2(data) if data is not None else None
        else:
            data = _read(f"{self._cpu}{path}/cpuacct.usage")
            usage = stats.parse_number(data) if data is not None else None
        if usage is None:
            return None
        rate = self.rates.sample(path, mono, usage)
        return CpuUsage(at=now, usage_ns=usage, usage_nano_cores=rate, psi=self._psi(path, "cpu"))

    def _read_memory(self, path: str) -> stats.Memory | None:
        base = f"{self._all if self._v2 else self._memory}{path}/memory."
        current = _read(base + ("current" if self._v2 else "usage_in_bytes"))
        stat = _read(base + "stat")
        if current is None or stat is None:
            return None
        if not self._v2:
            return stats.memory_v1(current, stat, _read(base + "limit_in_bytes") or b"")
        return stats.memory_v2(current, stat, _read(base + "max") or b"", _read(base + "swap.current") or b"")

    def _read_root_memory(self, machine: Root) -> stats.Memory:
        if self._v2:
            stat = _read(f"{self._all}/memory.stat") or b""
            return stats.memory_root_v2(stat, total_bytes=machine.memory_bytes, swap_bytes=machine.swap_used_bytes)
        current = _read(f"{self._memory}/memory.usage_in_bytes") or b""
        stat = _read(f"{self._memory}/memory.stat") or b""
        return stats.memory_v1(current, stat, str(machine.memory_bytes).encode())

    def _psi(self, path: str, what: str) -> dict[str, dict[str, float]]:
        if not self._pressure:
            return {}
        place = f"{self._all}{path}/{what}.pressure" if path else f"/proc/pressure/{what}"
        data = _read(place)
        return stats.parse_pressure(data) if data is not None else {}

    def _children(self, path: str) -> list[str]:
        try:
            with os.scandir((self._all if self._v2 else self._cpu) + path) as entries:
                return [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:
            return []

    def _count(self, path: str) -> int:
        """Processes of a container; where a group has none itself they are in its children."""
        data = _read((self._all if self._v2 else self._cpu) + path + "/cgroup.procs")
        own = data.count(b"\n") if data else 0
        return own or sum(self._count(f"{path}/{child}") for child in self._children(path))


def _memory_message(
    memory: stats.Memory, now: float, *, psi: dict[str, dict[str, float]], available: int | None = None
) -> MemoryUsage:
    return MemoryUsage(
        at=now,
        usage_bytes=memory.usage_bytes,
        working_set_bytes=memory.working_set_bytes,
        available_bytes=memory.available_bytes if available is None else available,
        rss_bytes=memory.rss_bytes,
        page_faults=memory.page_faults,
        major_page_faults=memory.major_page_faults,
        swap_bytes=memory.swap_bytes,
        psi=psi,
    )


def _read(path: str) -> bytes | None:
    """A file's content; None when it cannot be read. Twice as fast as `Path.read_bytes`, which counts at 250 pods."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, _BUFFER)
        while len(data) >= _BUFFER and (more := os.read(descriptor, _BUFFER)):
            data += more
    except OSError:  # the group was removed while it was read
        return None
    finally:
        os.close(descriptor)
    return data
