"""The frames on the bus.

Published:        topic | Envelope | head | body
DEALER, ROUTER:           Envelope | head | body ...

| kind | topic | head | body | direction |
| --- | --- | --- | --- | --- |
| put | table | key (UTF-8) | row | owner publishes |
| delete | table | key (UTF-8) | - | owner publishes |
| mark | table | `MarkHead` | - | owner publishes |
| beat | `beat/` | map table -> last seq | - | owner publishes |
| trace | `trace/` | `Trace` | - | owner publishes, only while somebody subscribes to it |
| fetch | - | - | - | subscriber asks |
| snapshot | - | `MarkHead` | chunks of rows | owner replies to fetch |
| absent | - | - | - | owner replies to fetch of a table it does not own (yet) |
| call | - | `CallHead` | request | caller asks |
| reply | - | - | reply | owner replies to call |
| error | - | `ErrorHead` | - | owner replies to call |

A reply's `cause` is the id of the call. Structs are msgpack arrays; new fields go to the end with a default, and unknown
ones at the end are ignored. Anything else raises `Garbage`, which receivers count and drop.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, TypeVar

import msgspec

from shared.errors import Conflict, Fatal, Invalid, NotFound, OctoletError, StaleGeneration, Transient, Unsupported

VERSION: Final = 1
BEAT_TOPIC: Final = b"beat/"
TRACE_TOPIC: Final = b"trace/"
TABLE_TOPICS: Final = b"table/"


class Garbage(Exception):
    """Bytes that are no message of this bus."""


class Kind(IntEnum):
    """What a message is; see the table above."""

    PUT = 1
    DELETE = 2
    MARK = 3
    BEAT = 4
    TRACE = 5
    FETCH = 6
    SNAPSHOT = 7
    ABSENT = 8
    CALL = 9
    REPLY = 10
    ERROR = 11


class Envelope(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Written by the bus only, on every message.

    `name` is the table or request, `seq` the operation number for table messages (else 0), `cause` the id of the
    message that caused this one, `sent_at_mono` CLOCK_MONOTONIC seconds.
    """

    version: int
    kind: Kind
    name: str
    id: str
    sender: str
    generation: str
    seq: int
    cause: str
    sent_at_mono: float


class MarkHead(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What the owner vouches for (see `shared.bus.model.Mark`)."""

    complete: bool
    as_of_mono: float


class CallHead(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Which life of the answerer a request is meant for, and until when it is worth answering."""

    generation: str
    deadline_mono: float


class ErrorHead(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An error by its class name in `shared.errors`."""

    error: str
    text: str


class Trace(msgspec.Struct, frozen=True, gc=False):
    """A request or its answer, for people (`octolet tap`). `body` is msgpack without the fields marked secret.

    `phase` is request, reply, error or dropped; `text` says why for the last two; `took_s` is the answerer's own time;
    `cause` is what made the caller ask.
    """

    phase: str
    caller: str
    call_id: str
    body: bytes = b""
    text: str = ""
    took_s: float = 0.0
    cause: str = ""


S = TypeVar("S")
_encode = msgspec.msgpack.Encoder().encode
_envelope = msgspec.msgpack.Decoder(Envelope)
_beat = msgspec.msgpack.Decoder(dict[str, int])
_mark = msgspec.msgpack.Decoder(MarkHead)
_call = msgspec.msgpack.Decoder(CallHead)
_error = msgspec.msgpack.Decoder(ErrorHead)
_trace = msgspec.msgpack.Decoder(Trace)
_rows = msgspec.msgpack.Decoder(list[tuple[str, msgspec.Raw]])

ERRORS: Final[dict[str, type[OctoletError]]] = {
    kind.__name__: kind
    for kind in (Transient, StaleGeneration, Conflict, NotFound, Invalid, Unsupported, Fatal, OctoletError)
}


def table_topic(name: str) -> bytes:
    """The topic of one table. Ends with a slash, because topics match by prefix."""
    return b"table/%b/" % name.encode()


def pack(struct: msgspec.Struct | dict[str, int]) -> bytes:
    """msgpack bytes of an envelope or a head."""
    return _encode(struct)


def _decode(decoder: msgspec.msgpack.Decoder[S], frames: Sequence[bytes], index: int) -> S:
    try:
        return decoder.decode(frames[index])
    except (IndexError, ValueError, RecursionError) as error:  # msgspec's errors and UnicodeDecodeError are ValueErrors
        raise Garbage(str(error)) from error


def read_envelope(frames: Sequence[bytes], index: int = 0) -> Envelope:
    """The envelope at that frame. Raises Garbage, also for another version of the format."""
    envelope = _decode(_envelope, frames, index)
    if envelope.version != VERSION:
        raise Garbage(f"format version {envelope.version}")
    return envelope


def read_key(frames: Sequence[bytes], index: int) -> str:
    """The key of a put or delete."""
    try:
        return frames[index].decode()
    except (IndexError, ValueError) as error:
        raise Garbage(str(error)) from error


def read_beat(frames: Sequence[bytes], index: int) -> dict[str, int]:
    """Last operation number by table."""
    return _decode(_beat, frames, index)


def read_mark(frames: Sequence[bytes], index: int) -> MarkHead:
    """The head of a mark or snapshot."""
    return _decode(_mark, frames, index)


def read_call(frames: Sequence[bytes], index: int) -> CallHead:
    """The head of a call."""
    return _decode(_call, frames, index)


def read_error(frames: Sequence[bytes], index: int) -> ErrorHead:
    """The head of an error."""
    return _decode(_error, frames, index)


def read_trace(frames: Sequence[bytes], index: int) -> Trace:
    """The head of a trace."""
    return _decode(_trace, frames, index)


def read_rows(chunk: bytes) -> list[tuple[str, msgspec.Raw]]:
    """The rows of one snapshot chunk, each still encoded."""
    return _decode(_rows, (chunk,), 0)


def read_body(frames: Sequence[bytes], index: int) -> bytes:
    """The bytes of a row, request or reply."""
    try:
        return frames[index]
    except IndexError as error:
        raise Garbage("a frame is missing") from error


def error_head(error: OctoletError) -> ErrorHead:
    """An error to send: its own class, or the nearest base that every daemon knows."""
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in ERRORS), OctoletError.__name__)
    return ErrorHead(name, str(error))


def error_from(head: ErrorHead) -> OctoletError:
    """The error to raise at the caller; a class of a later version becomes a plain OctoletError."""
    return ERRORS.get(head.error, OctoletError)(head.text)
