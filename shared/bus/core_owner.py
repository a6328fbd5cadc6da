"""The owner's side of one table: numbers every operation and keeps each row encoded. Pure.

A row is encoded once, when it is put; deltas and snapshots send those bytes. A snapshot is a list of chunks, each a
msgpack array of `[key, row]`, made at most once per operation number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import msgspec

from shared.bus.model import Mark
from shared.messages.base import Message, Table, encode

V = TypeVar("V", bound=Message)

CHUNK_BYTES: Final = 1024 * 1024
"""a snapshot chunk is closed when it has grown past this; far below the receivers' limit of one frame"""


@dataclass(frozen=True, slots=True)
class Written:
    """One numbered operation to publish: a put (`row` set), a delete (neither set) or a mark."""

    seq: int
    key: str = ""
    row: bytes | None = None
    mark: Mark | None = None


class OwnerTable(Generic[V]):
    """One table as its owner holds it. An operation that changes nothing returns None and takes no number."""

    def __init__(self, table: Table[V]) -> None:
        self.table = table
        self.rows: dict[str, V] = {}
        self.seq = 0
        self.said = Mark(complete=False, as_of_mono=0.0)
        self._encoded: dict[str, bytes] = {}
        self._chunks: list[bytes] | None = None

    def put(self, key: str, value: V) -> Written | None:
        """Set one row. Raises TypeError for a value or a key of another type than declared."""
        if not isinstance(value, self.table.value) or not isinstance(key, str):
            raise TypeError(f"put {type(value).__name__} at {key!r} (table {self.table.name})")
        old = self.rows.get(key)
        if old is value or (old is not None and old == value):
            return None
        row = encode(value)
        self.rows[key] = value
        self._encoded[key] = row
        return Written(self._next(), key=key, row=row)

    def delete(self, key: str) -> Written | None:
        """Remove one row; no such row is no operation."""
        if self.rows.pop(key, None) is None:
            return None
        del self._encoded[key]
        return Written(self._next(), key=key)

    def mark(self, mark: Mark) -> Written | None:
        """Vouch for the table as a whole."""
        if mark == self.said:
            return None
        self.said = mark
        return Written(self._next(), mark=mark)

    def chunks(self) -> list[bytes]:
        """The rows as snapshot chunks (see the module's text)."""
        if self._chunks is None:
            self._chunks = list(self._build_chunks())
        return self._chunks

    def forget_chunks(self) -> None:
        """Give back the memory of `chunks`, which are only needed while several subscribers come at once."""
        self._chunks = None

    def _next(self) -> int:
        self._chunks = None
        self.seq += 1
        return self.seq

    def _build_chunks(self) -> Iterator[bytes]:
        part: list[tuple[str, msgspec.Raw]] = []
        size = 0
        for key, row in self._encoded.items():
            part.append((key, msgspec.Raw(row)))
            size += len(row)
            if size >= CHUNK_BYTES:
                yield msgspec.msgpack.encode(part)
                part, size = [], 0
        if part:
            yield msgspec.msgpack.encode(part)
