"""What pleg publishes and answers: the runtime as it was last seen."""

from shared.messages.base import Message, Request, Service, Table


class SandboxState(Message, frozen=True):
    """One pod sandbox: CRI `PodSandboxStatus` reduced to what daemons decide on. Times are wall ns since the epoch."""

    id: str
    name: str
    namespace: str
    attempt: int
    ready: bool
    created_at_ns: int
    ips: list[str] = []
    network_mode: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    runtime_handler: str = ""


class ContainerMount(Message, frozen=True):
    container_path: str
    host_path: str
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: int = 0


class ContainerState(Message, frozen=True):
    """One container instance: CRI `ContainerStatus`. `state` is created, running, exited or unknown.

    `exit_code` means something only when exited. `resources` is CRI `LinuxContainerResources` by field name.
    """

    id: str
    name: str
    attempt: int
    sandbox_id: str
    state: str
    image: str = ""
    image_ref: str = ""
    image_id: str = ""
    created_at_ns: int = 0
    started_at_ns: int = 0
    finished_at_ns: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    log_path: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    mounts: list[ContainerMount] = []
    resources: dict[str, int | str] = {}
    user_uid: int | None = None
    user_gid: int | None = None
    supplemental_groups: list[int] = []


class RuntimePod(Message, frozen=True):
    """One pod as the runtime last listed it. "A container died" is what a reader derives from two of these.

    `listed_at_mono` is CLOCK_MONOTONIC at the start of the listing that last changed it; the table's `as_of_mono` moves
    with every listing, changed or not. `error` is set when the pod was listed but its inspection failed.
    """

    name: str
    namespace: str
    listed_at_mono: float
    sandboxes: list[SandboxState] = []
    """newest first (attempt, then creation)"""
    containers: list[ContainerState] = []
    """newest first (creation)"""
    error: str = ""


RUNTIME_PODS = Table("runtime_pods", key="pod_uid", value=RuntimePod, owner=Service.PLEG)


class RuntimeCondition(Message, frozen=True):
    """A CRI runtime condition, `RuntimeReady` or `NetworkReady`."""

    type: str
    status: bool
    reason: str = ""
    message: str = ""


class RuntimeHandler(Message, frozen=True):
    name: str
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeHealth(Message, frozen=True):
    """The runtime itself, under the one key `runtime`.

    `error` is set when Status could not be read; the rest is then the last known. `last_ok_mono` is the start of the
    last good Status call, `last_relist_mono` the start of the last good full listing (0.0: none yet).
    """

    name: str = ""
    version: str = ""
    api_version: str = ""
    conditions: list[RuntimeCondition] = []
    handlers: list[RuntimeHandler] = []
    supplemental_groups_policy: bool = False
    user_namespaces_host_network: bool = False
    mount_options: bool = False
    cgroup_driver: str = ""
    """`systemd`, `cgroupfs`, or empty when the runtime has no RuntimeConfig call"""
    event_stream: bool = False
    """whether container events come from the runtime as they happen"""
    last_ok_mono: float = 0.0
    last_relist_mono: float = 0.0
    error: str = ""


RUNTIME_HEALTH = Table("runtime_health", key="runtime", value=RuntimeHealth, owner=Service.PLEG)


class Relist(Message, frozen=True):
    """List now: one pod, or everything when `pod_uid` is empty."""

    pod_uid: str = ""


class Relisted(Message, frozen=True):
    """What the listing saw. The tables are published before this reply is sent."""

    as_of_mono: float
    pod: RuntimePod | None = None
    error: str = ""


RELIST = Request(
    "relist",
    request=Relist,
    reply=Relisted,
    owner=Service.PLEG,
    callers=frozenset({Service.POD_SYNC, Service.EVICTION}),
)
