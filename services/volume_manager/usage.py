"""How much space pods' volumes take, looked at now and then, one pod at a time (upstream `server/stats`)."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from services.volume_manager import tree
from services.volume_manager.metrics import Metrics
from shared.bus import OwnedTable
from shared.messages.volume_manager import PodVolumeUsage, VolumeUsage


def measure(paths: Mapping[str, str], at: float) -> PodVolumeUsage:
    """Walk each volume (name to path). One that cannot be read, or is gone, is left out."""
    found: list[VolumeUsage] = []
    for name, path in sorted(paths.items()):
        try:
            used = tree.disk_usage(path)
            whole = os.statvfs(path)
        except OSError:
            continue
        found.append(
            VolumeUsage(
                name=name,
                used_bytes=used.used_bytes,
                capacity_bytes=whole.f_blocks * whole.f_frsize,
                available_bytes=whole.f_bavail * whole.f_frsize,
                inodes=whole.f_files,
                inodes_used=used.inodes,
                inodes_free=whole.f_ffree,
                at=at,
            )
        )
    return PodVolumeUsage(volumes=found)


class UsageWatch:
    """Publishes `volume_usage` of the pods it was told of, each every `period_s` to twice that.

    One thread does all the walking, so that many pods cost time and not processors, and a volume on a hung filesystem
    stops the figures but nothing else.
    """

    def __init__(
        self,
        table: OwnedTable[PodVolumeUsage],
        metrics: Metrics,
        *,
        period_s: float,
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        chance: Callable[[], float],
    ) -> None:
        self._table = table
        self._metrics = metrics
        self._period_s = period_s
        self._start = start
        self._chance = chance
        self._paths: dict[str, Mapping[str, str]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="usage")

    def pod_changed(self, uid: str, paths: Mapping[str, str]) -> None:
        """Volumes of a pod to look at, by name. None left: forget the pod."""
        if self._period_s <= 0:
            return
        if paths:
            self._paths[uid] = paths
            if uid not in self._tasks:
                self._tasks[uid] = self._start(self._watch(uid))
        elif uid in self._tasks:
            self._tasks.pop(uid).cancel()
            self._paths.pop(uid, None)
            self._table.delete(uid)

    def close(self) -> None:
        """Let go of the thread without waiting for a walk."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _watch(self, uid: str) -> None:
        loop = asyncio.get_running_loop()
        while True:
            paths, began = self._paths[uid], time.monotonic()
            usage = await loop.run_in_executor(self._thread, measure, paths, time.time())
            self._metrics.usage_duration.labels(metric_source="du").observe(time.monotonic() - began)
            self._table.put(uid, usage)
            await asyncio.sleep(self._period_s * (1 + self._chance()))
