"""What every bus message, table and request is declared with.

A table is keyed state with one writer (its owner); a request is a question that its owner answers. Both are declared
once, in `shared/messages/<owner>.py`, and nowhere else. Decoding is strict on types and tolerant of unknown fields, so
that daemons of two versions can share a bus: new fields get a default, a changed meaning gets a new name.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

import msgspec


class Service(StrEnum):
    """The eight daemons. The same names are used for folders, supervisord programs, bus addresses and logs."""

    POD_SYNC = "pod_sync"
    PLEG = "pleg"
    VOLUME_MANAGER = "volume_manager"
    CONTAINER_MANAGER = "container_manager"
    EVICTION = "eviction"
    PROBER = "prober"
    NODE_STATUS = "node_status"
    SERVER = "server"


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Base of everything that travels on the bus.

    Frozen values that are built from their parts hold no cycles, so the cycle collector need not look at them: with a
    thousand pods in memory that is a third of what it has to walk.
    """


class Empty(Message, frozen=True):
    """A request or a reply without content."""


V = TypeVar("V", bound=Message)
Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)

ANY_OWNER: Final = "*"
"""Owner of tables and requests that every daemon publishes or answers (see `shared.messages.daemon`)."""


@dataclass(frozen=True)
class Table(Generic[V]):
    """A keyed table that `owner` publishes. `key` says what the string keys are, for people and for `octolet tap`."""

    name: str
    key: str
    value: type[V]
    owner: str


@dataclass(frozen=True)
class Request(Generic[Q, R]):
    """A question that `owner` answers. Every request is idempotent: a repeat by key changes nothing more.

    `secret_fields` names reply fields that `octolet tap` must not show.
    """

    name: str
    request: type[Q]
    reply: type[R]
    owner: str
    callers: frozenset[str]
    secret_fields: frozenset[str] = field(default_factory=frozenset)


def encode(message: Message) -> bytes:
    """msgpack bytes of one message."""
    return msgspec.msgpack.encode(message)


def decode(data: bytes | memoryview, kind: type[V]) -> V:
    """The message of that kind. Raises `msgspec.ValidationError` or `msgspec.DecodeError` for foreign bytes."""
    return msgspec.msgpack.decode(data, type=kind)


Raw = dict[str, Any]
"""Decoded JSON or msgpack of no declared shape; only for parts that are passed through unread."""
