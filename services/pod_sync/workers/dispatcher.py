"""Carries out what the pool decides: timers, listings, runs. The only asyncio in this room."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from services.pod_sync.workers.answers import may_run
from services.pod_sync.workers.model import (
    Cancelled,
    CancelRun,
    Decision,
    Event,
    Observe,
    Observed,
    Outcome,
    Record,
    RunEnded,
    StartRun,
    TimerFired,
    Wake,
    Work,
    Worker,
)
from services.pod_sync.workers.pool import Pool, UidAction


@dataclass(frozen=True)
class RunResult:
    """How a run ended, and when its last act on the runtime did (None: there was none)."""

    outcome: Outcome
    acted_mono: float | None = None


class Ports(Protocol):
    """What the dispatcher needs done."""

    async def run(self, uid: str, start: StartRun, cancel: asyncio.Event) -> RunResult:
        """Do one run. `cancel` asks a sync to stop as soon as it may; other runs are cancelled as tasks."""
        ...

    async def observe(self, uid: str, after_mono: float) -> float:
        """Wait for a listing that began after that; when it began."""
        ...

    def record(self, decision: Decision) -> None:
        """Store it before this returns."""
        ...

    def changed(self, uid: str, worker: Worker | None) -> None:
        """The worker is this now; tell the others."""
        ...


@dataclass
class _Run:
    number: int
    work: Work
    cancel: asyncio.Event
    task: asyncio.Task[None] | None = None
    began: bool = False


class Dispatcher:
    """One per process. Each pod's run is a task of its own, so that no pod waits for another."""

    def __init__(
        self,
        pool: Pool,
        ports: Ports,
        *,
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        now: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._pool = pool
        self._ports = ports
        self._start = start
        self._now = now
        self._chance = chance
        self._runs: dict[str, _Run] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._stop_waiters: dict[str, set[asyncio.Future[None]]] = {}
        self._closed = False

    @property
    def pool(self) -> Pool:
        return self._pool

    def feed(self, uid: str, event: Event) -> None:
        """Give the event to the pod's worker and carry out what follows. Never waits."""
        self._feed(uid, event, self._now())

    def close(self) -> None:
        """The process ends: runs that are cancelled from now on were not cancelled by a worker, and record nothing."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()

    def _feed(self, uid: str, event: Event, now: float) -> None:
        self._carry_out({uid}, self._pool.feed(uid, event, now))

    def recall(self, decisions: Iterable[Decision]) -> None:
        """Restore recorded ends; before any source is heard."""
        decisions = list(decisions)
        self._carry_out({d.uid for d in decisions}, self._pool.recall(decisions, self._now()))

    def forget(self, uid: str) -> None:
        """Drop the pod's worker."""
        self._carry_out({uid}, self._pool.forget(uid, self._now()))

    async def wait_stopped(self, uid: str, timeout_s: float) -> bool:
        """Wait until no container of the pod can be running. False: it did not happen in time."""
        if self._is_stopped(uid):
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._stop_waiters.setdefault(uid, set())
        waiters.add(future)
        try:
            await asyncio.wait({future}, timeout=timeout_s)
        finally:
            future.cancel()
            waiters.discard(future)
            if not waiters:
                self._stop_waiters.pop(uid, None)
        return self._is_stopped(uid)

    def _is_stopped(self, uid: str) -> bool:
        worker = self._pool.get(uid)
        return worker is None or not may_run(worker)

    def _carry_out(self, touched: set[str], actions: list[UidAction]) -> None:
        """First what must survive a crash, then what others see, then acts."""
        for _, action in actions:
            if isinstance(action, Record):
                self._ports.record(action.decision)
        for uid in touched | {uid for uid, _ in actions}:
            self._show(uid)
        for uid, action in actions:
            self._act(uid, action)

    def _show(self, uid: str) -> None:
        worker = self._pool.get(uid)
        if worker is None and (timer := self._timers.pop(uid, None)) is not None:
            timer.cancel()
        self._ports.changed(uid, worker)
        if uid in self._stop_waiters and self._is_stopped(uid):
            for future in self._stop_waiters[uid]:
                if not future.done():
                    future.set_result(None)

    def _act(self, uid: str, action: object) -> None:
        match action:
            case StartRun():
                run = self._runs[uid] = _Run(action.number, action.work, asyncio.Event())
                run.task = self._start(self._run(uid, action, run))
            case CancelRun(number=number):
                self._cancel(uid, number)
            case Observe(after_mono=after):
                self._start(self._observe(uid, after))
            case Wake(at_mono=at):
                self._set_timer(uid, at)
            case _:
                pass

    def _cancel(self, uid: str, number: int) -> None:
        run = self._runs.get(uid)
        if run is None or run.number != number:
            return
        run.cancel.set()
        if run.work is not Work.SYNC and run.task is not None and run.began:
            run.task.cancel()  # a task that has not begun would never tell how it ended

    async def _run(self, uid: str, start: StartRun, run: _Run) -> None:
        run.began = True
        try:
            if run.cancel.is_set():
                result = RunResult(Cancelled())
            else:
                result = await self._ports.run(uid, start, run.cancel)
        except asyncio.CancelledError:
            if self._closed or not run.cancel.is_set():
                raise  # the process ends
            result = RunResult(Cancelled(), self._now())
        self._runs.pop(uid, None)
        self.feed(uid, RunEnded(run.number, result.outcome, self._chance(), result.acted_mono))

    async def _observe(self, uid: str, after_mono: float) -> None:
        as_of = await self._ports.observe(uid, after_mono)
        if uid in self._pool.workers:
            self.feed(uid, Observed(as_of))

    def _set_timer(self, uid: str, at_mono: float) -> None:
        if (old := self._timers.pop(uid, None)) is not None:
            old.cancel()
        delay = max(0.0, at_mono - self._now())
        self._timers[uid] = asyncio.get_running_loop().call_later(delay, self._fire, uid, at_mono)

    def _fire(self, uid: str, at_mono: float) -> None:
        self._timers.pop(uid, None)
        if uid in self._pool.workers:
            self._feed(uid, TimerFired(), max(self._now(), at_mono))  # the loop's clock may be a tick ahead
