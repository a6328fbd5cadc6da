"""Bytes from nowhere, on every socket: counted, dropped, and everything works on."""

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.bus import Bus, Call, wire
from shared.bus.author import Author
from shared.bus.endpoints import Socket, endpoint, new_generation
from shared.bus.link import Link
from shared.bus.publisher import Publisher
from shared.bus.stats import BusStats
from shared.bus.tap import Tap
from shared.errors import NotFound, OctoletError
from shared.messages.base import encode
from tests.shared.bus.rows import ADD_ONE, THINGS, Row

GARBAGE: list[list[bytes]] = [
    [b""],
    [b"\xff\xfe\x00"],
    [b"", b"", b""],
    [b"\xc1" * 100],
    [msgpack.packb([1, 2, 3])],
    [msgpack.packb({"version": 1})],
    [msgpack.packb([[[[]]]] * 50)],
    [b"\x91" * 100_000],
    [b"\xdd\xff\xff\xff\xff"],
]
"""no messages: empty, no msgpack, another shape, nested without end, four thousand million items announced"""

STATS = BusStats()
"""one for all runs: each kind of bad message is logged once"""

envelopes: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "version": st.sampled_from([1, 1, 1, 2]),
        "kind": st.sampled_from(wire.Kind),
        "name": st.sampled_from(["things", "add_one", "none", ""]),
        "id": st.text(max_size=5),
        "sender": st.sampled_from(["pleg", "pod_sync", "x"]),
        "generation": st.text(max_size=5),
        "seq": st.integers(min_value=-(2**63), max_value=2**63 - 1),
        "cause": st.text(max_size=5),
        "sent_at_mono": st.floats(),
    }
)
tails = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.just(b"\x92\xc3\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"),
        st.just(wire.pack({"things": 9})),
        st.just(msgpack.packb([["a", {"n": 1}], ["b", {"n": "x"}]])),
        st.just(encode(Row(n=1))),
    ),
    max_size=4,
)


def close(*sockets: zmq.Socket[bytes]) -> None:
    for one in sockets:
        one.close(linger=0)


async def works(owner: Bus, reader: Bus) -> None:
    """A row comes through and a request is answered."""
    view = reader.follow(THINGS)
    assert await view.wait(lambda v: v.complete and v.generation == owner.generation, 5)
    assert await reader.call(ADD_ONE, Row(n=1)) == Row(n=2)


async def add_one(question: Row, call: Call) -> Row:
    return Row(n=question.n + 1)


