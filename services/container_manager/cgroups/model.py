"""What the cgroup rooms decide on and with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shared.cgroups.formulas import DEFAULT_PERIOD_US
from shared.cgroups.names import CgroupName, Driver, PodGroups, QosClass
from shared.messages.container_manager import PodCgroupPhase
from shared.messages.volume_manager import VolumesPhase


class MemoryReservation(StrEnum):
    """`memoryReservationPolicy`: whether requests are protected from reclaim (cgroup v2)."""

    NONE = "None"
    TIERED = "TieredReservation"


@dataclass(frozen=True)
class Limits:
    """Values for one group; None: leave that file alone. Bytes, microseconds, counts."""

    cpu_shares: int | None = None
    quota_us: int | None = None
    """-1: no quota"""
    period_us: int = DEFAULT_PERIOD_US
    memory_bytes: int | None = None
    pids: int | None = None
    hugetlb_bytes: Mapping[str, int] | None = None
    """by page size as the files spell it (`2MB`, `1GB`); sizes that the host has and this lacks get 0"""
    cpuset_cpus: str | None = None
    unified: Mapping[str, int | str] = field(default_factory=dict)
    """further v2 files by name (`memory.min`)"""


@dataclass(frozen=True)
class Policy:
    """The settings that values depend on."""

    groups: PodGroups = field(default_factory=PodGroups)
    driver: Driver = Driver.CGROUPFS
    per_qos: bool = True
    """`cgroupsPerQOS`: pods have groups at all"""
    cpu_cfs_quota: bool = True
    period_us: int = DEFAULT_PERIOD_US
    pod_pids_limit: int = -1
    memory_reservation: MemoryReservation = MemoryReservation.NONE


@dataclass(frozen=True)
class Write:
    """Put `text` into `file` of a group's directory in the hierarchy of `controller`."""

    controller: str
    file: str
    text: str
    optional: bool = False
    """not an error where the kernel has no such file"""


@dataclass(frozen=True)
class PodWant:
    """A pod as the `pods` table has it, reduced to what its group depends on. `name` None: only the runtime knows it."""

    uid: str
    name: CgroupName | None
    qos: QosClass
    may_start: bool
    """it belongs here and its end was not asked for: a missing group is made"""
    removable: bool
    """nothing of it runs or will run"""


@dataclass(frozen=True)
class PodShare:
    """What an active pod adds to its tier: its requests."""

    qos: QosClass
    cpu_millicores: int
    memory_bytes: int


@dataclass(frozen=True)
class PodSeen:
    """What there is of one pod. `volumes` None: volume_manager has no row for it.

    `volumes_known`: volume_manager vouches for its table, so that a missing row means that nothing is mounted.
    `row` is the phase we last published.
    """

    group: CgroupName | None
    volumes: VolumesPhase | None
    volumes_known: bool
    row: PodCgroupPhase | None
    throttled: bool = False


@dataclass(frozen=True)
class Ensure:
    """Make the group (or find it there) and publish `ready`, or `failed` with the error."""

    name: CgroupName
    qos: QosClass


@dataclass(frozen=True)
class Ready:
    """Publish `ready` for the group that is there."""

    name: CgroupName
    qos: QosClass


@dataclass(frozen=True)
class Throttle:
    """Nothing should run here any more but volumes are still mounted: least CPU for what may be left."""

    name: CgroupName


@dataclass(frozen=True)
class Destroy:
    """Kill what is left, remove the group, publish `released`."""

    name: CgroupName


@dataclass(frozen=True)
class Release:
    """Publish `released`: there is no group."""


@dataclass(frozen=True)
class Forget:
    """Drop our row: nobody knows the pod any more."""


PodAction = Ensure | Ready | Throttle | Destroy | Release | Forget
