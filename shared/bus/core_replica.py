"""A subscriber's copy of one table: when to fetch a snapshot, what to apply, what to drop. Pure.

    behind: heard > seq                 in step: heard == seq
    ┌───────────────────────┐  snapshot ┌──────────────────┐
    │ hold early deltas,    │──────────▶│ apply delta seq+1│
    │ ask for a snapshot    │◀──────────│                  │
    └───────────────────────┘    gap    └──────────────────┘
              ▲  a newer generation: seq = 0, old rows become "inherited", nothing is vouched for
              └───────────────────────────────── from anywhere

Every generation starts with operation number 0 (an empty table), so a new generation needs no case of its own: whoever
has heard a number above its own is behind and asks for a snapshot. Generations are ordered (see
`shared.bus.endpoints.new_generation`), so a message of a dead one is known to be late and dropped.

Rows outlive their owner: rows of an older generation stay, as inherited, until the current one puts or deletes them, or
says `complete` without them. `complete` and `as_of_mono` are shown only while they are said by the newest generation
heard of and every row before them was applied and could be read; else they are False and 0.0.

The pattern is that of Kubernetes' list and watch, and of the zguide's Clone. A replica is one mutable object, because
copying a thousand rows for each delta would be the largest cost of the bus; it never looks at a clock.
"""

from typing import Final, Generic, TypeVar

from shared.bus.model import Change, Delete, Delta, Mark, Operation, Outcome, Put, Snapshot, Unreadable

T = TypeVar("T")

MAX_EARLY: Final = 4096
"""deltas held while a snapshot is on its way; with more, the snapshot is fetched again instead"""
FETCH_RETRY_S: Final = 0.5
"""first wait for a snapshot before it is asked for again; doubles with each attempt"""
FETCH_RETRY_MAX_S: Final = 4.0
FETCH_PAUSE_S: Final = 0.1
"""least time between a snapshot and the next, so that a slow reader does not spend its life on snapshots"""


