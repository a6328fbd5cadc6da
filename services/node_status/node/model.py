"""What the Node object is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.messages.container_manager import NodeResources
from shared.messages.eviction import NodePressure
from shared.messages.pleg import RuntimeHealth

KUBELET_VERSION = "v1.37.2"
"""The Kubernetes version whose behaviour this node implements."""


@dataclass(frozen=True)
class Identity:
    """What does not change while the daemon runs."""

    name: str
    port: int
    kernel_version: str
    os_image: str
    operating_system: str
    architecture: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...] = ()
    provider_id: str = ""
    controller_attach_detach: bool = True
    local_storage: bool = True
    max_images: int = 50


@dataclass(frozen=True)
class Image:
    """One image of the runtime: its names (digests, then tags) and its size in bytes."""

    id: str
    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True)
class Observed:
    """What was last heard and seen. None: nothing yet. `silent` maps daemons to the seconds since they were last heard."""

    addresses: tuple[tuple[str, str], ...] | None = None
    """(type, address)"""
    resources: NodeResources | None = None
    pressure: NodePressure | None = None
    runtime: RuntimeHealth | None = None
    images: tuple[Image, ...] = ()
    volumes_in_use: tuple[str, ...] | None = None
    silent: Mapping[str, float] = field(default_factory=dict)
    shutting_down: bool = False


@dataclass(frozen=True)
class Clock:
    """`wall` is the RFC3339 text written into conditions, `mono` CLOCK_MONOTONIC seconds."""

    wall: str
    mono: float


@dataclass(frozen=True)
class NodeEvent:
    """An Event about this node that a change of condition calls for."""

    reason: str
    message: str
