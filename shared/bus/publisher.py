"""The owner's sockets: an XPUB for tables, beats and traces, a ROUTER that answers snapshots and requests."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import zmq

from shared.bus import wire
from shared.bus.author import CAUSE, Author
from shared.bus.core_calls import Answerer, Incoming, Verdict, judge
from shared.bus.core_owner import OwnerTable, Written
from shared.bus.endpoints import Socket, endpoint
from shared.bus.port import Port, Sent, configure
from shared.bus.stats import BusStats
from shared.bus.tables import OwnedTable
from shared.bus.traces import shown
from shared.errors import Invalid, OctoletError, Transient, Unsupported
from shared.messages.base import Message, Request, Table, decode, encode

V = TypeVar("V", bound=Message)

MAX_RUNNING: Final = 1024
"""requests carried out at the same time; more are refused with Transient (a shutdown ends all pods at once)"""


@dataclass(frozen=True, slots=True)
class Call:
    """One request as its handler sees it: who asks, until when (CLOCK_MONOTONIC seconds), and the message's id."""

    caller: str
    deadline_mono: float
    id: str


Handler = Callable[[Any, Call], Awaitable[Message]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Publisher:
    """What one process owns and answers."""

    def __init__(self, author: Author, stats: BusStats, spawn: Spawn) -> None:
        self._author = author
        self._stats = stats
        self._spawn = spawn
        self._tables: dict[str, OwnerTable[Any]] = {}
        self._requests: dict[str, Request[Any, Any]] = {}
        self._handlers: dict[str, Handler] = {}
        self._running: set[str] = set()
        self.traced = False
        """whether a tap is listening: only then is anything published about requests"""
        self._beat_scheduled = False
        self._publish: Port | None = None
        self._router: Port | None = None

    def open(
        self, context: zmq.Context[zmq.Socket[bytes]], run_dir: Path, on_failure: Callable[[BaseException], None]
    ) -> None:
        """Bind both sockets. The caller holds the service's lock: a second bind on an ipc path takes it over silently."""
        published, requests = (
            endpoint(run_dir, self._author.service, socket) for socket in (Socket.PUBLISH, Socket.REQUEST)
        )
        publish, router = context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
        configure(publish)
        configure(router)
        publish.setsockopt(zmq.XPUB_VERBOSE, 1)
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        publish.bind(published)
        router.bind(requests)
        self._publish = Port(publish, self._on_subscription, on_failure=on_failure)
        self._router = Port(router, self._on_request, on_failure=on_failure)

    def close(self) -> None:
        """Close both sockets."""
        for port in (self._publish, self._router):
            if port is not None:
                port.close()
        self._publish = self._router = None

    def own(self, table: Table[V]) -> OwnedTable[V]:
        """See `Bus.own`."""
        if table.owner not in (self._author.service, "*"):
            raise ValueError(f"own table {table.name}: its owner is {table.owner}, not {self._author.service}")
        if table.name in self._tables:
            raise ValueError(f"own table {table.name}: it is owned already")
        core = self._tables[table.name] = OwnerTable(table)
        self.beat_soon()
        return OwnedTable(core, self._on_written)

    def answer(self, request: Request[Any, Any], handler: Handler) -> None:
        """See `Bus.answer`."""
        if request.owner not in (self._author.service, "*"):
            raise ValueError(f"answer {request.name}: its owner is {request.owner}, not {self._author.service}")
        if request.name in self._requests:
            raise ValueError(f"answer {request.name}: it is answered already")
        self._requests[request.name] = request
        self._handlers[request.name] = handler

    def tick(self) -> None:
        """Each second: say the last numbers, so that a lost last message is found; give back snapshot memory."""
        self.beat()
        for table in self._tables.values():
            table.forget_chunks()

    def beat(self) -> None:
        """Publish the generation and the last number of each table."""
        self._beat_scheduled = False
        numbers = {name: table.seq for name, table in self._tables.items()}
        self._send_published(
            wire.BEAT_TOPIC, wire.Kind.BEAT, [self._author.envelope(wire.Kind.BEAT, "", cause=""), wire.pack(numbers)]
        )

    def beat_soon(self) -> None:
        """One beat in the next turn of the loop, however often this is called."""
        if self._publish is not None and not self._beat_scheduled:
            self._beat_scheduled = True
            asyncio.get_running_loop().call_soon(self.beat)

    def _on_written(self, table: Table[Any], written: Written) -> None:
        topic = wire.table_topic(table.name)
        if written.mark is not None:
            kind = wire.Kind.MARK
            parts = [wire.pack(wire.MarkHead(written.mark.complete, written.mark.as_of_mono))]
        elif written.row is not None:
            kind = wire.Kind.PUT
            parts = [written.key.encode(), written.row]
        else:
            kind = wire.Kind.DELETE
            parts = [written.key.encode()]
        self._send_published(topic, kind, [self._author.envelope(kind, table.name, seq=written.seq), *parts])

    def _send_published(self, topic: bytes, kind: wire.Kind, frames: list[bytes]) -> None:
        if self._publish is not None:
            self._publish.send([topic, *frames])
            self._stats.sent[kind.name] += 1

    def _on_subscription(self, frames: list[bytes]) -> None:
        """A subscriber came (1) or the last one of a topic went (0); a beat tells a new one that it is heard now."""
        if len(frames) != 1 or frames[0][:1] not in (b"\x00", b"\x01"):
            self._stats.drop("garbage", "subscriber", detail="no subscription")
            return
        topic, added = frames[0][1:], frames[0][:1] == b"\x01"
        if topic == wire.TRACE_TOPIC:
            self.traced = added
        if added:
            self.beat_soon()

    def _on_request(self, frames: list[bytes]) -> None:
        peer = "unknown"
        try:
            envelope = wire.read_envelope(frames, 1)
            peer = envelope.sender
            self._stats.received[envelope.kind.name] += 1
            match envelope.kind:
                case wire.Kind.FETCH:
                    self._on_fetch(frames[0], envelope)
                case wire.Kind.CALL:
                    self._on_call(frames[0], envelope, wire.read_call(frames, 2), wire.read_body(frames, 3))
                case _:
                    raise wire.Garbage(f"{envelope.kind.name} as a request")
        except wire.Garbage as error:
            self._stats.drop("garbage", peer, detail=str(error))

    def _on_fetch(self, peer: bytes, envelope: wire.Envelope) -> None:
        table = self._tables.get(envelope.name)
        if table is None:
            self._reply(peer, envelope, wire.Kind.ABSENT, [])
            return
        head = wire.MarkHead(table.said.complete, table.said.as_of_mono)
        self._reply(peer, envelope, wire.Kind.SNAPSHOT, [wire.pack(head), *table.chunks()], seq=table.seq)

    def _on_call(self, peer: bytes, envelope: wire.Envelope, head: wire.CallHead, body: bytes) -> None:
        incoming = Incoming(envelope.name, envelope.id, envelope.sender, head.generation, head.deadline_mono)
        answerer = Answerer(self._author.generation, self._requests, self._running, MAX_RUNNING)
        verdict = judge(incoming, answerer, time.monotonic())
        act = f"call {envelope.name} (owner {self._author.service}, caller {envelope.sender})"
        match verdict:
            case Verdict.CARRY_OUT:
                self._running.add(envelope.id)
                self._spawn(self._carry_out(peer, envelope, head.deadline_mono, body))
            case Verdict.DROP_STALE | Verdict.DROP_LATE | Verdict.DROP_REPEAT:
                self._stats.drop(verdict.value, envelope.sender, log=False)
                if verdict is not Verdict.DROP_REPEAT:  # of a request that takes long: nothing to see
                    self._trace(envelope, wire.Trace("dropped", envelope.sender, envelope.id, text=verdict.value))
            case Verdict.REFUSE_UNKNOWN:
                self._reply_error(peer, envelope, Unsupported(f"{act}: no such request"))
            case Verdict.REFUSE_CALLER:
                self._reply_error(peer, envelope, Invalid(f"{act}: this caller may not ask that"))
            case Verdict.REFUSE_BUSY:
                self._reply_error(peer, envelope, Transient(f"{act}: {MAX_RUNNING} requests are being carried out"))

    async def _carry_out(self, peer: bytes, envelope: wire.Envelope, deadline_mono: float, body: bytes) -> None:
        """Run one handler until it answers or its deadline passes; what it raises beside OctoletError ends the bus."""
        request = self._requests[envelope.name]
        act = f"call {envelope.name} (owner {self._author.service}, caller {envelope.sender})"
        started = time.monotonic()
        CAUSE.set(envelope.id)
        deadline = asyncio.timeout_at(deadline_mono)
        try:
            try:
                question = decode(body, request.request)
            except msgspec.DecodeError as error:
                raise Invalid(f"{act}: {error}") from error
            if self.traced:
                self._trace(
                    envelope,
                    wire.Trace(
                        "request", envelope.sender, envelope.id, body=shown(question, request), cause=envelope.cause
                    ),
                )
            async with deadline:
                reply = await self._handlers[envelope.name](question, Call(envelope.sender, deadline_mono, envelope.id))
            if not isinstance(reply, request.reply):
                raise TypeError(f"{act}: answered {type(reply).__name__}, not {request.reply.__name__}")
            self._reply(peer, envelope, wire.Kind.REPLY, [encode(reply)])
            if self.traced:
                took_s = time.monotonic() - started
                self._trace(
                    envelope, wire.Trace("reply", envelope.sender, envelope.id, shown(reply, request), took_s=took_s)
                )
        except OctoletError as error:
            self._reply_error(peer, envelope, error, took_s=time.monotonic() - started)
        except TimeoutError:
            if not deadline.expired():
                raise
            self._stats.drop("deadline", envelope.sender, log=False)
            self._trace(envelope, wire.Trace("dropped", envelope.sender, envelope.id, text="deadline"))
        except Exception:
            self._reply_error(peer, envelope, Transient(f"{act}: it failed unexpectedly and is restarting"))
            raise
        finally:
            self._running.discard(envelope.id)

    def _reply_error(self, peer: bytes, envelope: wire.Envelope, error: OctoletError, took_s: float = 0.0) -> None:
        head = wire.error_head(error)
        self._reply(peer, envelope, wire.Kind.ERROR, [wire.pack(head)])
        text = f"{head.error}: {head.text}"
        self._trace(envelope, wire.Trace("error", envelope.sender, envelope.id, text=text, took_s=took_s))

    def _reply(self, peer: bytes, to: wire.Envelope, kind: wire.Kind, parts: list[bytes], seq: int = 0) -> None:
        if self._router is None:
            return
        envelope = self._author.envelope(kind, to.name, seq=seq, cause=to.id)
        sent = self._router.send([peer, envelope, *parts])
        if sent is Sent.QUEUED:
            self._stats.sent[kind.name] += 1
        else:  # the peer is gone or reads nothing: it asks again when it is back
            self._stats.drop(f"reply_{sent.name.lower()}", to.sender, log=False)

    def _trace(self, to: wire.Envelope, trace: wire.Trace) -> None:
        if self.traced:
            envelope = self._author.envelope(wire.Kind.TRACE, to.name, cause=to.id)
            self._send_published(wire.TRACE_TOPIC, wire.Kind.TRACE, [envelope, wire.pack(trace)])
