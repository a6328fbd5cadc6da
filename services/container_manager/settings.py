"""Settings of container_manager."""

import msgspec

from shared.kube.eviction_thresholds import DEFAULT_HARD


class ContainerManagerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Every field has the name of its KubeletConfiguration field or flag; times are seconds."""

    node_name: str = ""
    """flag `--hostname-override`; empty: this host's name in lower case"""
    root_dir: str = "/var/lib/kubelet"
    """flag `--root-dir`: its file system is the node's ephemeral storage"""
    cgroup_root: str = "/"
    """`cgroupRoot`: the group below which `kubepods` lies, driver-neutral"""
    cgroup_driver: str = "cgroupfs"
    """`cgroupDriver`: cgroupfs or systemd"""
    cgroups_per_qos: bool = True
    """`cgroupsPerQOS`; off: pods have no groups of their own"""
    enforce_node_allocatable: list[str] = msgspec.field(default_factory=lambda: ["pods"])
    """`enforceNodeAllocatable`: with `pods`, the pods' group is limited to capacity less reservations"""
    system_reserved: dict[str, str] = {}
    """`systemReserved`: quantities by resource"""
    kube_reserved: dict[str, str] = {}
    """`kubeReserved`"""
    system_reserved_cgroup: str = ""
    """`systemReservedCgroup`: the group to limit with `system-reserved` in `enforceNodeAllocatable`"""
    kube_reserved_cgroup: str = ""
    """`kubeReservedCgroup`: the same for `kube-reserved`"""
    reserved_system_cpus: str = ""
    """`reservedSystemCPUs`: a CPU list; it replaces the cpu of both reservations"""
    eviction_hard: dict[str, str] = msgspec.field(default_factory=lambda: dict(DEFAULT_HARD))
    """`evictionHard`: memory and nodefs thresholds are taken off allocatable"""
    merge_default_eviction_settings: bool = False
    """`mergeDefaultEvictionSettings`"""
    max_pods: int = 110
    """`maxPods`"""
    pods_per_core: int = 0
    """`podsPerCore`; 0: no such limit"""
    pod_pids_limit: int = -1
    """`podPidsLimit`: processes per pod; -1: no limit"""
    cpu_cfs_quota: bool = True
    """`cpuCFSQuota`: whether CPU limits are enforced"""
    cpu_cfs_quota_period_s: float = 0.1
    """`cpuCFSQuotaPeriod`"""
    memory_reservation_policy: str = "None"
    """`memoryReservationPolicy`: None or TieredReservation"""
    cpu_manager_policy: str = "none"
    """`cpuManagerPolicy`; with `none` the pods' group names every online CPU"""
    protect_kernel_defaults: bool = False
    """`protectKernelDefaults`: kernel settings that differ from what pods rely on end the start instead of being set"""
    refresh_period_s: float = 60.0
    """how often groups are looked at again and tiers written again (upstream `cm`: 1 min)"""
    kubelet_cgroups: str = ""
    """`kubeletCgroups`: the agent's own group for statistics; empty: found"""
    runtime_cgroups: str = ""
    """flag `--runtime-cgroups`: the runtime's group, for statistics"""
    system_cgroups: str = ""
    """`systemCgroups`: the group of everything else, for statistics"""
