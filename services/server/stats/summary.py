"""Builds the summary API's document (upstream `stats/v1alpha1`) from one usage answer and what the tables hold. Pure.

Only pods with a running container appear. Optional parts that are not known are left out, as upstream leaves them out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from services.server.stats.filesystems import Filesystem, FsStats, fs_stats
from services.server.stats.network import Interface, network_stats
from shared.messages.container_manager import CgroupUsage, PodUsage, UsageReply
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.volume_manager import VolumeUsage

Document = dict[str, object]


@dataclass(frozen=True)
class Disk:
    """What filesystems hold. `layers` and `logs` are (bytes, inodes) by container id."""

    node: Filesystem | None = None
    images: Filesystem | None = None
    images_used: tuple[int, int] | None = None
    layers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    logs: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Inputs:
    """Everything that a summary is made of."""

    node_name: str
    boot_at: float
    usage: UsageReply
    runtime: Mapping[str, RuntimePod]
    volumes: Mapping[str, list[VolumeUsage]]
    disk: Disk
    interfaces: list[Interface]


def build_summary(inputs: Inputs, *, only_cpu_and_memory: bool) -> Document:
    """The whole document; with `only_cpu_and_memory`, the reduced one that metrics pipelines ask for."""
    usage = inputs.usage
    node: Document = {"nodeName": inputs.node_name, "systemContainers": [], "startTime": rfc3339(inputs.boot_at)}
    node |= _cpu_memory(usage.node)
    node["systemContainers"] = [_system("pods", usage.pods_group), *(_system(s.name, s) for s in usage.system)]
    if not only_cpu_and_memory:
        now = rfc3339(usage.at)
        disk = inputs.disk
        node["network"] = network_stats(now, inputs.interfaces)
        node["fs"] = fs_stats(now, disk.node)
        used, inodes = disk.images_used or (None, None)
        images = fs_stats(now, disk.images, used=used, inodes_used=inodes)
        node["runtime"] = {"imageFs": images, "containerFs": images}
        node["rlimit"] = {"time": now, "maxpid": usage.pids_max, "curproc": usage.pids_current}
    pods = [_pod(p, inputs, only_cpu_and_memory) for p in usage.pods]
    return {"node": node, "pods": [p for p in pods if p is not None]}


def _pod(usage: PodUsage, inputs: Inputs, reduced: bool) -> Document | None:
    seen = inputs.runtime.get(usage.pod_uid)
    running = [c for c in seen.containers if c.state == "running"] if seen is not None else []
    if seen is None or not running:
        return None
    by_id = {c.container: c for c in usage.containers}
    started = max((s.created_at_ns for s in seen.sandboxes if s.ready), default=seen.containers[-1].created_at_ns)
    pod: Document = {
        "podRef": {"name": seen.name, "namespace": seen.namespace, "uid": usage.pod_uid},
        "startTime": rfc3339(started / 1e9),
        "containers": [_container(c, by_id.get(c.id), inputs, reduced) for c in running],
        **_cpu_memory(usage.pod),
    }
    if not reduced:
        volumes = inputs.volumes.get(usage.pod_uid, [])
        if volumes:
            pod["volume"] = [_volume(v) for v in volumes]
        pod["ephemeral-storage"] = _ephemeral(running, volumes, inputs)
        pod["process_stats"] = {"process_count": usage.pod.pids}
    return pod


def _container(seen: ContainerState, usage: CgroupUsage | None, inputs: Inputs, reduced: bool) -> Document:
    container: Document = {"name": seen.name, "startTime": rfc3339(seen.created_at_ns / 1e9)}
    if usage is not None:
        container |= _cpu_memory(usage)
    if not reduced:
        now = rfc3339(inputs.usage.at)
        disk = inputs.disk
        layer, logs = disk.layers.get(seen.id), disk.logs.get(seen.id)
        if layer is not None:
            container["rootfs"] = fs_stats(now, disk.images, used=layer[0], inodes_used=layer[1])
        if logs is not None:
            container["logs"] = fs_stats(now, disk.node, used=logs[0], inodes_used=logs[1])
    return container


def _ephemeral(running: Iterable[ContainerState], volumes: Iterable[VolumeUsage], inputs: Inputs) -> FsStats:
    disk = inputs.disk
    parts = [
        figures for c in running for figures in (disk.layers.get(c.id), disk.logs.get(c.id)) if figures is not None
    ]
    parts += [(v.used_bytes, v.inodes_used) for v in volumes]
    used, inodes = sum(p[0] for p in parts), sum(p[1] for p in parts)
    return fs_stats(rfc3339(inputs.usage.at), disk.node, used=used, inodes_used=inodes)


def _volume(volume: VolumeUsage) -> Document:
    return {
        "time": rfc3339(volume.at),
        "availableBytes": volume.available_bytes,
        "capacityBytes": volume.capacity_bytes,
        "usedBytes": volume.used_bytes,
        "inodesFree": volume.inodes_free,
        "inodes": volume.inodes,
        "inodesUsed": volume.inodes_used,
        "name": volume.name,
    }


def _system(name: str, usage: CgroupUsage) -> Document:
    found: Document = {"name": name}
    if usage.started_at:
        found["startTime"] = rfc3339(usage.started_at)
    return found | _cpu_memory(usage)


def _cpu_memory(usage: CgroupUsage) -> Document:
    found: Document = {}
    if usage.cpu is not None:
        cpu = usage.cpu
        found["cpu"] = {
            "time": rfc3339(cpu.at),
            "usageNanoCores": cpu.usage_nano_cores,
            "usageCoreNanoSeconds": cpu.usage_ns,
        }
    if usage.memory is not None:
        memory = usage.memory
        stats: Document = {"time": rfc3339(memory.at)}
        if memory.available_bytes:
            stats["availableBytes"] = memory.available_bytes
        found["memory"] = stats | {
            "usageBytes": memory.usage_bytes,
            "workingSetBytes": memory.working_set_bytes,
            "rssBytes": memory.rss_bytes,
            "pageFaults": memory.page_faults,
            "majorPageFaults": memory.major_page_faults,
        }
    return found


def rfc3339(seconds: float) -> str:
    """UTC, whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