class Replica(Generic[T]):
    """One table of one owner as a subscriber holds it."""

    def __init__(self) -> None:
        self.rows: dict[str, T] = {}
        self.generation: str | None = None
        """the newest generation heard of; None: the owner was never heard"""
        self.seq = 0
        """number of the last operation applied, in that generation"""
        self._heard = 0
        self._said = Mark(complete=False, as_of_mono=0.0)
        self._inherited: set[str] = set()
        self._unreadable: set[str] = set()
        self._early: dict[int, Delta[T]] = {}
        self._attempts = 0
        self._not_before_mono = 0.0

    @property
    def complete(self) -> bool:
        """Whether the newest generation vouched for the whole table, and all of it is here and readable."""
        return self._said.complete and not self._unreadable

    @property
    def as_of_mono(self) -> float:
        """The owner's own `as_of_mono`; 0.0 while not `complete`."""
        return self._said.as_of_mono if self.complete else 0.0

    @property
    def behind(self) -> bool:
        """Whether operations are known to exist that are not applied yet."""
        return self._heard > self.seq

    @property
    def held(self) -> int:
        """How many deltas wait for a snapshot; at most `MAX_EARLY`."""
        return len(self._early)

    def hear(self, generation: str, seq: int | None) -> Outcome[T]:
        """The owner says that its last operation on this table was `seq` (None: it does not own the table yet)."""
        before = self._vouched()
        if self._enter(generation) and seq is not None:
            self._heard = max(self._heard, seq)
        return self._outcome(before, [])

    def receive(self, delta: Delta[T]) -> Outcome[T]:
        """One operation came in, in any order, any number of times."""
        before = self._vouched()
        changes: list[Change[T]] = []
        if self._enter(delta.generation) and delta.seq > self.seq:
            self._heard = max(self._heard, delta.seq)
            if len(self._early) >= MAX_EARLY:
                self._early.clear()
            self._early[delta.seq] = delta
            self._apply_early(changes)
        return self._outcome(before, changes)

    def restore(self, snapshot: Snapshot[T], now_mono: float) -> Outcome[T]:
        """A snapshot came in: only real differences become changes. An older one than what is here does nothing."""
        before = self._vouched()
        changes: list[Change[T]] = []
        if self._enter(snapshot.generation):
            self._attempts = 0
            self._not_before_mono = now_mono + FETCH_PAUSE_S
            self._heard = max(self._heard, snapshot.seq)
            if snapshot.seq > self.seq:
                self._replace(snapshot, changes)
                self._early = {seq: delta for seq, delta in self._early.items() if seq > self.seq}
                self._apply_early(changes)
        return self._outcome(before, changes)

    def fetch_at_mono(self) -> float | None:
        """When to ask the owner for a snapshot; None: no need."""
        return self._not_before_mono if self.behind else None

    def asked(self, now_mono: float) -> None:
        """A snapshot was asked for: wait for it before asking again."""
        self._not_before_mono = now_mono + min(FETCH_RETRY_S * 2.0**self._attempts, FETCH_RETRY_MAX_S)
        self._attempts = min(self._attempts + 1, 10)

    def _enter(self, generation: str) -> bool:
        """Turn to that generation if it is newer. False: it is an older one, drop the message."""
        if self.generation is not None and generation <= self.generation:
            return generation == self.generation
        self.generation = generation
        self.seq = self._heard = 0
        self._said = Mark(complete=False, as_of_mono=0.0)
        self._inherited = set(self.rows)
        self._unreadable.clear()
        self._early.clear()
        self._attempts = 0
        self._not_before_mono = 0.0
        return True

    def _apply_early(self, changes: list[Change[T]]) -> None:
        while (delta := self._early.pop(self.seq + 1, None)) is not None:
            self._apply(delta.operation, delta.cause, changes)
            self.seq = delta.seq

    def _apply(self, operation: Operation[T], cause: str, changes: list[Change[T]]) -> None:
        match operation:
            case Put(key=key, value=value):
                self._put(key, value, cause, changes)
            case Unreadable(key=key):
                self._inherited.discard(key)
                self._unreadable.add(key)
            case Delete(key=key):
                self._delete(key, cause, changes)
            case Mark():
                self._mark(operation, cause, changes)

    def _put(self, key: str, value: T, cause: str, changes: list[Change[T]]) -> None:
        self._inherited.discard(key)
        self._unreadable.discard(key)
        old = self.rows.get(key)
        self.rows[key] = value
        if old != value:
            changes.append(Change(key, old, value, cause))

    def _delete(self, key: str, cause: str, changes: list[Change[T]]) -> None:
        self._inherited.discard(key)
        self._unreadable.discard(key)
        old = self.rows.pop(key, None)
        if old is not None:
            changes.append(Change(key, old, None, cause))

    def _mark(self, mark: Mark, cause: str, changes: list[Change[T]]) -> None:
        self._said = mark
        if mark.complete:
            for key in sorted(self._inherited):
                self._delete(key, cause, changes)

    def _replace(self, snapshot: Snapshot[T], changes: list[Change[T]]) -> None:
        for key, value in snapshot.rows.items():
            self._put(key, value, snapshot.cause, changes)
        self._unreadable = set(snapshot.unreadable)
        self._inherited -= self._unreadable
        present = self._inherited | self._unreadable
        for key in [key for key in self.rows if key not in snapshot.rows and key not in present]:
            self._delete(key, snapshot.cause, changes)
        self.seq = snapshot.seq
        self._mark(Mark(snapshot.complete, snapshot.as_of_mono), snapshot.cause, changes)

    def _vouched(self) -> tuple[str | None, bool, float]:
        return self.generation, self.complete, self.as_of_mono

    def _outcome(self, before: tuple[str | None, bool, float], changes: list[Change[T]]) -> Outcome[T]:
        return Outcome(tuple(changes), marked=before != self._vouched())
