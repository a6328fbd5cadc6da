"""Carries out the core's actions: lists, inspects, publishes.

Listings of one pod run beside the periodic listing of all; the core sorts out whose result counts. For each pod (and
for all of them together) at most one listing runs and one waits: who asks while one runs needs a newer one, and
shares it with all who ask before it begins.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakValueDictionary

from services.pleg.core import step
from services.pleg.model import EVERYTHING, Action, DeleteRow, Event, Inspect, Inspected, Listed, Mark, PutRow, View
from services.pleg.ports import Observer, Runtime
from shared.bus import OwnedTable
from shared.errors import OctoletError
from shared.messages.pleg import Relisted, RuntimePod

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Relister:
    """The one writer of `runtime_pods`. `spawn` starts a task whose unexpected failure ends the process."""

    def __init__(
        self,
        runtime: Runtime,
        table: OwnedTable[RuntimePod],
        spawn: Spawn,
        *,
        observer: Observer,
        inspect_at_once: int,
    ) -> None:
        self._runtime = runtime
        self._table = table
        self._spawn = spawn
        self._observer = observer
        self._inspect_at_once = inspect_at_once
        self._view = View()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._inspecting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._waiting: dict[str, asyncio.Future[None]] = {}

    @property
    def as_of_mono(self) -> float:
        """Start of the last full listing whose rows are all out; 0.0 before the first."""
        return self._view.as_of_mono

    def pod_of(self, container_id: str) -> str:
        """UID of the pod in whose last listing this container was; empty when it was in none."""
        for uid, record in self._view.records.items():
            if record.listed is not None and container_id in record.listed.containers:
                return uid
        return ""

    async def relist(self, only: str = EVERYTHING) -> Relisted:
        """List, inspect and publish one pod or all; the listing begins after this call did.

        Returns what is known of the pod then. Raises what the listing raised; a failed inspection is in the row.
        """
        future = self._waiting.get(only)
        if future is None:
            future = self._waiting[only] = asyncio.get_running_loop().create_future()
            self._spawn(self._relist_in_turn(only, future))
        # The listing goes on when one of its askers gives up.
        await asyncio.shield(future)
        record = self._view.records.get(only)
        if record is None:
            return Relisted(as_of_mono=self._view.as_of_mono if only == EVERYTHING else self._view.listed_mono)
        error = record.row.error if record.row is not None else ""
        return Relisted(as_of_mono=record.as_of_mono, pod=record.row, error=error)

    async def _relist_in_turn(self, only: str, done: asyncio.Future[None]) -> None:
        turn = self._turns.setdefault(only, asyncio.Lock())
        async with turn:
            del self._waiting[only]
            try:
                await self._relist_now(only)
            except OctoletError as error:
                done.set_exception(error)
                done.exception()  # read once here: the askers may all be gone
            else:
                done.set_result(None)
            finally:
                done.cancel()  # of effect only when this task is cancelled

    async def _relist_now(self, only: str) -> None:
        started = time.monotonic()
        pods = await self._runtime.list_pods(only)
        inspections = self._take_in(Listed(started, pods, only))
        turns = asyncio.Semaphore(self._inspect_at_once)
        async with asyncio.TaskGroup() as group:
            for inspection in inspections:
                group.create_task(self._inspect(inspection, turns))
        self._observer.relisted(only, started, time.monotonic())

    async def _inspect(self, action: Inspect, turns: asyncio.Semaphore) -> None:
        """One inspection of a pod at a time: of two that overlap, the later one could show an older state."""
        alone = self._inspecting.setdefault(action.uid, asyncio.Lock())
        async with alone, turns:
            try:
                pod = await self._runtime.inspect_pod(action.listed)
            except OctoletError as error:
                seen = Inspected(action.uid, action.as_of_mono, action.listed, None, str(error))
            else:
                seen = Inspected(action.uid, action.as_of_mono, action.listed, pod)
            self._take_in(seen)

    def _take_in(self, event: Event) -> list[Inspect]:
        """Publish what the event changes; returns the inspections that it asks for."""
        self._view, actions = step(self._view, event)
        for action in actions:
            self._publish(action)
        return [action for action in actions if isinstance(action, Inspect)]

    def _publish(self, action: Action) -> None:
        match action:
            case PutRow(uid, row):
                self._observer.row_changed(uid, self._table.get(uid), row)
                self._table.put(uid, row)
            case DeleteRow(uid):
                self._observer.row_changed(uid, self._table.get(uid), None)
                self._table.delete(uid)
            case Mark(as_of_mono):
                self._table.mark(complete=True, as_of_mono=as_of_mono)
            case Inspect():
                pass
