"""What a person sees who watches the bus."""

import asyncio
from pathlib import Path

import zmq

from shared.bus import Bus, Call, Change
from shared.bus.endpoints import Socket, endpoint
from shared.bus.tap import Tap, Tapped
from shared.errors import NotFound
from shared.messages.base import Empty, Table
from tests.shared.bus.rows import ADD_ONE, SECRETS, THINGS, Row, Secretive

FOLLOWING = Table("following", key="name", value=Row, owner="pod_sync")


async def until_listening(tap: Tap, owner: Bus) -> None:
    """Until the owner knows that a tap is there."""
    while not owner.traced:
        await asyncio.sleep(0.005)


async def collect(tap: Tap, count: int) -> list[Tapped]:
    return [await asyncio.wait_for(anext(tap), 5) for _ in range(count)]


def test_a_tap_shows_tables_and_requests_with_what_caused_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            things, following = owner.own(THINGS), reader.own(FOLLOWING)
            view = reader.follow(THINGS)

            def follow(change: Change[Row]) -> None:
                following.put(change.key, Row(n=-1))

            async def relist(question: Row, call: Call) -> Row:
                things.put("a", question)
                things.mark(complete=True, as_of_mono=3.0)
                return Row(n=question.n + 1)

            view.on_change(follow)
            owner.answer(ADD_ONE, relist)
            async with Tap(tmp_path, ["pleg", "pod_sync"]) as tap:
                await until_listening(tap, owner)
                await until_listening(tap, reader)
                await reader.call(ADD_ONE, Row(n=1, text="hello"))
                seen = {tapped.kind + ":" + tapped.name: tapped for tapped in await collect(tap, 5)}
            request, put, mark = seen["request:add_one"], seen["put:things"], seen["mark:things"]
            reply, effect = seen["reply:add_one"], seen["put:following"]
            assert (request.owner, request.caller, request.content) == ("pleg", "pod_sync", {"n": 1, "text": "hello"})
            assert (put.key, put.content, put.seq, put.cause) == ("a", {"n": 1, "text": "hello"}, 1, request.id)
            assert (mark.content, mark.cause) == ({"complete": True, "as_of_mono": 3.0}, request.id)
            assert (reply.content, reply.cause, reply.took_s > 0) == ({"n": 2}, request.id, True)
            assert (effect.owner, effect.cause) == ("pod_sync", put.id)
            assert put.generation == owner.generation
            for tapped in (put, mark, reply, effect):
                assert tapped.after_cause_s is not None and 0 <= tapped.after_cause_s < 5
                assert 0 <= tapped.latency_s < 5

    asyncio.run(scenario())


def test_secret_fields_never_leave_the_owner_but_in_the_reply(tmp_path: Path) -> None:
    async def scenario() -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        raw = context.socket(zmq.SUB)
        raw.subscribe(b"")
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:

            async def answer(question: Empty, call: Call) -> Secretive:
                return Secretive(user="me", password="hunter2", extra={"deep": {"password": "hunter3", "user": "you"}})

            owner.answer(SECRETS, answer)
            raw.connect(endpoint(tmp_path, "pleg", Socket.PUBLISH))
            async with Tap(tmp_path, ["pleg"]) as tap:
                await until_listening(tap, owner)
                reply = await caller.call(SECRETS, Empty())
                assert reply.password == "hunter2"
                shown = (await collect(tap, 2))[1]
            hidden = {"user": "me", "password": "(hidden)", "extra": {"deep": {"password": "(hidden)", "user": "you"}}}
            assert (shown.kind, shown.content) == ("reply", hidden)
            published = []
            while raw.poll(100):
                published.append(b"".join(raw.recv_multipart()))
            assert any(b"(hidden)" in frames for frames in published)
            assert not any(b"hunter" in frames for frames in published)
        raw.close(linger=0)
        context.term()

    asyncio.run(scenario())


def test_errors_and_drops_are_shown_with_the_reason(tmp_path: Path) -> None:
    async def fail(question: Row, call: Call) -> Row:
        if question.n:
            await asyncio.sleep(60)
        raise NotFound("pod default/web")

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, fail)
            async with Tap(tmp_path, ["pleg"]) as tap:
                await until_listening(tap, owner)
                await asyncio.gather(
                    caller.call(ADD_ONE, Row(n=0)),
                    caller.call(ADD_ONE, Row(n=1), timeout_s=0.1),
                    return_exceptions=True,
                )
                seen = [(tapped.kind, tapped.text) for tapped in await collect(tap, 4)]
            assert sorted(seen) == [
                ("dropped", "deadline"),
                ("error", "NotFound: pod default/web"),
                ("request", ""),
                ("request", ""),
            ]

    asyncio.run(scenario())


def test_nothing_is_published_about_requests_while_nobody_watches(tmp_path: Path) -> None:
    async def answer(question: Row, call: Call) -> Row:
        return question

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, answer)
            async with Tap(tmp_path, ["pleg"]) as tap:
                await until_listening(tap, owner)
                await caller.call(ADD_ONE, Row(n=1))
            while owner.traced:
                await asyncio.sleep(0.005)
            traces = owner.stats.sent["TRACE"]
            assert traces == 2
            await caller.call(ADD_ONE, Row(n=1))
            assert owner.stats.sent["TRACE"] == traces

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_a_reader_that_is_too_slow_loses_messages_and_is_told_how_many(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Tap(tmp_path, ["pleg"]) as tap:
            things = owner.own(THINGS)
            await until_listening(tap, owner)
            for n in range(12_000):
                things.put("a", Row(n=n))
                if n % 100 == 0:
                    await asyncio.sleep(0)
            while tap.lost == 0:
                await asyncio.sleep(0.01)
            assert len([tapped async for tapped in first(tap, 10_000)]) == 10_000

    async def first(tap: Tap, count: int):  # type: ignore[no-untyped-def]
        for _ in range(count):
            yield await anext(tap)

    asyncio.run(asyncio.wait_for(scenario(), 20))
