"""What became of a pod."""

from msgspec import field

from shared.kube.types.base import ApiObject, Quantity
from shared.kube.types.container_status import ContainerStatus
from shared.kube.types.resources import ResourceRequirements


class PodCondition(ApiObject, frozen=True, kw_only=True):
    """`status` is True, False or Unknown. `last_transition_time` moves only with it."""

    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class ContainerExtendedResourceRequest(ApiObject, frozen=True, kw_only=True):
    """Which request of that claim serves which container and resource."""

    container_name: str = ""
    request_name: str = ""
    resource_name: str = ""


class PodExtendedResourceClaimStatus(ApiObject, frozen=True, kw_only=True):
    """The claim that backs extended resources."""

    request_mappings: list[ContainerExtendedResourceRequest] = []
    resource_claim_name: str = ""


class HostIP(ApiObject, frozen=True, kw_only=True):
    """One address of the node."""

    ip: str = field(default_factory=str)


class NodeAllocatableMappedResources(ApiObject, frozen=True, kw_only=True):
    """One such resource."""

    name: str = ""
    quantity: Quantity = ""


class NodeAllocatableOverheadResources(ApiObject, frozen=True, kw_only=True):
    """What comes on top of it."""

    name: str = ""
    per_container: Quantity | None = None
    per_pod: Quantity | None = None


class NodeAllocatableResourceClaimStatus(ApiObject, frozen=True, kw_only=True):
    """What a claim takes from the node's own resources."""

    containers: list[str] = []
    mapping: list[NodeAllocatableMappedResources] = []
    overhead: list[NodeAllocatableOverheadResources] = []
    resource_claim_name: str = ""


class PodIP(ApiObject, frozen=True, kw_only=True):
    """One address of the pod."""

    ip: str = field(default_factory=str)


class PodResourceClaimStatus(ApiObject, frozen=True, kw_only=True):
    """The claim that was made for, or found under, the pod's name for it."""

    name: str = ""
    resource_claim_name: str | None = None


class VolumeHealthCondition(ApiObject, frozen=True, kw_only=True):
    """One such finding."""

    message: str | None = None
    reason: str = ""
    status: str = ""


class PodVolumeHealth(ApiObject, frozen=True, kw_only=True):
    """Health of a volume as its CSI driver told it."""

    health_conditions: list[VolumeHealthCondition] = []
    last_transition_time: str | None = None
    name: str = ""


class PodStatus(ApiObject, frozen=True, kw_only=True):
    """A pod as it was last seen by its node."""

    allocated_resources: dict[str, Quantity] = {}
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStatus] = []
    ephemeral_container_statuses: list[ContainerStatus] = []
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    host_ip: str | None = None
    host_ips: list[HostIP] = []
    init_container_statuses: list[ContainerStatus] = []
    message: str | None = None
    node_allocatable_resource_claim_statuses: list[NodeAllocatableResourceClaimStatus] = []
    nominated_node_name: str | None = None
    observed_generation: int | None = None
    phase: str = ""
    pod_ip: str | None = None
    pod_ips: list[PodIP] = []
    qos_class: str | None = None
    reason: str | None = None
    resize: str | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] = []
    resources: ResourceRequirements | None = None
    start_time: str | None = None
    volume_health: list[PodVolumeHealth] = []
