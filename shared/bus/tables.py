"""The two ends of a table: `OwnedTable` for its one writer, `TableView` for its readers."""

import asyncio
from collections.abc import Callable, ItemsView, Iterable, KeysView, ValuesView
from typing import Generic, TypeVar

from shared.bus.author import caused_by
from shared.bus.core_owner import OwnerTable, Written
from shared.bus.core_replica import Replica
from shared.bus.model import Change, Mark, Outcome
from shared.messages.base import Message, Table

V = TypeVar("V", bound=Message)


class OwnedTable(Generic[V]):
    """A table that this process publishes. Nothing here waits; an operation that changes nothing sends nothing."""

    def __init__(self, core: OwnerTable[V], publish: Callable[[Table[V], Written], None]) -> None:
        self._core = core
        self._publish = publish

    def put(self, key: str, value: V) -> None:
        """Set one row. Raises TypeError for another type than the table's."""
        self._send(self._core.put(key, value))

    def delete(self, key: str) -> None:
        """Remove one row, if it is there."""
        self._send(self._core.delete(key))

    def mark(self, *, complete: bool | None = None, as_of_mono: float | None = None) -> None:
        """Vouch for the table: `complete` says that every key is there, `as_of_mono` how new the observation is.

        What is not given stays as it was. Call it after the rows it vouches for were put.
        """
        said = self._core.said
        self._send(
            self._core.mark(
                Mark(
                    said.complete if complete is None else complete,
                    said.as_of_mono if as_of_mono is None else as_of_mono,
                )
            )
        )

    def replace(self, rows: Iterable[tuple[str, V]]) -> None:
        """Make these the only rows."""
        wanted = dict(rows)
        for key in [key for key in self._core.rows if key not in wanted]:
            self.delete(key)
        for key, value in wanted.items():
            self.put(key, value)

    def get(self, key: str) -> V | None:
        """The row, or None."""
        return self._core.rows.get(key)

    def keys(self) -> KeysView[str]:
        """All keys (a live view)."""
        return self._core.rows.keys()

    def items(self) -> ItemsView[str, V]:
        """All rows (a live view)."""
        return self._core.rows.items()

    def __len__(self) -> int:
        return len(self._core.rows)

    def __contains__(self, key: str) -> bool:
        return key in self._core.rows

    def _send(self, written: Written | None) -> None:
        if written is not None:
            self._publish(self._core.table, written)


class TableView(Generic[V]):
    """A local copy of another daemon's table. Reading never waits and never fails; the rows may be old (see below).

    Rows outlive their owner: while it is away or starting they stay as last known, and vanish only when its new
    generation has said `complete` without them. Absence means nothing unless `complete`.
    """

    def __init__(self, table: Table[V], owner: str, is_connected: Callable[[], bool]) -> None:
        self.table = table
        self.owner = owner
        self._is_connected = is_connected
        self._replica: Replica[V] = Replica()
        self._on_change: list[Callable[[Change[V]], None]] = []
        self._on_mark: list[Callable[[], None]] = []
        self._waiting: list[tuple[Callable[[TableView[V]], bool], asyncio.Future[None]]] = []

    @property
    def replica(self) -> Replica[V]:
        """The state machine below; for the bus itself."""
        return self._replica

    @property
    def complete(self) -> bool:
        """Whether the owner said so in its current generation (the newest one heard of)."""
        return self._replica.complete

    @property
    def as_of_mono(self) -> float:
        """The owner looked at the world no earlier than this (CLOCK_MONOTONIC seconds); 0.0 while not `complete`."""
        return self._replica.as_of_mono

    @property
    def generation(self) -> str | None:
        """The owner's newest generation heard of; None: it was never heard."""
        return self._replica.generation

    @property
    def in_step(self) -> bool:
        """Whether the owner was heard and all it is known to have published is here, vouched for or not."""
        return self._replica.generation is not None and not self._replica.behind

    @property
    def connected(self) -> bool:
        """Whether the owner was heard within the last three heartbeats."""
        return self._is_connected()

    def get(self, key: str) -> V | None:
        """The row, or None."""
        return self._replica.rows.get(key)

    def keys(self) -> KeysView[str]:
        """All keys (a live view: copy before awaiting)."""
        return self._replica.rows.keys()

    def values(self) -> ValuesView[V]:
        """All values (a live view: copy before awaiting)."""
        return self._replica.rows.values()

    def items(self) -> ItemsView[str, V]:
        """All rows (a live view: copy before awaiting)."""
        return self._replica.rows.items()

    def __len__(self) -> int:
        return len(self._replica.rows)

    def __contains__(self, key: str) -> bool:
        return key in self._replica.rows

    def on_change(self, callback: Callable[[Change[V]], None]) -> None:
        """Call it in the loop for each row that changes from now on. It must not wait; what it raises ends the bus.

        When it is called the view already shows everything that came with the same message.
        """
        self._on_change.append(callback)

    def on_mark(self, callback: Callable[[], None]) -> None:
        """Call it after `complete`, `as_of_mono` or `generation` moved, after the changes of the same message."""
        self._on_mark.append(callback)

    async def wait(self, predicate: "Callable[[TableView[V]], bool]", timeout_s: float | None = None) -> bool:
        """Wait until the predicate holds. False: the time is over and it still does not."""
        if predicate(self):
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (predicate, future)
        self._waiting.append(entry)
        try:
            done, _ = await asyncio.wait({future}, timeout=timeout_s)
        finally:
            self._waiting.remove(entry)
            future.cancel()
        return bool(done) or predicate(self)

    def deliver(self, outcome: Outcome[V], cause: str) -> None:
        """Tell readers what one message did; for the bus itself."""
        if not outcome.changes and not outcome.marked:
            return
        with caused_by(cause):
            for change in outcome.changes:
                for callback in tuple(self._on_change):
                    callback(change)
            if outcome.marked:
                for on_mark in tuple(self._on_mark):
                    on_mark()
        self.wake()

    def wake(self) -> None:
        """Look again at what `wait` waits for; for the bus itself."""
        for predicate, future in list(self._waiting):
            if not future.done() and predicate(self):
                future.set_result(None)
