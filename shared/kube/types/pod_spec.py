"""What a pod should be."""

from shared.kube.types.base import ApiObject, Quantity
from shared.kube.types.containers import Container, EphemeralContainer
from shared.kube.types.references import LocalObjectReference
from shared.kube.types.resources import ResourceRequirements
from shared.kube.types.scheduling import (
    Affinity,
    PodSchedulingGate,
    PodSchedulingGroup,
    Toleration,
    TopologySpreadConstraint,
)
from shared.kube.types.security import PodSecurityContext
from shared.kube.types.volumes import Volume


class PodDNSConfigOption(ApiObject, frozen=True, kw_only=True):
    """One resolver option, with or without a value."""

    name: str = ""
    value: str | None = None


class PodDNSConfig(ApiObject, frozen=True, kw_only=True):
    """Added to what `dns_policy` gives."""

    nameservers: list[str] = []
    options: list[PodDNSConfigOption] = []
    searches: list[str] = []


class EvictionResponder(ApiObject, frozen=True, kw_only=True):
    """Who is asked, in order of priority, before the pod is evicted through the API."""

    name: str = ""
    priority: int = 0


class HostAlias(ApiObject, frozen=True, kw_only=True):
    """One line more in the pod's hosts file."""

    hostnames: list[str] = []
    ip: str = ""


class PodOS(ApiObject, frozen=True, kw_only=True):
    """The operating system that the pod is for: linux or windows."""

    name: str = ""


class PodReadinessGate(ApiObject, frozen=True, kw_only=True):
    """A condition, set by somebody else, that readiness also waits for."""

    condition_type: str = ""


class PodResourceClaim(ApiObject, frozen=True, kw_only=True):
    """A claim that the pod's containers can name."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(ApiObject, frozen=True, kw_only=True):
    """What a pod should be. On this node `node_name` is always set."""

    active_deadline_seconds: int | None = None
    affinity: Affinity | None = None
    automount_service_account_token: bool | None = None
    containers: list[Container] = []
    dns_config: PodDNSConfig | None = None
    dns_policy: str | None = None
    enable_service_links: bool | None = None
    ephemeral_containers: list[EphemeralContainer] = []
    eviction_responders: list[EvictionResponder] = []
    host_aliases: list[HostAlias] = []
    host_ipc: bool | None = None
    host_network: bool | None = None
    host_pid: bool | None = None
    host_users: bool | None = None
    hostname: str | None = None
    hostname_override: str | None = None
    image_pull_secrets: list[LocalObjectReference] = []
    init_containers: list[Container] = []
    node_name: str | None = None
    node_selector: dict[str, str] = {}
    os: PodOS | None = None
    overhead: dict[str, Quantity] = {}
    preemption_policy: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    readiness_gates: list[PodReadinessGate] = []
    resource_claims: list[PodResourceClaim] = []
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    runtime_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[PodSchedulingGate] = []
    scheduling_group: PodSchedulingGroup | None = None
    security_context: PodSecurityContext | None = None
    service_account: str | None = None
    service_account_name: str | None = None
    set_hostname_as_fqdn: bool | None = None
    share_process_namespace: bool | None = None
    subdomain: str | None = None
    termination_grace_period_seconds: int | None = None
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    volumes: list[Volume] = []
