"""The Node object, its parts and its list."""

from msgspec import field

from shared.kube.types.base import ApiObject, Quantity, always_written
from shared.kube.types.meta import ListMeta, ObjectMeta
from shared.kube.types.scheduling import Taint


class ConfigMapNodeConfigSource(ApiObject, frozen=True, kw_only=True):
    """No longer used by nodes."""

    kubelet_config_key: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str | None = None
    uid: str | None = None


class NodeConfigSource(ApiObject, frozen=True, kw_only=True):
    """No longer used by nodes."""

    config_map: ConfigMapNodeConfigSource | None = None


class NodePodPreemptionPolicy(ApiObject, frozen=True, kw_only=True):
    """What may not preempt pods on this node."""

    disable_resize_preemption: list[str] = []


class NodeSpec(ApiObject, frozen=True, kw_only=True):
    """What others decide of a node: taints, pod ranges, whether it may be scheduled to."""

    config_source: NodeConfigSource | None = None
    external_id: str | None = None
    pod_cidr: str | None = None
    pod_cidrs: list[str] = []
    pod_preemption_policy: NodePodPreemptionPolicy | None = None
    provider_id: str | None = None
    taints: list[Taint] = []
    unschedulable: bool | None = None


class NodeAddress(ApiObject, frozen=True, kw_only=True):
    """`type` is Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS."""

    address: str = field(default_factory=str)
    type: str = field(default_factory=str)


class NodeCondition(ApiObject, frozen=True, kw_only=True):
    """One condition, such as Ready or MemoryPressure."""

    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class NodeConfigStatus(ApiObject, frozen=True, kw_only=True):
    """No longer used by nodes."""

    active: NodeConfigSource | None = None
    assigned: NodeConfigSource | None = None
    error: str | None = None
    last_known_good: NodeConfigSource | None = None


class DaemonEndpoint(ApiObject, frozen=True, kw_only=True):
    """A port. The field's name on the wire begins with a capital letter."""

    port: int = field(default_factory=int, name="Port")


class NodeDaemonEndpoints(ApiObject, frozen=True, kw_only=True):
    """Where the node's own server listens."""

    kubelet_endpoint: DaemonEndpoint = field(default_factory=DaemonEndpoint)


class NodeFeatures(ApiObject, frozen=True, kw_only=True):
    """Features of the runtime, for all handlers."""

    supplemental_groups_policy: bool | None = None


class ContainerImage(ApiObject, frozen=True, kw_only=True):
    """An image on the node under all its names."""

    names: list[str] = []
    size_bytes: int | None = None


class NodeSwapStatus(ApiObject, frozen=True, kw_only=True):
    """Swap space in bytes."""

    capacity: int | None = None


class NodeSystemInfo(ApiObject, frozen=True, kw_only=True):
    """Identity and versions. All are always written."""

    architecture: str = field(default_factory=str)
    boot_id: str = field(default_factory=str)
    container_runtime_version: str = field(default_factory=str)
    kernel_version: str = field(default_factory=str)
    kube_proxy_version: str = field(default_factory=str)
    kubelet_version: str = field(default_factory=str)
    machine_id: str = field(default_factory=str)
    operating_system: str = field(default_factory=str)
    os_image: str = field(default_factory=str)
    running_in_user_namespace: bool | None = None
    swap: NodeSwapStatus | None = None
    system_uuid: str = field(default_factory=str)


class NodeRuntimeHandlerFeatures(ApiObject, frozen=True, kw_only=True):
    """What that handler can do."""

    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(ApiObject, frozen=True, kw_only=True):
    """A handler that RuntimeClasses can name; the default one has an empty name."""

    features: NodeRuntimeHandlerFeatures | None = None
    name: str = field(default_factory=str)


class AttachedVolume(ApiObject, frozen=True, kw_only=True):
    """A volume that the attach controller has attached."""

    device_path: str = field(default_factory=str)
    name: str = field(default_factory=str)


class NodeStatus(ApiObject, frozen=True, kw_only=True):
    """A node as it sees itself."""

    addresses: list[NodeAddress] = []
    allocatable: dict[str, Quantity] = {}
    capacity: dict[str, Quantity] = {}
    conditions: list[NodeCondition] = []
    config: NodeConfigStatus | None = None
    daemon_endpoints: NodeDaemonEndpoints = field(default_factory=NodeDaemonEndpoints)
    declared_features: list[str] = []
    features: NodeFeatures | None = None
    images: list[ContainerImage] = []
    node_info: NodeSystemInfo = field(default_factory=NodeSystemInfo)
    phase: str | None = None
    runtime_handlers: list[NodeRuntimeHandler] = []
    volumes_attached: list[AttachedVolume] = []
    volumes_in_use: list[str] = []


class Node(ApiObject, frozen=True, kw_only=True):
    """One node."""

    api_version: str = field(default_factory=lambda: "v1")
    kind: str = field(default_factory=lambda: "Node")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class NodeList(ApiObject, frozen=True, kw_only=True):
    """Nodes; `items` is written even when empty."""

    api_version: str = field(default_factory=lambda: "v1")
    kind: str = field(default_factory=lambda: "NodeList")
    items: list[Node] = field(default_factory=always_written)
    metadata: ListMeta = field(default_factory=ListMeta)
