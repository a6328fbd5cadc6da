"""What the pure parts of the bus work with: one operation on a table, a snapshot of it, and what a reader sees change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Put(Generic[T]):
    """The row at `key` is now `value`."""

    key: str
    value: T


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The owner put a row at `key` that this process cannot decode (an owner of another version, or a bug)."""

    key: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The row at `key` is gone."""

    key: str


@dataclass(frozen=True, slots=True)
class Mark:
    """The owner vouches for its table as a whole.

    `complete`: every key that should be there is there. `as_of_mono`: the world was looked at no earlier than this
    (CLOCK_MONOTONIC seconds), and everything seen is in the rows before this mark.
    """

    complete: bool
    as_of_mono: float


Operation = Put[T] | Unreadable | Delete | Mark


@dataclass(frozen=True, slots=True)
class Delta(Generic[T]):
    """Operation number `seq` (from 1) of one table in one generation of its owner; `cause` is its message id."""

    generation: str
    seq: int
    operation: Operation[T]
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[T]):
    """A table as it was after operation number `seq` of that generation."""

    generation: str
    seq: int
    complete: bool
    as_of_mono: float
    rows: Mapping[str, T]
    unreadable: frozenset[str] = field(default_factory=frozenset)
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One row as a reader sees it change. `old` None: it is new; `new` None: it is gone.

    `cause` is the id of the message that brought it.
    """

    key: str
    old: T | None
    new: T | None
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What one message did to a replica; `marked`: generation, `complete` or `as_of_mono` moved."""

    changes: tuple[Change[T], ...] = ()
    marked: bool = False
