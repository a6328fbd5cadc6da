"""Gathers what a summary is made of: one usage request, two CRI calls, a few reads of this host."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from services.server.stats.filesystems import Filesystem, directory_usage, read_filesystem
from services.server.stats.network import read_interfaces
from services.server.stats.summary import Disk, Inputs
from shared.bus import Bus, TableView
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import OctoletError
from shared.messages.container_manager import USAGE, Usage
from shared.messages.pleg import RuntimePod
from shared.messages.volume_manager import PodVolumeUsage

USAGE_TIMEOUT_S = 5.0


class StatsCollector:
    """Keeps no figures: container_manager caches usage, the kernel the rest."""

    def __init__(
        self,
        bus: Bus,
        cri: RuntimeClient,
        runtime: TableView[RuntimePod],
        volumes: TableView[PodVolumeUsage],
        *,
        node_name: str,
        root_dir: str,
    ) -> None:
        self.bus = bus
        self.cri = cri
        self.runtime = runtime
        self.volumes = volumes
        self.node_name = node_name
        self.root_dir = root_dir
        self.boot_at = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    async def collect(self, *, reduced: bool) -> Inputs:
        """Raises Transient when container_manager does not answer. A runtime that does not answer costs only its parts."""
        usage = await self.bus.call(USAGE, Usage(max_age_s=10.0), timeout_s=USAGE_TIMEOUT_S)
        runtime = dict(self.runtime.items())
        disk = Disk() if reduced else await self._disk(runtime)
        return Inputs(
            node_name=self.node_name,
            boot_at=self.boot_at,
            usage=usage,
            runtime=runtime,
            volumes={uid: row.volumes for uid, row in self.volumes.items()},
            disk=disk,
            interfaces=[] if reduced else await asyncio.to_thread(read_interfaces),
        )

    async def _disk(self, runtime: Mapping[str, RuntimePod]) -> Disk:
        layers, (images, images_used) = await asyncio.gather(self._layers(), self._images())
        logs = await asyncio.to_thread(_log_usage, runtime)
        node = await asyncio.to_thread(read_filesystem, self.root_dir)
        return Disk(node=node, images=images, images_used=images_used, layers=layers, logs=logs)

    async def _layers(self) -> dict[str, tuple[int, int]]:
        try:
            answer = await self.cri.list_container_stats(api.ListContainerStatsRequest())
        except OctoletError:
            return {}
        return {
            s.attributes.id: (s.writable_layer.used_bytes.value, s.writable_layer.inodes_used.value)
            for s in answer.stats
        }

    async def _images(self) -> tuple[Filesystem | None, tuple[int, int] | None]:
        try:
            answer = await self.cri.image_fs_info(api.ImageFsInfoRequest())
        except OctoletError:
            return None, None
        for found in answer.image_filesystems:
            filesystem = await asyncio.to_thread(read_filesystem, found.fs_id.mountpoint)
            return filesystem, (found.used_bytes.value, found.inodes_used.value)
        return None, None


def _log_usage(runtime: Mapping[str, RuntimePod]) -> dict[str, tuple[int, int]]:
    """(bytes, files) of each running container's log directory."""
    return {
        c.id: directory_usage(Path(c.log_path).parent)
        for pod in runtime.values()
        for c in pod.containers
        if c.state == "running" and c.log_path
    }
