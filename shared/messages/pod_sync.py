"""What pod_sync publishes and answers: which pods belong here, what happens to them, and their status."""

from enum import StrEnum

from shared.kube.types import Pod, PodStatus
from shared.messages.base import Message, Request, Service, Table


class PodPhase(StrEnum):
    """The worker's phase, which only moves forward (upstream `pod_workers`)."""

    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"
    FINISHED = "finished"


class PodEntry(Message, frozen=True):
    """One pod that belongs to this node, or is being cleaned up. Other daemons act on these fields only.

    `pod` carries the allocated spec. A static pod has its own UID here; `mirror_uid` is its API image's, if any.
    """

    pod: Pod
    source: str
    """`file`, `http` or `api`"""
    phase: PodPhase
    may_run: bool = True
    """containers of it may be running or be started: mounts, cgroup and probes are needed"""
    runtime_removable: bool = False
    """no container runs or will run: volumes may be unmounted, claims freed"""
    content_removable: bool = False
    """its directory and logs may be removed"""
    admitted: bool = True
    terminating_since_mono: float = 0.0
    grace_s: int = 0
    reason: str = ""
    mirror_uid: str = ""
    static: bool = False
    configured: bool = True
    """a source still names it; False while a removed pod is being stopped and cleaned up"""


PODS = Table("pods", key="pod_uid", value=PodEntry, owner=Service.POD_SYNC)


class PodStatusEntry(Message, frozen=True):
    """The status this node computes for a pod, whether or not an API server has it yet."""

    name: str
    namespace: str
    status: PodStatus


POD_STATUS = Table("pod_status", key="pod_uid", value=PodStatusEntry, owner=Service.POD_SYNC)


class KillPod(Message, frozen=True):
    """End a pod for the node's sake (eviction, preemption, shutdown). Stored before it is answered.

    The pod becomes `phase` with that reason and message; `disruption_message`, if set, adds the condition
    DisruptionTarget with reason TerminationByKubelet. `grace_s` None: the pod's own.
    """

    pod_uid: str
    reason: str
    message: str
    evict: bool = False
    grace_s: int | None = None
    disruption_message: str = ""
    phase: str = "Failed"
    wait: bool = True
    """answer when its containers have stopped (until the deadline), not at once"""


class KillPodReply(Message, frozen=True):
    known: bool
    stopped: bool = False


KILL_POD = Request(
    "kill_pod",
    request=KillPod,
    reply=KillPodReply,
    owner=Service.POD_SYNC,
    callers=frozenset({Service.EVICTION, Service.NODE_STATUS}),
)
