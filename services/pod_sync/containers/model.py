"""What one sync of a pod does. Source: upstream `kuberuntime` (`podActions`, `containerToKillInfo`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from shared.messages.prober import ContainerProbes

Probes = Mapping[str, ContainerProbes]
"""probe results by container id"""


class Why(StrEnum):
    """Why a container is killed; probe failures may have a grace period of their own."""

    OTHER = ""
    STARTUP_PROBE = "StartupProbe"
    LIVENESS_PROBE = "LivenessProbe"
    UNKNOWN_STATE = "Unknown"
    RESTART_ALL = "RestartAllContainers"


@dataclass(frozen=True)
class Kill:
    """Kill this container; `message` is the text of its Killing event."""

    container_id: str
    name: str
    message: str
    why: Why = Why.OTHER


@dataclass(frozen=True)
class SandboxDecision:
    """Whether a new sandbox is needed, with which attempt, and what is said of the old one.

    `sandbox_id` is the newest one's, empty when there is none or when its loss is not worth an event.
    `message` is that of condition PodReadyToStartContainers while it is False.
    """

    create: bool
    attempt: int
    sandbox_id: str
    message: str = ""


@dataclass(frozen=True)
class PodActions:
    """The plan of one sync, carried out top to bottom. Names are in the order in which they are to be started."""

    kill_pod: bool = False
    """stop every running container and every sandbox of the pod first"""
    create_sandbox: bool = False
    sandbox_id: str = ""
    """the sandbox to use when none is created; with `create_sandbox` the one that is given up, if any"""
    attempt: int = 0
    sandbox_changed: bool = False
    """say so with event SandboxChanged"""
    to_kill: tuple[Kill, ...] = ()
    to_remove: tuple[str, ...] = ()
    """container ids to remove, logs kept (RestartAllContainers), in this order, after `to_kill`"""
    ephemeral_to_start: tuple[str, ...] = ()
    init_to_start: tuple[str, ...] = ()
    to_start: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """The pod is as it should be."""
        return self == PodActions(sandbox_id=self.sandbox_id, attempt=self.attempt)
