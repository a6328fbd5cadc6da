"""Settings of eviction."""

import msgspec

from shared.kube.eviction_thresholds import DEFAULT_HARD


class EvictionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every field has the name of its KubeletConfiguration field or flag; times are seconds."""

    node_name: str = ""
    """flag `--hostname-override`; empty: this host's name in lower case"""
    root_dir: str = "/var/lib/kubelet"
    """flag `--root-dir`: its file system is `nodefs`"""
    pod_logs_dir: str = "/var/log/pods"
    """`podLogsDir`"""
    container_log_links_dir: str = "/var/log/containers"
    """where links to container logs lie (not configurable upstream)"""
    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    """`containerRuntimeEndpoint`"""
    image_service_endpoint: str = ""
    """`imageServiceEndpoint`; empty: the runtime's"""
    runtime_request_timeout_s: float = 120.0
    """`runtimeRequestTimeout`"""

    eviction_hard: dict[str, str] = msgspec.field(default_factory=lambda: dict(DEFAULT_HARD))
    """`evictionHard`: quantity or percentage by signal"""
    eviction_soft: dict[str, str] = {}
    """`evictionSoft`"""
    eviction_soft_grace_period: dict[str, str] = {}
    """`evictionSoftGracePeriod`: durations as Go writes them, by signal"""
    eviction_minimum_reclaim: dict[str, str] = {}
    """`evictionMinimumReclaim`"""
    merge_default_eviction_settings: bool = False
    """`mergeDefaultEvictionSettings`"""
    eviction_pressure_transition_period_s: float = 300.0
    """`evictionPressureTransitionPeriod`: how long a condition stays after it was last true of itself"""
    eviction_max_pod_grace_period: int = 0
    """`evictionMaxPodGracePeriod` in seconds: the most that a pod gets past a soft threshold"""
    enforce_node_allocatable: list[str] = msgspec.field(default_factory=lambda: ["pods"])
    """`enforceNodeAllocatable`; with `pods`, hard memory thresholds count for the pods' group too"""
    local_storage_capacity_isolation: bool = True
    """`localStorageCapacityIsolation`: limits of local storage are enforced"""
    pressure_period_s: float = 10.0
    """between two looks at the node's signals (upstream `eviction`: monitoringInterval)"""

    container_gc_period_s: float = 60.0
    """between two collections of dead containers (upstream: ContainerGCPeriod)"""
    minimum_container_ttl_duration: str = "0s"
    """flag `--minimum-container-ttl-duration`, as Go writes durations"""
    maximum_dead_containers_per_container: int = 1
    """flag `--maximum-dead-containers-per-container`"""
    maximum_dead_containers: int = -1
    """flag `--maximum-dead-containers`; -1: no such limit"""

    image_gc_period_s: float = 300.0
    """between two collections of images (upstream: ImageGCPeriod)"""
    image_gc_high_threshold_percent: int = 85
    """`imageGCHighThresholdPercent`; 100 switches the collection for space off"""
    image_gc_low_threshold_percent: int = 80
    """`imageGCLowThresholdPercent`"""
    image_minimum_gc_age_s: float = 120.0
    """`imageMinimumGCAge`"""
    image_maximum_gc_age_s: float = 0.0
    """`imageMaximumGCAge`; 0: no such limit"""

    container_log_max_size: str = "10Mi"
    """`containerLogMaxSize`; negative switches rotation off"""
    container_log_max_files: int = 5
    """`containerLogMaxFiles`"""
    container_log_max_workers: int = 1
    """`containerLogMaxWorkers`: rotations at once"""
    container_log_monitor_interval_s: float = 10.0
    """`containerLogMonitorInterval`"""
