"""What the scaffold gives to a daemon's `serve`."""

import asyncio
import functools
import gc
import importlib.metadata
import itertools
import os
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry
from structlog.typing import FilteringBoundLogger

from shared.bus import Bus, Call
from shared.messages.base import Empty
from shared.messages.daemon import DAEMON, EVENTS, METRICS, DaemonState, EventRecord, MetricsText, ObjectReference
from shared.telemetry.log import get_logger
from shared.telemetry.metrics import ServiceCollector, text_of
from shared.telemetry.repeats import Repeats

S = TypeVar("S")

MAX_EVENTS: Final = 500
"""Kubernetes Events kept in the `events` table; the oldest make room. node_status posts them within seconds"""
EVENT_TYPES: Final = ("Normal", "Warning")
START_S: Final = 3.0
"""for so long after its start a daemon only waits for its peers, which start at the same time"""
REPEAT_S: Final = 600.0
"""an event that says what was said within this time is logged at debug: back-offs and failing probes go on for hours"""


class TaskReturned(Exception):
    """A task that should run as long as its process has returned. That is as wrong as an exception."""


class Context(Generic[S]):
    """One daemon's surroundings: settings, an entered bus, logger, metrics registry, tasks, and the stop signal."""

    def __init__(self, name: str, settings: S, bus: Bus, tasks: asyncio.TaskGroup) -> None:
        self.name = name
        self.settings = settings
        self.bus = bus
        self.run_dir: Path = bus.run_dir
        self.tasks = tasks
        self.stopping = asyncio.Event()
        self.log: FilteringBoundLogger = get_logger(service=name, generation=bus.generation)
        self.registry = CollectorRegistry()
        self.registry.register(ServiceCollector(name, bus.stats))
        self._spawned: set[asyncio.Task[None]] = set()
        self._ready = False
        self._degraded: dict[str, str] = {}
        self._started_at_mono = time.monotonic()
        self._version = version()
        self._daemon = bus.own(DAEMON)
        self._events = bus.own(EVENTS)
        self._event_numbers = itertools.count(1)
        self._told = Repeats(REPEAT_S)
        bus.answer(METRICS, self._handle_metrics)
        self._publish_state()
        self._daemon.mark(complete=True)
        self._events.mark(complete=True)

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Run a task for as long as the process; when it returns or raises before `stopping`, the process ends.

        For work that ends by itself use `tasks.create_task`.
        """
        task = self.tasks.create_task(self._guard(name, work), name=name)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        task.add_done_callback(lambda _: work.close())  # cancelled before its first step, it was never begun
        return task

    def ready(self) -> None:
        """Say once that own state is rebuilt from world and disk and own tables are out. A repeat does nothing."""
        if not self._ready:
            self._ready = True
            self._publish_state()
            self.log.info("service.became_ready", after_s=round(time.monotonic() - self._started_at_mono, 3))
            gc.freeze()  # what is here now stays: later collections need not look at it

    def degraded(self, key: str, text: str | None) -> None:
        """A dependency is away (one clear sentence), or back (None). `key` names it; a repeat does nothing."""
        if self._degraded.get(key) == text:
            return
        if text is None:
            del self._degraded[key]
            self.log.info("dependency.recovered", dependency=key)
        else:
            self._degraded[key] = text
            if time.monotonic() - self._started_at_mono < START_S:
                self.log.info("dependency.awaited", dependency=key, text=text)  # all start at once: it was never lost
            else:
                self.log.warning("dependency.lost", dependency=key, text=text)
        self._publish_state()

    def event(
        self,
        ref: ObjectReference,
        type: str,
        reason: str,
        message: str,
        annotations: dict[str, str] | None = None,
    ) -> None:
        """Have a Kubernetes Event posted, and logged for a node that has nowhere to post it.

        `type` is Normal or Warning; raises ValueError for another. Rows are keyed `<generation>.<number>`, which is
        unique on this node, and bounded (`MAX_EVENTS`).
        """
        if type not in EVENT_TYPES:
            raise ValueError(f"event type {type!r}")
        record = EventRecord(
            involved_object=ref,
            type=type,
            reason=reason,
            message=message,
            at=time.time(),
            annotations=annotations or {},
        )
        self._events.put(f"{self.bus.generation}.{next(self._event_numbers):06d}", record)
        while len(self._events) > MAX_EVENTS:
            self._events.delete(next(iter(self._events.keys())))
        self._log_event(record)

    def stop_spawned(self) -> None:
        """Cancel what `spawn` started; the scaffold does this after `serve` returned."""
        for task in list(self._spawned):
            task.cancel()

    def _log_event(self, record: EventRecord) -> None:
        about = record.involved_object
        if self._told.is_repeat((about.uid, about.field_path, record.reason, record.message), time.monotonic()):
            say = self.log.debug
        else:
            say = self.log.info if record.type == "Normal" else self.log.warning
        name = f"{about.namespace}/{about.name}" if about.namespace else about.name
        part = {"part": about.field_path} if about.field_path else {}
        say("event.recorded", object=f"{about.kind} {name}", **part, reason=record.reason, message=record.message)

    async def _guard(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        await work
        if not self.stopping.is_set():
            raise TaskReturned(f"task {name} of {self.name} returned")

    async def _handle_metrics(self, question: Empty, call: Call) -> MetricsText:
        return MetricsText(text=text_of(self.registry))

    def _publish_state(self) -> None:
        state = DaemonState(
            ready=self._ready,
            pid=os.getpid(),
            started_at_mono=self._started_at_mono,
            version=self._version,
            degraded=[self._degraded[key] for key in sorted(self._degraded)],
        )
        self._daemon.put(self.name, state)


@asynccontextmanager
async def open_context(name: str, settings: S, run_dir: Path) -> AsyncIterator[Context[S]]:
    """A context with its bus entered, for `main` and for tests. Leaving it cancels spawned tasks and closes the bus.

    The caller holds the service's lock. An unexpected exception in a task, a request handler or a reader's callback
    cancels the body and comes out in an ExceptionGroup.
    """
    body: BaseException | None = None
    try:
        async with Bus(name, run_dir) as bus, asyncio.TaskGroup() as tasks:
            context = Context(name, settings, bus, tasks)
            try:
                yield context
            except BaseException as error:
                body = error
                raise
            finally:
                context.stop_spawned()
    except BaseExceptionGroup as group:
        if body is not None and group.exceptions == (body,):  # no task failed: the body's own error goes on as it is
            raise body from body.__cause__
        raise


@functools.cache
def version() -> str:
    """octolet's version. Kept: to find it, `importlib.metadata` looks through all packages that are installed."""
    try:
        return importlib.metadata.version("octolet")
    except importlib.metadata.PackageNotFoundError:  # run from a source folder
        return "source"
