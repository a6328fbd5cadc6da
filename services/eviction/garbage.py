"""When what is collected: on a clock, when a container died, and when a disk is short.

Source: upstream `kubelet` (StartGarbageCollection), `kuberuntime` (podContainerDeletor), `eviction` (node-level reclaim).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from structlog.typing import FilteringBoundLogger

from services.eviction.containers.collector import Collector
from services.eviction.events import Events
from services.eviction.images.collector import ImageCollector
from shared.bus import Change, TableView
from shared.errors import OctoletError
from shared.messages.pleg import RuntimePod
from shared.messages.pod_sync import PodEntry

Degraded = Callable[[str, str | None], None]
RETRY_S: Final = 10.0
"""after a collection that failed because the runtime is away, instead of the whole period"""


class Garbage:
    """The collectors and their occasions."""

    def __init__(
        self,
        containers: Collector,
        images: ImageCollector,
        pods: TableView[PodEntry],
        *,
        events: Events,
        degraded: Degraded,
        log: FilteringBoundLogger,
    ) -> None:
        self._containers = containers
        self._images = images
        self._pods = pods
        self._events = events
        self._degraded = degraded
        self._log = log
        self._died: set[str] = set()
        self._wake = asyncio.Event()
        self._image_failures = 0

    async def reclaim(self, signal: str) -> None:
        """A disk is short: dead containers, then images. What fails is logged; a pod may have to go then."""
        for what, collect in (
            ("containers", partial(self._containers.collect, all_stopped=True)),
            ("images", self._images.collect_all),
        ):
            try:
                await collect()
            except OctoletError as error:
                self._log.warning("garbage.reclaim_failed", what=what, signal=signal, error=str(error))

    def watch(self, runtime: TableView[RuntimePod]) -> None:
        """Collect a pod at once when a container of it died or when all of it may go."""
        runtime.on_change(self._on_runtime)
        self._pods.on_change(self._on_pod)

    def _on_runtime(self, change: Change[RuntimePod]) -> None:
        if change.new is not None and _exited(change.new) - _exited(change.old):
            self._touch(change.key)

    def _on_pod(self, change: Change[PodEntry]) -> None:
        if change.new is not None and change.new.content_removable:
            self._touch(change.key)

    def _touch(self, uid: str) -> None:
        self._died.add(uid)
        self._wake.set()

    async def collect_dead_for_ever(self) -> None:
        """Pods that were touched, one after the other. What fails is left to the periodic collection."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._died:
                uid = self._died.pop()
                try:
                    await self._containers.collect_pod(uid)
                except OctoletError as error:
                    self._log.warning("garbage.pod_failed", pod_uid=uid, error=str(error))

    async def collect_containers_for_ever(self, period_s: float) -> None:
        """All dead containers, sandboxes and log folders, each period."""

        await self._repeat("containers", period_s, self._containers.collect, self._container_gc_failed)

    async def collect_images_for_ever(self, period_s: float, *, enabled: bool) -> None:
        """Images each period; when that is switched off they are only listed, for their ages."""
        collect = self._images.collect if enabled else self._images.look
        await self._repeat("images", period_s, collect, self._image_gc_failed)

    async def _repeat(
        self, what: str, period_s: float, collect: Callable[[], Awaitable[object]], failed: Callable[[str], None]
    ) -> None:
        while True:
            await self._pods.wait(lambda view: view.complete)
            pause_s = period_s
            try:
                await collect()
            except OctoletError as error:
                pause_s = min(RETRY_S, period_s) * random.uniform(1.0, 1.5)
                self._degraded(what, f"collect {what}: {error}")
                failed(str(error))
            else:
                self._degraded(what, None)
                self._image_failures = 0 if what == "images" else self._image_failures
            await asyncio.sleep(pause_s)

    def _container_gc_failed(self, text: str) -> None:
        self._events.node_warning("ContainerGCFailed", text)

    def _image_gc_failed(self, text: str) -> None:
        """The first failure is only logged: the runtime may just have been restarted."""
        self._image_failures += 1
        if self._image_failures > 1:
            self._events.node_warning("ImageGCFailed", text)


def _exited(pod: RuntimePod | None) -> frozenset[str]:
    return frozenset(c.id for c in pod.containers if c.state == "exited") if pod is not None else frozenset()
