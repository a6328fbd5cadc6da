"""What a status is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, TypeVar

from services.pod_sync.records.progress import WaitingReason
from services.pod_sync.workers.model import StatusOverride
from shared.kube.types import Pod, PodCondition, PodStatus, ResourceRequirements, ResourceStatus
from shared.messages.pleg import RuntimePod
from shared.messages.prober import ContainerProbes

K = TypeVar("K")
V = TypeVar("V")

FAILED: Final = "Failed"
SUCCEEDED: Final = "Succeeded"
PENDING: Final = "Pending"
RUNNING: Final = "Running"
TERMINAL: Final = frozenset({FAILED, SUCCEEDED})

STATUS_UNKNOWN: Final = "ContainerStatusUnknown"
RESTARTING_ALL: Final = "RestartingAllContainers"
KILLED: Final = 137
"""exit code of a container of which nothing is known but that it is gone"""


def _none() -> Mapping[K, V]:
    return MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class StatusContext:
    """One pod at one moment.

    `pod` has the allocated spec, and as its status what the API server was last seen to have (for a static pod: its
    mirror's, else just Pending). `old` is the status published last; None: take the API's. `now` is wall time in seconds.
    """

    pod: Pod
    seen: RuntimePod | None
    now: float
    old: PodStatus | None = None
    reasons: Mapping[str, WaitingReason] = field(default_factory=_none)
    """why the last attempt to start a container failed, by container name"""
    probes: Mapping[str, ContainerProbes] = field(default_factory=_none)
    """outcomes by container id; no entry: the prober knows nothing of it (yet, or since its restart)"""
    messages: Mapping[str, str] = field(default_factory=_none)
    """termination messages by container id, where they were read from the container's file or log"""
    stopped: bool = False
    """the worker has seen to it that no container runs or will run (upstream `podIsTerminal`)"""
    override: StatusOverride | None = None
    node_ips: tuple[str, ...] = ()
    """addresses of the node, its primary one first; empty: no hostIP is told"""
    runtime_name: str = "containerd"
    """as the runtime names itself: the scheme of container ids"""
    recursive_read_only: bool = False
    """whether the pod's runtime handler can mount recursively read-only"""
    resize: tuple[PodCondition, ...] | None = None
    """the resize conditions; None: those of `old`"""
    measured: ResourceRequirements | None = None
    """cpu and memory as the pod's cgroup has them; None: as allocated"""
    health: Mapping[str, list[ResourceStatus]] | None = None
    """health of devices by container name; None: as in `old`"""

    @property
    def last(self) -> PodStatus:
        """The status that this one follows."""
        return self.old if self.old is not None else self.pod.status


@dataclass(frozen=True)
class Computed:
    """A status. `refused`: why it is the old one, unchanged (a bug or a foreign change; worth a log line)."""

    status: PodStatus
    refused: str = ""


def wire_time(seconds: float) -> str:
    """Wall time in the API's form, cut to seconds."""
    return datetime.fromtimestamp(int(seconds // 1), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def wire_time_ns(nanoseconds: int) -> str:
    """The same for the runtime's times; a time that it never set is 1970, as upstream shows it."""
    return wire_time(nanoseconds // 10**9)


def seconds_of(text: str | None) -> float | None:
    """Wall time of an API time; None when there is none or it is not one."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
