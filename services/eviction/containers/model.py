"""What the runtime and the disk hold, reduced to what is decided on. Times are wall ns since the epoch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DeadContainer:
    """A container that does not run: exited, created and never started, or of unknown state."""

    id: str
    pod_uid: str
    name: str
    created_at_ns: int
    is_unknown: bool = False
    """the runtime does not know its state: it is stopped before it is removed"""


@dataclass(frozen=True)
class Sandbox:
    """One sandbox. `in_use`: it is ready, or a container of it exists."""

    id: str
    pod_uid: str
    created_at_ns: int
    in_use: bool


@dataclass(frozen=True)
class PodFate:
    """What may be removed of one pod. A pod that nobody knows may lose everything."""

    content_removable: bool
    runtime_removable: bool


GONE = PodFate(content_removable=True, runtime_removable=True)


@dataclass(frozen=True)
class Policy:
    """How many dead containers stay (flags `minimum-container-ttl-duration`, `maximum-dead-containers...`)."""

    min_age_s: float = 0.0
    max_per_container: int = 1
    max_total: int = -1
    """-1: no such limit"""
