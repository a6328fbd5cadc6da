"""The daemon: follows the tables, hands each pod's workers to `workers`, says when it is ready."""

import asyncio
import random
import time
from collections.abc import Coroutine
from typing import Any

from services.prober.asker import RealAsker
from services.prober.metrics import Metrics
from services.prober.pods import current_container, had_started, pod_address, wanted_workers
from services.prober.report import EventsAndMetrics
from services.prober.results import Results
from services.prober.settings import ProberSettings
from services.prober.workers import Clocks, Workers, gone
from shared.bus import Change
from shared.cri.client import RuntimeClient
from shared.messages.node_status import NODE
from shared.messages.pleg import RUNTIME_PODS, ContainerState, RuntimePod
from shared.messages.pod_sync import POD_STATUS, PODS, PodStatusEntry
from shared.messages.prober import PROBE_RESULTS
from shared.service import Context


async def serve(ctx: Context[ProberSettings]) -> None:
    """Run until told to stop."""
    settings = ctx.settings
    async with RuntimeClient(settings.runtime_endpoint, timeout_s=settings.runtime_request_timeout_s) as cri:
        daemon = _Daemon(ctx, cri)
        try:
            await daemon.run()
        finally:
            daemon.close()


class _Daemon:
    """Also what `workers.Pods` asks for."""

    def __init__(self, ctx: Context[ProberSettings], cri: RuntimeClient) -> None:
        self._ctx = ctx
        bus = ctx.bus
        self._pods = bus.follow(PODS)
        self._runtime = bus.follow(RUNTIME_PODS)
        self._status = bus.follow(POD_STATUS)
        self._node = bus.follow(NODE)
        self._table = bus.own(PROBE_RESULTS)
        self._running: set[asyncio.Task[None]] = set()
        self._said_complete = False
        self._results = Results(self._table, ctx.run_dir, failed=lambda text: ctx.degraded("checkpoint", text))
        self._workers = Workers(
            RealAsker(cri),
            self,
            results=self._results,
            report=EventsAndMetrics(ctx, Metrics(ctx.registry)),
            start=self._start,
            clocks=Clocks(time.monotonic, time.time, random.random, started_at=time.time()),
        )

    async def run(self) -> None:
        restored = self._results.restore()
        self._ctx.log.info("outcomes.restored", containers=restored)
        self._pods.on_change(lambda change: self._look(change.key))
        self._runtime.on_change(self._runtime_changed)
        self._status.on_change(self._status_changed)
        self._pods.on_mark(self._marked)
        self._runtime.on_mark(self._marked)
        for uid in list(self._pods.keys()):
            self._look(uid)
        self._marked()
        self._ctx.ready()
        await self._ctx.stopping.wait()

    def close(self) -> None:
        """Leave probes that are under way; outcomes stay as they are."""
        self._workers.close()
        for task in list(self._running):
            task.cancel()

    def container(self, uid: str, name: str) -> ContainerState | None:
        return current_container(self._runtime.get(uid), name)

    def had_started(self, uid: str, name: str, container_id: str) -> bool:
        return had_started(self._status.get(uid), name, container_id)

    def address(self, uid: str) -> str:
        entry, node = self._pods.get(uid), self._node.get("node")
        if entry is None:
            return ""
        return pod_address(
            entry, self._runtime.get(uid), self._status.get(uid), node.node if node is not None else None
        )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._ctx.tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _look(self, uid: str) -> None:
        """A pod, or what runs of it, is another than before. A pod that is not listed any more needs no workers."""
        entry = self._pods.get(uid)
        self._workers.pod_changed(uid, wanted_workers(uid, entry) if entry is not None else {})

    def _runtime_changed(self, change: Change[RuntimePod]) -> None:
        self._look(change.key)
        if self._said_complete and self._runtime.complete:
            self._drop_gone()

    def _status_changed(self, change: Change[PodStatusEntry]) -> None:
        if change.new is not None:
            self._workers.poke(change.key)

    def _marked(self) -> None:
        """Outcomes of containers that are gone are dropped, and the table vouched for, once both sides have spoken."""
        for name, view in (("pods", self._pods), ("runtime_pods", self._runtime)):
            self._ctx.degraded(name, None if view.complete else f"{view.owner} has not yet published {name}")
        if self._pods.complete and self._runtime.complete:
            self._drop_gone()
            if not self._said_complete:
                self._said_complete = True
                self._table.mark(complete=True)

    def _drop_gone(self) -> None:
        self._results.drop(gone(c.id for pod in self._runtime.values() for c in pod.containers))
