"""Follows the runtime's event stream, where it has one, and has a pod listed at once when a container of it ended.

Only a hint, as upstream's evented PLEG is: what an event says is not believed, its pod is listed instead, so a lost,
doubled or late event changes nothing but the time. Other kinds of events follow from calls of pod_sync, which asks for
a listing itself.
"""

import asyncio
import contextlib
import time

from structlog.typing import FilteringBoundLogger

from services.pleg.backoff import Backoff
from services.pleg.health import HealthWatch
from services.pleg.metrics import PlegMetrics
from services.pleg.ports import ContainerStopped, Runtime
from services.pleg.relister import Relister, Spawn
from shared.errors import OctoletError, Unsupported

HELD_S = 1.0
"""A stream that lasted this long counts as working: a runtime answers nothing until the first event."""


class Hints:
    """Owns the stream. `spawn` starts a task whose unexpected failure ends the process."""

    def __init__(
        self,
        runtime: Runtime,
        relister: Relister,
        health: HealthWatch,
        *,
        metrics: PlegMetrics,
        spawn: Spawn,
        log: FilteringBoundLogger,
    ) -> None:
        self._runtime = runtime
        self._relister = relister
        self._health = health
        self._metrics = metrics
        self._spawn = spawn
        self._log = log

    async def follow(self, backoff: Backoff) -> None:
        """Runs for ever. A runtime without events is asked again when another one answers in its place."""
        while True:
            self._health.changed.clear()
            try:
                await self._follow_once(backoff)
            except Unsupported as error:
                self._log.info("event_stream.unsupported", error=str(error))
                await self._health.changed.wait()
            except OctoletError as error:
                self._metrics.event_failures.inc()
                self._log.debug("event_stream.failed", error=str(error))
                await asyncio.sleep(backoff.next_s())

    async def _follow_once(self, backoff: Backoff) -> None:
        held = asyncio.get_running_loop().call_later(HELD_S, self._holds, backoff)
        try:
            async with contextlib.aclosing(self._runtime.stopped_containers()) as events:
                async for event in events:
                    self._metrics.event_latency.observe(max(0.0, time.time() - event.created_at_ns / 1e9))
                    if uid := event.pod_uid or self._relister.pod_of(event.container_id):
                        self._spawn(self._relist(uid, event))
        finally:
            held.cancel()
            self._set_stream(False)
        self._log.debug("event_stream.ended")
        await asyncio.sleep(backoff.next_s())

    async def _relist(self, uid: str, event: ContainerStopped) -> None:
        try:
            await self._relister.relist(uid)
        except OctoletError as error:
            # The periodic listing will see it; why the runtime is away is reported there.
            self._log.debug("hint.dropped", pod_uid=uid, container_id=event.container_id, error=str(error))

    def _holds(self, backoff: Backoff) -> None:
        backoff.reset()
        self._metrics.event_connections.inc()
        self._set_stream(True)

    def _set_stream(self, works: bool) -> None:
        if self._health.event_stream is not works:
            self._health.event_stream = works
            self._health.republish()
            self._log.info("event_stream.opened" if works else "event_stream.closed")
