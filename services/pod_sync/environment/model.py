"""What a configuration is built from: facts about the node, about the pod, and about one container."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeVar

from shared.cri import api
from shared.errors import Invalid
from shared.kube.types import Container, EphemeralContainer, Pod
from shared.messages.container_manager import ContainerExtras
from shared.messages.pleg import RuntimeHandler
from shared.messages.volume_manager import MountedVolume

K = TypeVar("K")
V = TypeVar("V")

AnyContainer = Container | EphemeralContainer
"""An ephemeral container has every field of a container but the ones about its life cycle."""


class ConfigError(Invalid):
    """The pod, or something it refers to, cannot be turned into a configuration. Users see the text on the container."""


def no_entries() -> Mapping[K, V]:
    """An empty mapping that nobody can change, as a default."""
    return MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class MemoryQos:
    """Memory protection and swap of containers (KubeletConfiguration). Matters on cgroup v2 only.

    `enabled` is feature gate MemoryQoS, `reservation_policy` memoryReservationPolicy (None or TieredReservation),
    `throttling_factor` memoryThrottlingFactor, `swap_behavior` memorySwap.swapBehavior, `swap_controller` whether the
    kernel limits swap per cgroup.
    """

    enabled: bool = True
    reservation_policy: str = "None"
    throttling_factor: float | None = None
    swap_behavior: str = "NoSwap"
    swap_controller: bool = False
    swap_capacity_bytes: int = 0
    single_process_oom_kill: bool = False


@dataclass(frozen=True, kw_only=True)
class NodeFacts:
    """The node as pods on it are told: settings that stay, and what the machine and the runtime are.

    Sizes are bytes, `cpu_cfs_quota_period_us` microseconds. `allocatable` holds quantity strings. `handlers` is what
    the runtime said of each of its handlers. `resolver_text` is not here: the file is read for every sandbox.
    """

    node_name: str = ""
    node_ips: tuple[str, ...] = ()
    root_dir: str = "/var/lib/kubelet"
    pod_logs_dir: str = "/var/log/pods"
    cluster_domain: str = ""
    cluster_dns: tuple[str, ...] = ()
    has_resolver_file: bool = True
    """false when the setting `resolvConf` is empty"""
    cgroup_version: int = 2
    memory_capacity_bytes: int = 0
    allocatable: Mapping[str, str] = field(default_factory=no_entries)
    page_size_bytes: int = 4096
    hugepage_sizes_bytes: tuple[int, ...] = ()
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period_us: int = 100_000
    memory_qos: MemoryQos = MemoryQos()
    seccomp_default: bool = False
    selinux: bool = False
    masked_cpu_paths: tuple[str, ...] = ()
    """existing `/sys/devices/system/cpu/cpuN/thermal_throttle` folders"""
    handlers: Mapping[str, RuntimeHandler] = field(default_factory=no_entries)
    container_stop_signals: bool = False
    """feature gate ContainerStopSignals"""
    default_sysctls: Mapping[str, str] = field(default_factory=no_entries)
    """feature gate DefaultPodSysctls: sysctls for every pod whose namespaces allow them"""


@dataclass(frozen=True)
class ServicePort:
    """One port of a Kubernetes Service."""

    port: int
    protocol: str = "TCP"
    name: str = ""


@dataclass(frozen=True)
class ServiceFacts:
    """A Kubernetes Service as far as environment variables show it."""

    namespace: str
    name: str
    cluster_ip: str
    ports: tuple[ServicePort, ...] = ()


@dataclass(frozen=True)
class IdRange:
    """The host's ids of a pod's user namespace: `length` ids from `host_id` on are 0.. inside."""

    host_id: int
    length: int


@dataclass(frozen=True, kw_only=True)
class PodContext:
    """A pod with what the node has made for it.

    `pod` carries the allocated spec (a static pod its own UID). `ips` has the primary address first: the sandbox's,
    or the node's for a pod in the host's network. `services` None: they were not read yet. `image_volumes` maps volume
    names to the reference that the runtime mounts, `image_volume_failures` to waiting reason and message of those that
    could not be had. `volume_groups` are group ids that volumes ask for. `container_ids` has the newest instance of each
    container that exists, for ephemeral containers that share a container's processes.
    """

    pod: Pod
    cgroup_parent: str = ""
    pod_dir: str = ""
    runtime_handler: str = ""
    ips: tuple[str, ...] = ()
    volumes: Mapping[str, MountedVolume] = field(default_factory=no_entries)
    volume_groups: tuple[int, ...] = ()
    image_volumes: Mapping[str, str] = field(default_factory=no_entries)
    image_volume_failures: Mapping[str, tuple[str, str]] = field(default_factory=no_entries)
    container_ids: Mapping[str, str] = field(default_factory=no_entries)
    block_devices: Mapping[str, api.Device] = field(default_factory=no_entries)
    services: tuple[ServiceFacts, ...] | None = ()
    user_namespace: IdRange | None = None
    exclusive_cpus: bool = False

    def image_volume(self, name: str) -> str:
        """The image that a volume shows, as the pod names it; empty for a volume of another kind."""
        volume = self.volumes.get(name)
        return volume.image if volume is not None else ""


@dataclass(frozen=True, kw_only=True)
class EnvObjects:
    """Objects that environment variables refer to, by name, in the pod's namespace. A missing name: not found.

    `files` maps the host path of each environment file (`fileKeyRef`) to its text; None: it cannot be read.
    """

    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=no_entries)
    secrets: Mapping[str, Mapping[str, bytes]] = field(default_factory=no_entries, repr=False)
    files: Mapping[str, str | None] = field(default_factory=no_entries, repr=False)


@dataclass(frozen=True, kw_only=True)
class ContainerInputs:
    """What is decided anew for each instance of a container.

    `image_ref` is the runtime's id of the image, `image_uid` or `image_username` the image's own user. `subpaths` maps
    the index of a volume mount to its prepared host path. `hosts_path` and `termination_log_path` are host files, empty
    when the container gets none. `target_id` is the container whose processes an ephemeral container shares.
    """

    attempt: int
    image_ref: str
    image_uid: int | None = 0
    image_username: str = ""
    environment: Mapping[str, str] = field(default_factory=no_entries, repr=False)
    extras: ContainerExtras = field(default_factory=ContainerExtras)
    subpaths: Mapping[int, str] = field(default_factory=no_entries)
    hosts_path: str = ""
    termination_log_path: str = ""
    target_id: str = ""
    exclusive_cpus: bool = False


POD_NAME_LABEL: Final = "io.kubernetes.pod.name"
POD_NAMESPACE_LABEL: Final = "io.kubernetes.pod.namespace"
POD_UID_LABEL: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME_LABEL: Final = "io.kubernetes.container.name"
