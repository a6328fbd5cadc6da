"""What container_manager publishes and answers: cgroups, what the node has, what pods use."""

from enum import StrEnum

from shared.kube.types import Pod
from shared.messages.base import Empty, Message, Request, Service, Table


class NodeResources(Message, frozen=True):
    """The machine, under the one key `node`. Quantities are Kubernetes quantity strings by resource name."""

    capacity: dict[str, str]
    allocatable: dict[str, str]
    cpus: int
    memory_bytes: int
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    cgroup_version: int = 2
    cgroup_driver: str = "cgroupfs"
    pods_cgroup: str = ""
    """name of the `kubepods` group, as a path from the hierarchy's root"""
    reserved: dict[str, str] = {}
    swap_bytes: int = 0
    hugepages_bytes: int = 0
    """all huge pages together: memory that is set aside"""


NODE_RESOURCES = Table("node_resources", key="node", value=NodeResources, owner=Service.CONTAINER_MANAGER)


class PodCgroupPhase(StrEnum):
    READY = "ready"
    FAILED = "failed"
    RELEASED = "released"
    """said, not implied by absence: its cgroup and everything it held is gone"""


class PodResources(Message, frozen=True):
    """What a pod holds. `cgroup_parent` is in the form CRI wants it (a path for cgroupfs, a slice for systemd)."""

    phase: PodCgroupPhase
    cgroup_parent: str = ""
    qos_class: str = ""
    error: str = ""


POD_RESOURCES = Table("pod_resources", key="pod_uid", value=PodResources, owner=Service.CONTAINER_MANAGER)


class Admit(Message, frozen=True):
    """May this pod run here, beside `others` (UIDs of active pods)? Allocations are recorded before the reply."""

    pod: Pod
    others: list[str] = []


class Shortage(Message, frozen=True):
    """One resource of which there is not enough. `cpu` in millicores, all else in whole units."""

    resource: str
    requested: int
    used: int
    capacity: int


class Admitted(Message, frozen=True):
    """The answer. `reason` and `message` are the first refusal's; `shortages` are all, for preemption to free."""

    admitted: bool
    reason: str = ""
    message: str = ""
    shortages: list[Shortage] = []


class PreparePod(Message, frozen=True):
    """Make the pod's cgroup now (it is also made when `pods` names the pod)."""

    pod: Pod


class UnpreparePod(Message, frozen=True):
    pod_uid: str


class PrepareContainer(Message, frozen=True):
    pod_uid: str
    container: str


class Device(Message, frozen=True):
    container_path: str
    host_path: str
    permissions: str = "rwm"


class ContainerExtras(Message, frozen=True):
    """What managers add to one container's runtime configuration."""

    cpuset_cpus: str = ""
    cpuset_mems: str = ""
    env: dict[str, str] = {}
    annotations: dict[str, str] = {}
    devices: list[Device] = []
    cdi_devices: list[str] = []
    oom_score_adj: int | None = None
    unified: dict[str, str] = {}
    exclusive_cpus: bool = False
    """`cpuset_cpus` are this container's alone: its CPU quota is lifted"""


Pressure = dict[str, dict[str, float]]
"""a pressure file: `some` and `full` to avg10, avg60, avg300 (percent) and total (microseconds); empty: there is none"""


class CpuUsage(Message, frozen=True):
    """CPU time since the group was made, and the rate between the last two samples (0 until there are two)."""

    at: float
    usage_ns: int
    usage_nano_cores: int = 0
    psi: Pressure = {}


class MemoryUsage(Message, frozen=True):
    """Memory of one group. `available_bytes` None: it has no limit."""

    at: float
    usage_bytes: int
    working_set_bytes: int
    available_bytes: int | None = None
    rss_bytes: int = 0
    page_faults: int = 0
    major_page_faults: int = 0
    swap_bytes: int = 0
    psi: Pressure = {}


class CgroupUsage(Message, frozen=True):
    """Use of one cgroup. `container` is its id for a container, empty for a pod or a system group.

    `pids` counts processes (not threads) of containers; a pod's is the sum of its containers'.
    """

    cpu: CpuUsage | None = None
    memory: MemoryUsage | None = None
    pids: int = 0
    container: str = ""
    name: str = ""
    started_at: float = 0.0
    io_psi: Pressure = {}


class PodUsage(Message, frozen=True):
    pod_uid: str
    pod: CgroupUsage
    containers: list[CgroupUsage] = []


class Usage(Message, frozen=True):
    """At most `max_age_s` old. With `pods` False only the node and the system groups are read."""

    max_age_s: float = 10.0
    pods: bool = True


class UsageReply(Message, frozen=True):
    at: float
    node: CgroupUsage
    pods_group: CgroupUsage
    pods: list[PodUsage] = []
    system: list[CgroupUsage] = []
    memory_total_bytes: int = 0
    pids_max: int = 0
    pids_current: int = 0


_POD_SYNC = frozenset({Service.POD_SYNC})
ADMIT = Request("admit", request=Admit, reply=Admitted, owner=Service.CONTAINER_MANAGER, callers=_POD_SYNC)
PREPARE_POD = Request(
    "prepare_pod", request=PreparePod, reply=PodResources, owner=Service.CONTAINER_MANAGER, callers=_POD_SYNC
)
PREPARE_CONTAINER = Request(
    "prepare_container",
    request=PrepareContainer,
    reply=ContainerExtras,
    owner=Service.CONTAINER_MANAGER,
    callers=_POD_SYNC,
)
UNPREPARE_POD = Request(
    "unprepare_pod", request=UnpreparePod, reply=Empty, owner=Service.CONTAINER_MANAGER, callers=_POD_SYNC
)
USAGE = Request(
    "usage",
    request=Usage,
    reply=UsageReply,
    owner=Service.CONTAINER_MANAGER,
    callers=frozenset({Service.SERVER, Service.EVICTION}),
)
