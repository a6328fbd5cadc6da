"""What a pass decides on and with. Times are CLOCK_MONOTONIC seconds, amounts bytes, inodes or processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from shared.kube import eviction_thresholds as names
from shared.kube.eviction_thresholds import Threshold
from shared.kube.types import Pod


@dataclass(frozen=True)
class Signal:
    """What a signal means. `condition` is the Node's condition, `resource` what a pod is told that is low."""

    condition: str
    resource: str
    is_memory: bool = False
    is_disk: bool = False


_MEMORY: Final = Signal("MemoryPressure", "memory", is_memory=True)
_STORAGE: Final = Signal("DiskPressure", "ephemeral-storage", is_disk=True)
_INODES: Final = Signal("DiskPressure", "inodes", is_disk=True)
SIGNALS: Final[Mapping[str, Signal]] = {
    names.MEMORY_AVAILABLE: _MEMORY,
    names.ALLOCATABLE_MEMORY_AVAILABLE: _MEMORY,
    names.NODEFS_AVAILABLE: _STORAGE,
    names.NODEFS_INODES_FREE: _INODES,
    names.IMAGEFS_AVAILABLE: _STORAGE,
    names.IMAGEFS_INODES_FREE: _INODES,
    names.PID_AVAILABLE: Signal("PIDPressure", "pids"),
}
"""Upstream `eviction` (signalToNodeCondition, signalToResource).

containerfs is not here: its thresholds cannot be configured and copy those of the file system that it lies on, which is
nodefs or imagefs with every runtime that this node speaks to.
"""


@dataclass(frozen=True)
class Observation:
    """What one signal said. `sampled_mono` is when it was so."""

    available: int
    capacity: int
    sampled_mono: float


class State(msgspec.Struct, frozen=True):
    """What a pass leaves to the next one, and a life to the next life. Thresholds are named by `key_of`."""

    first_met: dict[str, float] = {}
    """since when a threshold is met without a break"""
    condition_seen: dict[str, float] = {}
    """when a condition was last true of itself"""
    unresolved: list[str] = []
    """thresholds that were met past their grace, until their minimum reclaim is free again"""
    sampled: dict[str, float] = {}
    """age of the sample that was last acted on, by signal"""


def key_of(threshold: Threshold) -> str:
    """A name for a threshold that the next life can read."""
    return f"{threshold.signal}<{threshold.value.text}/{threshold.grace_s:g}"


@dataclass(frozen=True)
class Decision:
    """What a pass found. `reclaim`: thresholds to act on, the most urgent first; empty: nothing is to be done."""

    conditions: tuple[str, ...]
    reclaim: tuple[Threshold, ...]


@dataclass(frozen=True)
class Amounts:
    """Space that something takes on a file system."""

    bytes: int = 0
    inodes: int = 0

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(self.bytes + other.bytes, self.inodes + other.inodes)


@dataclass(frozen=True)
class ContainerUse:
    """One running container. None: not known. `layer` is what it wrote into its own root file system."""

    name: str
    memory_bytes: int | None = None
    layer: Amounts | None = None
    logs: Amounts | None = None


@dataclass(frozen=True)
class PodUse:
    """What a pod uses. None: not known. `volumes` by volume name."""

    memory_bytes: int | None = None
    processes: int = 0
    containers: tuple[ContainerUse, ...] = ()
    volumes: Mapping[str, Amounts] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """One active pod and what it uses; `use` None: there are no figures of it at all."""

    uid: str
    pod: Pod
    use: PodUse | None = None


@dataclass(frozen=True)
class Eviction:
    """The end of one pod for the node's sake. `disruption`: whether it counts as one for its controllers."""

    message: str
    signal: str
    grace_s: int
    disruption: bool
    annotations: Mapping[str, str] = field(default_factory=dict)
