"""What each active pod uses, gathered only when a pod must be chosen or checked."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from services.eviction.filesystems import folder_use
from services.eviction.pressure.model import Amounts, Candidate, ContainerUse, PodUse
from shared.bus import Bus, TableView
from shared.cri import api
from shared.errors import OctoletError
from shared.messages.container_manager import USAGE, PodUsage, Usage
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import PodVolumeUsage

USAGE_TIMEOUT_S = 10.0
MAX_AGE_S = 10.0


class ContainerStats(Protocol):
    """The one call to the runtime that is needed here."""

    async def list_container_stats(
        self, request: api.ListContainerStatsRequest, *, timeout_s: float | None = None
    ) -> api.ListContainerStatsResponse: ...


class Figures:
    """Gathers candidates with what they use."""

    def __init__(
        self,
        bus: Bus,
        cri: ContainerStats,
        pods: TableView[PodEntry],
        runtime: TableView[RuntimePod],
        volumes: TableView[PodVolumeUsage],
    ) -> None:
        self._bus = bus
        self._cri = cri
        self._pods = pods
        self._runtime = runtime
        self._volumes = volumes

    async def gather(self, uids: Iterable[str], *, disk: bool) -> list[Candidate]:
        """Those pods, with memory and processes, or with what they take on disk. Figures that are missing stay None."""
        chosen = {uid: entry.pod for uid in uids if (entry := self._pods.get(uid)) is not None}
        if disk:
            use = await self._disk_use(list(chosen))
        else:
            use = await self._memory_use()
        return [Candidate(uid, pod, use.get(uid)) for uid, pod in chosen.items()]

    async def _memory_use(self) -> dict[str, PodUse]:
        try:
            reply = await self._bus.call(USAGE, Usage(max_age_s=MAX_AGE_S), timeout_s=USAGE_TIMEOUT_S)
        except OctoletError:
            return {}
        return {row.pod_uid: memory_use(row, self._names(row.pod_uid)) for row in reply.pods}

    def _names(self, uid: str) -> dict[str, str]:
        seen = self._runtime.get(uid)
        return {c.id: c.name for c in seen.containers} if seen is not None else {}

    async def _disk_use(self, uids: list[str]) -> dict[str, PodUse]:
        try:
            stats = await self._cri.list_container_stats(api.ListContainerStatsRequest())
        except OctoletError:
            layers = None
        else:
            layers = {
                s.attributes.id: Amounts(s.writable_layer.used_bytes.value, s.writable_layer.inodes_used.value)
                for s in stats.stats
            }
        running = {uid: self._running(uid) for uid in uids}
        return await asyncio.to_thread(self._disk, running, layers)

    def _disk(
        self, running: Mapping[str, list[ContainerState]], layers: Mapping[str, Amounts] | None
    ) -> dict[str, PodUse]:
        found = {}
        for uid, containers in running.items():
            row = self._volumes.get(uid)
            volumes = {v.name: Amounts(v.used_bytes, v.inodes_used) for v in row.volumes} if row is not None else {}
            if not containers and not volumes:
                continue
            found[uid] = PodUse(
                containers=tuple(
                    ContainerUse(
                        name=c.name,
                        layer=layers.get(c.id) if layers is not None else None,
                        logs=folder_use(Path(c.log_path).parent) if c.log_path else None,
                    )
                    for c in containers
                ),
                volumes=volumes,
            )
        return found

    def _running(self, uid: str) -> list[ContainerState]:
        seen = self._runtime.get(uid)
        return [c for c in seen.containers if c.state == "running"] if seen is not None else []


def memory_use(row: PodUsage, names: Mapping[str, str]) -> PodUse:
    """Memory and processes of one pod; `names` are the names of its containers by id."""
    return PodUse(
        memory_bytes=row.pod.memory.working_set_bytes if row.pod.memory is not None else None,
        processes=row.pod.pids,
        containers=tuple(
            ContainerUse(names[c.container], c.memory.working_set_bytes if c.memory is not None else None)
            for c in row.containers
            if c.container in names
        ),
    )
