"""Settings of pod_sync, read from RUN/settings/pod_sync.json."""

import msgspec


class PodSyncSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Names are those of KubeletConfiguration fields and kubelet flags; times are seconds; defaults are the kubelet's."""

    node_name: str = ""
    """flag `--hostname-override`; empty: this host's name in lower case"""
    root_dir: str = "/var/lib/kubelet"
    """flag `--root-dir`: pod folders, and the record of admitted pods"""
    standalone: bool = True
    """no kubeconfig: pods come from files and URLs only, and status is served locally"""
    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    """`containerRuntimeEndpoint`"""
    image_service_endpoint: str = ""
    """`imageServiceEndpoint`; empty: where the runtime is"""
    runtime_request_timeout_s: float = 120.0
    """`runtimeRequestTimeout`: for one call that is not said to take longer"""
    pod_logs_dir: str = "/var/log/pods"
    """`podLogsDir`"""
    container_logs_dir: str = "/var/log/containers"
    """where links to container logs are made for log collectors; the kubelet has no setting for it"""

    static_pod_path: str = ""
    """`staticPodPath`: a folder of manifests or one file; empty: no such source"""
    file_check_frequency_s: float = 20.0
    """`fileCheckFrequency`: from one reading of all manifests to the next"""
    static_pod_url: str = ""
    """`staticPodURL`: where manifests are fetched from; empty: no such source"""
    static_pod_url_header: dict[str, list[str]] = {}
    """`staticPodURLHeader`"""
    http_check_frequency_s: float = 20.0
    """`httpCheckFrequency`"""

    sync_frequency_s: float = 60.0
    """`syncFrequency`: a pod is synced again after this long, and up to half as much more, if nothing happens"""
    crash_loop_back_off_max_container_restart_period_s: float = 300.0
    """`crashLoopBackOff.maxContainerRestartPeriod`: longest wait before a container that keeps exiting is started"""
    volumes_timeout_s: float = 123.0
    """longest wait for a pod's volumes in one sync (upstream `volumemanager`: 2 min 3 s)"""

    serialize_image_pulls: bool = True
    """`serializeImagePulls`: one pull at a time"""
    max_parallel_image_pulls: int | None = None
    """`maxParallelImagePulls`; None: no bound when pulls are not serialized"""
    registry_pull_qps: int = 5
    """`registryPullQPS`: pulls per second, 0: no limit"""
    registry_burst: int = 10
    """`registryBurst`"""

    cluster_domain: str = ""
    """`clusterDomain`"""
    cluster_dns: list[str] = []
    """`clusterDNS`"""
    resolv_conf: str = "/etc/resolv.conf"
    """`resolvConf`; empty: the node has no resolver file"""
    cpu_cfs_quota: bool = True
    """`cpuCFSQuota`"""
    cpu_cfs_quota_period_s: float = 0.1
    """`cpuCFSQuotaPeriod`"""
    seccomp_default: bool = False
    """`seccompDefault`"""
    memory_throttling_factor: float | None = 0.9
    """`memoryThrottlingFactor`"""
    memory_reservation_policy: str = "None"
    """`memoryReservationPolicy`"""
    memory_swap_swap_behavior: str = ""
    """`memorySwap.swapBehavior`; empty: NoSwap"""
    single_process_oom_kill: bool | None = None
    """`singleProcessOOMKill`; None: off where cgroup v2 can kill a whole group"""
    allowed_unsafe_sysctls: list[str] = []
    """`allowedUnsafeSysctls`"""
    feature_gates: dict[str, bool] = {}
    """`featureGates`"""
