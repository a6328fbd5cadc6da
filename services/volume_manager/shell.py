"""The daemon: follows the tables, hands changes to the reconciler, says when it is ready."""

import asyncio
import os
import random
import time
from collections.abc import Coroutine
from typing import Any, Final

from services.volume_manager import pod_dir
from services.volume_manager.machine import HostMachine, share_root
from services.volume_manager.metrics import Metrics, VolumeCounts
from services.volume_manager.reconciler import Reconciler, Tables
from services.volume_manager.report import EventsAndLog
from services.volume_manager.settings import VolumeManagerSettings
from services.volume_manager.usage import UsageWatch
from services.volume_manager.volumes.registry import type_of_key, type_of_volume
from services.volume_manager.volumes.unknown import Unknown
from shared.bus import Change
from shared.errors import Transient
from shared.messages.container_manager import NODE_RESOURCES
from shared.messages.pleg import RUNTIME_PODS, RuntimePod
from shared.messages.pod_sync import PODS, PodEntry
from shared.messages.volume_manager import POD_VOLUMES, VOLUME_USAGE, VOLUMES_IN_USE, PodVolumes, VolumesInUse
from shared.service import Context

FIRST_ATTEMPTS_S: Final = 2.0
"""how long the table may wait for the first attempt of every pod before it is called complete: a hung mount of one pod
must not keep the others' rows of the previous run in use"""


async def serve(ctx: Context[VolumeManagerSettings]) -> None:
    """Run until told to stop."""
    # The mount table knows canonical paths only.
    root_dir = os.path.realpath(ctx.settings.root_dir)
    daemon = _Daemon(ctx, root_dir)
    try:
        await daemon.run()
    finally:
        daemon.close()


class _Daemon:
    def __init__(self, ctx: Context[VolumeManagerSettings], root_dir: str) -> None:
        self._ctx = ctx
        self._root_dir = root_dir
        bus = ctx.bus
        self._pods = bus.follow(PODS)
        self._runtime = bus.follow(RUNTIME_PODS)
        self._node = bus.follow(NODE_RESOURCES)
        self._volumes = bus.own(POD_VOLUMES)
        self._in_use = bus.own(VOLUMES_IN_USE)
        self._usage_table = bus.own(VOLUME_USAGE)
        self._metrics = Metrics(ctx.registry)
        self._machine = HostMachine(root_dir, self._node, max_blocked_operations=ctx.settings.max_blocked_operations)
        self._running: set[asyncio.Task[None]] = set()
        self._usage = UsageWatch(
            self._usage_table,
            self._metrics,
            period_s=ctx.settings.volume_stats_agg_period_s,
            start=self._start,
            chance=random.random,
        )
        self._reconciler = Reconciler(
            root_dir,
            self._machine,
            tables=Tables(self._pods, self._runtime, self._volumes),
            report=EventsAndLog(ctx, self._metrics, published=self._published),
            start=self._start,
            clock=time.monotonic,
        )
        ctx.registry.register(
            VolumeCounts(
                lambda: [key for pod in self._reconciler.actual().values() for key in pod.volumes],
                self._reconciler.desired_volumes,
            )
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run something that ends by itself; an unexpected exception in it ends the process."""
        task = self._ctx.tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def close(self) -> None:
        """Leave operations where they are: the next start takes them up."""
        for task in list(self._running):
            task.cancel()
        self._usage.close()
        self._machine.close()

    async def run(self) -> None:
        await self._prepare_root()
        found = await self._reconciler.scan()
        self._metrics.reconstructed.inc(len(found))
        self._metrics.reconstruct_errors.inc(sum(isinstance(type_of_key(key), Unknown) for key in found))
        self._ctx.log.info("volumes.reconstructed", volumes=len(found))
        self._follow()
        self._in_use.put("node", VolumesInUse())
        self._in_use.mark(complete=True)
        self._usage_table.mark(complete=True)
        self._ctx.ready()
        self._ctx.spawn("complete", self._say_complete())
        self._ctx.spawn("orphans", self._scan_for_orphans())
        await self._ctx.stopping.wait()

    async def _prepare_root(self) -> None:
        """Retried for as long as it takes: a full or read-only disk is no reason to die."""
        while not self._ctx.stopping.is_set():
            try:
                await self._machine.run(lambda: pod_dir.make_root(self._machine.files, self._root_dir))
                break
            except Transient as e:
                self._ctx.degraded("root_dir", str(e))
                await asyncio.sleep(1 + random.random())
        self._ctx.degraded("root_dir", None)
        try:
            await self._machine.run(lambda: share_root(self._root_dir))
        except Transient as e:
            self._ctx.log.warning("root_dir.not_shared", error=str(e))

    def _follow(self) -> None:
        self._pods.on_change(self._pod_changed)
        self._pods.on_mark(self._marked)
        self._runtime.on_change(self._runtime_changed)
        self._runtime.on_mark(self._marked)
        self._node.on_change(lambda _: self._reconciler.fact_became_known())
        for uid, entry in list(self._pods.items()):
            self._reconciler.pod_changed(uid, entry)
        self._marked()

    def _pod_changed(self, change: Change[PodEntry]) -> None:
        self._reconciler.pod_changed(change.key, change.new)

    def _runtime_changed(self, change: Change[RuntimePod]) -> None:
        if self._pods.get(change.key) is None:
            self._reconciler.look_at_orphans()

    def _marked(self) -> None:
        text = None if self._pods.complete else "pod_sync has not yet said which pods belong here"
        self._ctx.degraded("pods", text)
        self._reconciler.look_at_orphans()

    def _published(self, uid: str, row: PodVolumes | None) -> None:
        """Watch the space of what is mounted."""
        if row is None:
            self._usage.pod_changed(uid, {})
            return
        entry = self._pods.get(uid)
        volumes = entry.pod.spec.volumes if entry is not None else []
        counted = {v.name for v in volumes if type_of_volume(v).has_usage}
        self._usage.pod_changed(uid, {n: v.host_path for n, v in row.volumes.items() if n in counted})

    async def _say_complete(self) -> None:
        """Call the table complete once it covers all pods: a reader then drops rows that are not in it."""
        await self._pods.wait(lambda pods: pods.complete, timeout_s=None)
        await self._reconciler.wait_settled(FIRST_ATTEMPTS_S)
        self._reconciler.publish_all()
        self._volumes.mark(complete=True)
        await self._ctx.stopping.wait()

    async def _scan_for_orphans(self) -> None:
        while True:
            await asyncio.sleep(self._ctx.settings.orphan_scan_period_s)
            try:
                await self._reconciler.scan()
            except Transient as e:
                self._ctx.log.warning("pod_dirs.not_listed", error=str(e))