def test_an_owner_survives_garbage_on_its_request_and_publish_sockets(tmp_path: Path) -> None:
    async def scenario() -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            owner.own(THINGS).mark(complete=True)
            owner.answer(ADD_ONE, add_one)
            dealer, subscriber = context.socket(zmq.DEALER), context.socket(zmq.XSUB)
            dealer.connect(endpoint(tmp_path, "pleg", Socket.REQUEST))
            subscriber.connect(endpoint(tmp_path, "pleg", Socket.PUBLISH))
            for frames in GARBAGE:
                dealer.send_multipart(frames)
                subscriber.send_multipart(frames)
            while owner.stats.dropped["garbage", "unknown"] < len(GARBAGE):
                await asyncio.sleep(0.01)
            while owner.stats.dropped["garbage", "subscriber"] < len(GARBAGE) - 1:  # one is a bare subscription byte
                await asyncio.sleep(0.01)
            close(dealer, subscriber)
            await works(owner, reader)
        context.term()

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_raw_bytes_without_the_transports_greeting_do_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            owner.own(THINGS).mark(complete=True)
            owner.answer(ADD_ONE, add_one)
            for suffix in Socket:
                with socket.socket(socket.AF_UNIX) as raw:
                    raw.connect(endpoint(tmp_path, "pleg", suffix).removeprefix("ipc://"))
                    raw.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(range(256)) * 10)
            await works(owner, reader)

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_a_reader_survives_garbage_from_its_owners_sockets(tmp_path: Path) -> None:
    (tmp_path / "bus").mkdir()

    async def scenario() -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        publisher, router = context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
        publisher.bind(endpoint(tmp_path, "pleg", Socket.PUBLISH))
        router.bind(endpoint(tmp_path, "pleg", Socket.REQUEST))
        async with Bus("pod_sync", tmp_path) as reader:
            view = reader.follow(THINGS)
            for _ in range(2):
                await asyncio.to_thread(publisher.recv)
            beat = wire.Envelope(1, wire.Kind.BEAT, "", "m", "pleg", new_generation(), 0, "", time.monotonic())
            for frames in GARBAGE:
                publisher.send_multipart([b"beat/", *frames])
                publisher.send_multipart([b"beat/", wire.pack(beat), *frames])
            publisher.send_multipart([b"beat/", wire.pack(beat), wire.pack({"things": 3})])
            peer = (await asyncio.to_thread(router.recv_multipart))[0]  # it asks for a snapshot
            for frames in GARBAGE:
                router.send_multipart([peer, *frames])
            while reader.stats.dropped["garbage", "pleg"] < 3 * len(GARBAGE) - 1:  # one is a beat of no table
                await asyncio.sleep(0.01)
            close(publisher, router)
            context.term()
            async with Bus("pleg", tmp_path) as owner:
                owner.own(THINGS).mark(complete=True)
                owner.answer(ADD_ONE, add_one)
                await works(owner, reader)
            assert view.complete

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_a_late_request_reaches_the_next_generation_and_is_not_carried_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        dead, runs = new_generation(), []

        async def count(question: Row, call: Call) -> Row:
            runs.append(question.n)
            return question

        async with Bus("pleg", tmp_path) as owner:
            owner.answer(ADD_ONE, count)
            dealer = context.socket(zmq.DEALER)
            dealer.connect(endpoint(tmp_path, "pleg", Socket.REQUEST))
            soon = time.monotonic() + 60
            for n, (generation, deadline) in enumerate(
                [(dead, soon), (owner.generation, 0.0), (owner.generation, soon)]
            ):
                envelope = wire.Envelope(1, wire.Kind.CALL, "add_one", f"m{n}", "pod_sync", dead, 0, "", 0.0)
                head = wire.CallHead(generation, deadline)
                dealer.send_multipart([wire.pack(envelope), wire.pack(head), encode(Row(n=n))])
            frames = await asyncio.to_thread(dealer.recv_multipart)
            assert wire.read_envelope(frames).cause == "m2"
            assert runs == [2]
            assert owner.stats.dropped == {("drop_stale", "pod_sync"): 1, ("drop_late", "pod_sync"): 1}
            close(dealer)
        context.term()

    asyncio.run(asyncio.wait_for(scenario(), 20))


@given(envelope=envelopes, tail=tails, raw=st.lists(st.binary(max_size=30), max_size=4))
@settings(max_examples=200, deadline=None)
def test_no_frames_make_owner_reader_or_tap_fail(envelope: dict[str, Any], tail: list[bytes], raw: list[bytes]) -> None:
    """Every receiving function takes any frames: well-formed envelopes with anything behind them, and plain noise."""
    started: list[Any] = []

    async def scenario() -> None:
        link, publisher = (
            Link("pleg", Author("pod_sync"), BusStats()),
            Publisher(Author("pleg"), BusStats(), started.append),
        )
        link._loop = asyncio.get_running_loop()
        link.follow(THINGS)
        publisher.own(THINGS)
        publisher.answer(ADD_ONE, add_one)
        tap = Tap(Path("/"))
        tap.stats = STATS
        tap._queue = asyncio.Queue()
        for frames in ([wire.pack(wire.Envelope(**envelope)), *tail], raw):
            link._on_published([b"topic", *frames])
            link._on_reply(frames)
            publisher._on_request([b"peer", *frames])
            publisher._on_subscription(frames)
            tap._on_message([b"topic", *frames])

    asyncio.run(scenario())
    for work in started:
        work.close()


@pytest.mark.parametrize("kind", list(wire.Kind))
def test_an_envelope_with_fields_of_a_later_version_is_read(kind: wire.Kind) -> None:
    envelope = wire.Envelope(1, kind, "things", "m1", "pleg", "g1", 7, "m0", 1.5)
    longer = msgpack.packb([*msgpack.unpackb(wire.pack(envelope)), "new", {"more": 1}])
    assert wire.read_envelope([longer]) == envelope


def test_an_error_class_of_a_later_version_becomes_its_nearest_known_base() -> None:
    class Narrower(NotFound):
        pass

    assert wire.error_head(Narrower("text")) == wire.ErrorHead("NotFound", "text")
    assert type(wire.error_from(wire.ErrorHead("Later", "text"))) is OctoletError
