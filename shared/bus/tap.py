"""Watching everything that the daemons say to each other.

Tables are published anyway; requests and replies are published in short form only while a tap is listening, and without
the fields marked secret, which therefore never reach a tap at all.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import zmq

from shared.bus import wire
from shared.bus.endpoints import Socket, endpoint
from shared.bus.port import Port, configure
from shared.bus.stats import BusStats
from shared.messages.base import Service

MAX_WAITING: Final = 10_000
"""messages kept for a reader that is slower than the bus; the rest is counted in `Tap.lost`"""
MAX_CAUSES: Final = 50_000
"""message ids remembered, to say how long after its cause a message was sent"""


@dataclass(frozen=True, slots=True)
class Tapped:
    """One message. Times are CLOCK_MONOTONIC seconds.

    `kind` is put, delete, mark, beat, request, reply, error or dropped. `content` is the decoded row, mark or body.
    `after_cause_s` is the time from the sending of the message that caused this one (None: that was not seen);
    `took_s` the answerer's own time, for replies and errors. `caller` is set for requests and their answers.
    """

    kind: str
    owner: str
    name: str
    id: str
    cause: str
    generation: str
    sent_at_mono: float
    latency_s: float
    after_cause_s: float | None = None
    seq: int = 0
    key: str = ""
    content: Any = None
    caller: str = ""
    text: str = ""
    took_s: float = 0.0


class Tap:
    """An asynchronous iterator over the messages of all services (or the given ones) from now on, while entered."""

    def __init__(self, run_dir: Path, services: Iterable[str] | None = None, *, beats: bool = False) -> None:
        self.lost = 0
        """messages that came faster than they were read"""
        self.stats = BusStats()
        self._run_dir = run_dir
        self._services = [str(service) for service in (Service if services is None else services)]
        self._topics = [wire.TABLE_TOPICS, wire.TRACE_TOPIC, *([wire.BEAT_TOPIC] if beats else [])]
        self._sent_mono: OrderedDict[str, float] = OrderedDict()
        self._ports: list[Port] = []

    async def __aenter__(self) -> Self:
        self._queue: asyncio.Queue[Tapped | BaseException] = asyncio.Queue()
        self._context = zmq.Context(io_threads=1)
        for service in self._services:
            socket = self._context.socket(zmq.SUB)
            configure(socket)
            for topic in self._topics:
                socket.setsockopt(zmq.SUBSCRIBE, topic)
            socket.connect(endpoint(self._run_dir, service, Socket.PUBLISH))
            self._ports.append(Port(socket, self._on_message, on_failure=self._queue.put_nowait))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for port in self._ports:
            port.close()
        self._context.destroy(linger=0)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Tapped:
        item = await self._queue.get()
        if isinstance(item, BaseException):
            raise item
        return item

    def _on_message(self, frames: list[bytes]) -> None:
        if self._queue.qsize() >= MAX_WAITING:
            self.lost += 1
            return
        try:
            tapped = self._read(frames, time.monotonic())
        except wire.Garbage as error:
            self.stats.drop("garbage", "unknown", detail=str(error))
            return
        self._queue.put_nowait(tapped)

    def _read(self, frames: list[bytes], now: float) -> Tapped:
        envelope = wire.read_envelope(frames, 1)
        common: dict[str, Any] = {
            "owner": envelope.sender,
            "name": envelope.name,
            "id": envelope.id,
            "cause": envelope.cause,
            "generation": envelope.generation,
            "seq": envelope.seq,
            "sent_at_mono": envelope.sent_at_mono,
            "latency_s": now - envelope.sent_at_mono,
        }
        match envelope.kind:
            case wire.Kind.PUT:
                row = _plain(wire.read_body(frames, 3))
                tapped = Tapped("put", key=wire.read_key(frames, 2), content=row, **self._caused(common))
            case wire.Kind.DELETE:
                tapped = Tapped("delete", key=wire.read_key(frames, 2), **self._caused(common))
            case wire.Kind.MARK:
                mark = msgspec.structs.asdict(wire.read_mark(frames, 2))
                tapped = Tapped("mark", content=mark, **self._caused(common))
            case wire.Kind.BEAT:
                return Tapped("beat", content=wire.read_beat(frames, 2), **common)
            case wire.Kind.TRACE:
                return self._read_trace(wire.read_trace(frames, 2), common)
            case _:
                raise wire.Garbage(f"{envelope.kind.name} is never published")
        self._remember(envelope.id, envelope.sent_at_mono)
        return tapped

    def _read_trace(self, trace: wire.Trace, common: dict[str, Any]) -> Tapped:
        """A request's own id is the call's; what the owner does for it names that id as its cause."""
        if trace.phase == "request":
            self._remember(trace.call_id, common["sent_at_mono"])
            common["id"], common["cause"] = trace.call_id, trace.cause
        content = _plain(trace.body) if trace.body else None
        return Tapped(
            trace.phase,
            caller=trace.caller,
            content=content,
            text=trace.text,
            took_s=trace.took_s,
            **self._caused(common),
        )

    def _caused(self, common: dict[str, Any]) -> dict[str, Any]:
        sent = self._sent_mono.get(common["cause"])
        return common | {"after_cause_s": None if sent is None else common["sent_at_mono"] - sent}

    def _remember(self, message_id: str, sent_at_mono: float) -> None:
        self._sent_mono[message_id] = sent_at_mono
        while len(self._sent_mono) > MAX_CAUSES:
            self._sent_mono.popitem(last=False)


def _plain(data: bytes) -> Any:
    try:
        return msgspec.msgpack.decode(data)
    except (msgspec.DecodeError, ValueError) as error:
        raise wire.Garbage(str(error)) from error
