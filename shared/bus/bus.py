"""One daemon's place on the bus."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import zmq

from shared.bus.author import Author
from shared.bus.endpoints import bus_dir
from shared.bus.link import Link
from shared.bus.publisher import Call, Publisher
from shared.bus.stats import BusStats
from shared.bus.tables import OwnedTable, TableView
from shared.messages.base import ANY_OWNER, Message, Request, Table

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)
V = TypeVar("V", bound=Message)

BEAT_S: Final = 1.0
"""heartbeat period: how long a lost last message may stay unnoticed"""


class Bus:
    """Owns, follows, answers and calls for one service. No I/O until entered; use in one event loop only.

    While entered it holds the service's two sockets. An unexpected exception in a handler or a reader's callback cancels
    the body of `async with` and comes out of it in an ExceptionGroup. `bind=False`: a guest (a command line tool) that
    follows and calls, but owns and answers nothing.
    """

    def __init__(self, service: str, run_dir: Path, *, bind: bool = True) -> None:
        self.service = service
        self.run_dir = run_dir
        self.stats = BusStats()
        self._bind = bind
        self._author = Author(service)
        self._links: dict[str, Link] = {}
        self._publisher = Publisher(self._author, self.stats, self._start)
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._group: asyncio.TaskGroup | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def generation(self) -> str:
        """The name of this life of the service; later lives have greater names."""
        return self._author.generation

    @property
    def traced(self) -> bool:
        """Whether somebody watches the requests answered here (see `shared.bus.tap`)."""
        return self._publisher.traced

    async def __aenter__(self) -> Self:
        folder = bus_dir(self.run_dir)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._loop = asyncio.get_running_loop()
        self._failure: asyncio.Future[None] = self._loop.create_future()
        self._context = zmq.Context(io_threads=1)
        try:
            if self._bind:
                self._publisher.open(self._context, self.run_dir, self._fail)
            for link in self._links.values():
                link.open(self._context, self.run_dir, self._fail)
        except BaseException:
            self._close()
            raise
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._start(self._guard())
        self._tick()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._group is not None
        for task in list(self._tasks):
            task.cancel()
        try:
            await self._group.__aexit__(kind, error, traceback)
        except BaseExceptionGroup as group:
            if group.exceptions != (error,):  # else no task failed: the body's own error goes on as it is
                raise
        finally:
            self._close()

    def own(self, table: Table[V]) -> OwnedTable[V]:
        """Publish a table as its one writer. Raises ValueError for another service's table or a second time."""
        return self._publisher.own(table)

    def follow(self, table: Table[V], owner: str | None = None) -> TableView[V]:
        """A local copy of a table, kept up to date; the same one for each call. `owner` only for ANY_OWNER tables."""
        return self._link(_owner(table.name, table.owner, owner)).follow(table)

    def answer(self, request: Request[Q, R], handler: Callable[[Q, Call], Awaitable[R]]) -> None:
        """Answer a request with that coroutine function, once for each call, as a task of its own.

        Only the declared callers are let through. It is cancelled at the call's deadline (work that must go on belongs
        into a task of the service), may run again for the same call, and reports with the classes of `shared.errors`,
        which are raised at the caller; anything else ends the bus.
        """
        self._publisher.answer(request, handler)

    async def call(self, request: Request[Q, R], message: Q, timeout_s: float = 5.0, *, owner: str | None = None) -> R:
        """Ask the request's owner and wait for its answer, across restarts of it, until the deadline.

        Raises what the handler raised (by class), Transient when there is no answer in time, StaleGeneration when the
        owner was restarted meanwhile and did not answer either, Invalid when this service may not ask or the answer
        cannot be read.
        """
        return await self._link(_owner(request.name, request.owner, owner)).call(request, message, timeout_s)

    def _link(self, owner: str) -> Link:
        link = self._links.get(owner)
        if link is None:
            link = self._links[owner] = Link(owner, self._author, self.stats)
            if self._context is not None:
                link.open(self._context, self.run_dir, self._fail)
        return link

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        assert self._group is not None
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _fail(self, error: BaseException) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)

    async def _guard(self) -> None:
        await self._failure

    def _tick(self) -> None:
        self._timer = self._loop.call_at(next_beat_mono(self._loop.time()), self._tick)
        try:
            if self._bind:
                self._publisher.tick()
            for link in list(self._links.values()):
                link.tick()
        except Exception as error:
            self._fail(error)

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for link in self._links.values():
            link.close()
        self._publisher.close()
        if self._context is not None:
            self._context.destroy(linger=0)
            self._context = None
        if not self._failure.cancel() and not self._failure.cancelled():
            self._failure.exception()  # the guard has raised it, or the body's own error is on its way already


def next_beat_mono(now_mono: float) -> float:
    """The next whole second of CLOCK_MONOTONIC, the same moment in every process.

    Daemons that beat together wake each other once or twice a second instead of once for each peer; waking is what an
    idle daemon costs (measured for eight: 0.9 instead of 1.7 % of a core).
    """
    return (now_mono // BEAT_S + 1) * BEAT_S


def _owner(name: str, declared: str, given: str | None) -> str:
    if declared == ANY_OWNER:
        if given is None:
            raise ValueError(f"{name}: every daemon has one, say whose")
        return given
    if given not in (None, declared):
        raise ValueError(f"{name}: its owner is {declared}, not {given}")
    return declared
