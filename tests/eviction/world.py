"""A node around one real eviction daemon: a bus, peers that answer as told, and a runtime in memory."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from services.eviction.settings import EvictionSettings
from services.eviction.shell import serve
from shared.bus import Bus, Call
from shared.cri import api
from shared.messages.container_manager import (
    USAGE,
    CgroupUsage,
    CpuUsage,
    MemoryUsage,
    PodUsage,
    Usage,
    UsageReply,
)
from shared.messages.daemon import DAEMON, EVENTS, EventRecord
from shared.messages.eviction import NODE_PRESSURE, REMOVED_IMAGES
from shared.messages.pleg import RUNTIME_PODS
from shared.messages.pod_sync import KILL_POD, PODS, KillPod, KillPodReply
from shared.messages.volume_manager import VOLUME_USAGE
from shared.service import open_context
from tests.eviction.pods import MI
from tests.shared.cri.fake_runtime import FakeRuntime

SERVICE = "eviction"
WAIT_S = 10.0


class ImageRuntime(FakeRuntime):
    """With images on a file system, and figures of containers."""

    def __init__(self, image_dir: Path) -> None:
        super().__init__()
        self.image_dir = image_dir
        self.images: dict[str, api.Image] = {}
        self.layers: dict[str, int] = {}
        self.reopened: list[str] = []

    async def image_fs_info(self, _request: Any, context: Any) -> api.ImageFsInfoResponse:
        await self._enter("ImageFsInfo", context)
        where = api.FilesystemIdentifier(mountpoint=str(self.image_dir))
        return api.ImageFsInfoResponse(image_filesystems=[api.FilesystemUsage(fs_id=where)])

    async def list_images(self, _request: Any, context: Any) -> api.ListImagesResponse:
        await self._enter("ListImages", context)
        return api.ListImagesResponse(images=list(self.images.values()))

    async def remove_image(self, request: api.RemoveImageRequest, context: Any) -> api.RemoveImageResponse:
        await self._enter("RemoveImage", context)
        self.images.pop(request.image.image, None)
        return api.RemoveImageResponse()

    async def list_container_stats(self, _request: Any, context: Any) -> api.ListContainerStatsResponse:
        await self._enter("ListContainerStats", context)
        stats = [
            api.ContainerStats(
                attributes=api.ContainerAttributes(id=container_id),
                writable_layer=api.FilesystemUsage(
                    used_bytes=api.UInt64Value(value=used), inodes_used=api.UInt64Value(value=1)
                ),
            )
            for container_id, used in self.layers.items()
        ]
        return api.ListContainerStatsResponse(stats=stats)

    async def reopen_container_log(self, request: Any, context: Any) -> api.ReopenContainerLogResponse:
        await self._enter("ReopenContainerLog", context)
        self.reopened.append(request.container_id)
        return api.ReopenContainerLogResponse()


class World:
    """Peers and what they say. `killed` are the orders that pod_sync got, `on_kill` what it does then."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = ImageRuntime(folder)
        self.available = 1000 * MI
        self.capacity = 2000 * MI
        self.pod_memory: dict[str, int] = {}
        self.pod_containers: dict[str, dict[str, int]] = {}
        self.killed: list[KillPod] = []
        self.metrics = ""
        self.on_kill: Callable[[KillPod], KillPodReply] = lambda order: KillPodReply(known=True, stopped=True)

    async def _usage(self, question: Usage, call: Call) -> UsageReply:
        now = time.time()
        pods = [
            PodUsage(
                pod_uid=uid,
                pod=CgroupUsage(memory=_memory(used, now)),
                containers=[
                    CgroupUsage(container=c, memory=_memory(n, now))
                    for c, n in self.pod_containers.get(uid, {}).items()
                ],
            )
            for uid, used in self.pod_memory.items()
        ]
        node = MemoryUsage(
            at=now,
            usage_bytes=self.capacity - self.available,
            working_set_bytes=self.capacity - self.available,
            available_bytes=self.available,
        )
        return UsageReply(
            at=now,
            node=CgroupUsage(cpu=CpuUsage(at=now, usage_ns=1), memory=node),
            pods_group=CgroupUsage(),
            pods=pods if question.pods else [],
        )

    async def _kill(self, order: KillPod, call: Call) -> KillPodReply:
        self.killed.append(order)
        return self.on_kill(order)

    @contextlib.asynccontextmanager
    async def peers(self) -> AsyncIterator["World"]:
        """The bus with everybody but eviction, and the runtime."""
        run_dir = self.folder
        async with contextlib.AsyncExitStack() as stack:
            self.endpoint = await stack.enter_async_context(self.runtime.served(run_dir / "cri.sock"))
            manager, pod_sync, pleg, volumes, self.server = [
                await stack.enter_async_context(Bus(name, run_dir))
                for name in ("container_manager", "pod_sync", "pleg", "volume_manager", "server")
            ]
            self.pods, self.runtime_pods = pod_sync.own(PODS), pleg.own(RUNTIME_PODS)
            self.volumes = volumes.own(VOLUME_USAGE)
            manager.answer(USAGE, self._usage)
            pod_sync.answer(KILL_POD, self._kill)
            self.pressure = pleg.follow(NODE_PRESSURE)
            self.removed_images = pleg.follow(REMOVED_IMAGES)
            self.state = pleg.follow(DAEMON, owner=SERVICE)
            self.event_rows = pleg.follow(EVENTS, owner=SERVICE)
            yield self

    @contextlib.asynccontextmanager
    async def daemon(self, **changes: Any) -> AsyncIterator[None]:
        """One life of eviction with quick periods and these settings."""
        settings = EvictionSettings(
            **{
                "node_name": "node1",
                "root_dir": str(self.folder),
                "pod_logs_dir": str(self.folder / "logs"),
                "container_log_links_dir": str(self.folder / "links"),
                "runtime_endpoint": self.endpoint,
                "eviction_hard": {"memory.available": "100Mi"},
                "pressure_period_s": 0.05,
                "container_gc_period_s": 0.05,
                "image_gc_period_s": 0.05,
                "image_minimum_gc_age_s": 0.0,
                "container_log_monitor_interval_s": 0.05,
                **changes,
            }
        )
        ended = asyncio.Event()

        async def life() -> None:
            async with open_context(SERVICE, settings, self.folder) as ctx:
                served, waiter = asyncio.create_task(serve(ctx)), asyncio.create_task(ended.wait())
                await asyncio.wait({served, waiter}, return_when=asyncio.FIRST_COMPLETED)
                waiter.cancel()
                ctx.stopping.set()
                await served

        task = asyncio.create_task(life())
        try:
            yield
        finally:
            ended.set()
            await task

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for something to become true."""
        async with asyncio.timeout(WAIT_S):
            while not condition():
                await asyncio.sleep(0.01)
        assert condition(), what

    def events(self, reason: str) -> list[EventRecord]:
        return [e for e in self.event_rows.values() if e.reason == reason]


def _memory(used: int, now: float) -> MemoryUsage:
    return MemoryUsage(at=now, usage_bytes=used, working_set_bytes=used)
