"""The machine, and what is held back of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Machine:
    """What was read of this machine. Bytes and counts; `hugepages` maps page size in bytes to number of pages."""

    cpus: int
    online_cpus: str
    """as the kernel lists them: `0-3`"""
    memory_bytes: int
    swap_bytes: int
    storage_bytes: int | None
    """capacity of the file system of the root directory; None: it could not be read"""
    pids_max: int
    hugepages: Mapping[int, int] = field(default_factory=dict)
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""


@dataclass(frozen=True)
class Reservations:
    """What pods may not have, as quantities by resource name, and how many pods there may be."""

    system: Mapping[str, str] = field(default_factory=dict)
    kube: Mapping[str, str] = field(default_factory=dict)
    eviction_hard: Mapping[str, str] = field(default_factory=dict)
    max_pods: int = 110
    pods_per_core: int = 0
    reserved_cpus: int | None = None
    """number of CPUs in `reservedSystemCPUs`; None: not given"""


@dataclass(frozen=True)
class Shares:
    """What there is, by resource name. `cpu` in millicores, all else in whole units; `pid` is not shown in the Node."""

    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]
    enforced: Mapping[str, int]
    """what the pods' group is limited to: capacity less reservations, eviction thresholds not taken off"""
    reserved: Mapping[str, int]
