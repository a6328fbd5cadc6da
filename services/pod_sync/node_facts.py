"""The node as pods on it are told: settings, what container_manager and the runtime say, and what the kernel shows."""

import os
import socket
from pathlib import Path
from typing import Final

from services.pod_sync.environment.model import MemoryQos, NodeFacts
from services.pod_sync.peers import NODE_KEY, RUNTIME_KEY, BusPeers
from services.pod_sync.settings import PodSyncSettings
from shared.bus import TableView
from shared.messages.container_manager import NodeResources

_HUGEPAGES: Final = Path("/sys/kernel/mm/hugepages")
_SELINUX: Final = Path("/sys/fs/selinux/enforce")
_CPUS: Final = Path("/sys/devices/system/cpu")


def node_name_of(settings: PodSyncSettings) -> str:
    """The node's name: the setting, or this host's name in lower case (upstream `util/node.GetHostname`)."""
    return settings.node_name or socket.gethostname().strip().lower()


class FactsOfNode:
    """Facts as they are when asked. What the kernel shows is read once, when this is made."""

    def __init__(self, settings: PodSyncSettings, peers: BusPeers, resources: TableView[NodeResources]) -> None:
        self._settings = settings
        self._peers = peers
        self._resources = resources
        self._node_name = node_name_of(settings)
        self._page_size = os.sysconf("SC_PAGE_SIZE")
        self._hugepages = _hugepage_sizes()
        self._selinux = _SELINUX.exists()
        self._thermal = tuple(str(path) for path in sorted(_CPUS.glob("cpu[0-9]*/thermal_throttle")))

    def __call__(self) -> NodeFacts:
        settings = self._settings
        node = self._resources.get(NODE_KEY)
        health = self._peers.health.get(RUNTIME_KEY)
        return NodeFacts(
            node_name=self._node_name,
            node_ips=self._peers.node_ips(),
            root_dir=settings.root_dir,
            pod_logs_dir=settings.pod_logs_dir,
            cluster_domain=settings.cluster_domain,
            cluster_dns=tuple(settings.cluster_dns),
            has_resolver_file=settings.resolv_conf != "",
            cgroup_version=node.cgroup_version if node is not None else 2,
            memory_capacity_bytes=node.memory_bytes if node is not None else 0,
            allocatable=node.allocatable if node is not None else {},
            page_size_bytes=self._page_size,
            hugepage_sizes_bytes=self._hugepages,
            cpu_cfs_quota=settings.cpu_cfs_quota,
            cpu_cfs_quota_period_us=round(settings.cpu_cfs_quota_period_s * 1_000_000),
            memory_qos=self._memory_qos(),
            seccomp_default=settings.seccomp_default,
            selinux=self._selinux,
            masked_cpu_paths=self._thermal,
            handlers={handler.name: handler for handler in health.handlers} if health is not None else {},
            container_stop_signals=settings.feature_gates.get("ContainerStopSignals", False),
        )

    def _memory_qos(self) -> MemoryQos:
        settings = self._settings
        return MemoryQos(
            enabled=settings.feature_gates.get("MemoryQoS", True),
            reservation_policy=settings.memory_reservation_policy,
            throttling_factor=settings.memory_throttling_factor,
            swap_behavior=settings.memory_swap_swap_behavior or "NoSwap",
            single_process_oom_kill=bool(settings.single_process_oom_kill),
        )


def _hugepage_sizes() -> tuple[int, ...]:
    """Sizes of huge pages that the kernel has, in bytes; none when it has no such pages."""
    names = (path.name for path in _HUGEPAGES.glob("hugepages-*kB"))
    return tuple(sorted(int(name.removeprefix("hugepages-").removesuffix("kB")) * 1024 for name in names))
