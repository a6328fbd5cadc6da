"""Requests over real sockets: who is answered, by whom, until when."""

import asyncio
from pathlib import Path

import pytest

from shared.bus import Bus, Call
from shared.errors import Conflict, Invalid, NotFound, StaleGeneration, Transient, Unsupported
from shared.messages.base import Empty, Message, Request
from tests.shared.bus.rows import ADD_ONE, Row


async def add_one(question: Row, call: Call) -> Row:
    return Row(n=question.n + 1)


def test_a_request_is_answered_and_the_handlers_errors_are_raised_by_class(tmp_path: Path) -> None:
    async def answer(question: Row, call: Call) -> Row:
        assert call.caller == "pod_sync"
        if question.n == 0:
            return Row(n=1)
        raise (Conflict, NotFound, Invalid, Unsupported, Transient, StaleGeneration)[question.n - 1](
            f"text {question.n}"
        )

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, answer)
            assert await caller.call(ADD_ONE, Row(n=0)) == Row(n=1)
            for n, kind in enumerate((Conflict, NotFound, Invalid, Unsupported, Transient, StaleGeneration), start=1):
                with pytest.raises(kind, match=f"^text {n}$") as caught:
                    await caller.call(ADD_ONE, Row(n=n))
                assert type(caught.value) is kind

    asyncio.run(scenario())


def test_only_declared_callers_are_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("prober", tmp_path) as caller:
            owner.answer(ADD_ONE, add_one)
            with pytest.raises(
                Invalid, match=r"call add_one \(owner pleg, caller prober\): this caller may not ask that"
            ):
                await caller.call(ADD_ONE, Row(n=0))

    asyncio.run(scenario())


def test_a_request_that_the_owner_does_not_know_is_unsupported(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path), Bus("pod_sync", tmp_path) as caller:
            with pytest.raises(Unsupported, match="no such request"):
                await caller.call(ADD_ONE, Row(n=0))

    asyncio.run(scenario())


def test_a_request_of_another_shape_is_invalid_and_names_the_field(tmp_path: Path) -> None:
    class Other(Message, frozen=True):
        n: str

    theirs = Request("add_one", request=Other, reply=Row, owner="pleg", callers=ADD_ONE.callers)

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, add_one)
            with pytest.raises(Invalid, match=r"\$\.n"):
                await caller.call(theirs, Other(n="one"))
            assert await caller.call(ADD_ONE, Row(n=0)) == Row(n=1)

    asyncio.run(scenario())


def test_a_call_to_a_dead_owner_ends_at_its_deadline(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            started = asyncio.get_running_loop().time()
            with pytest.raises(Transient, match=r"call add_one \(owner pleg\): no answer within 0.2 s"):
                await caller.call(ADD_ONE, Row(n=0), timeout_s=0.2)
            assert 0.15 < asyncio.get_running_loop().time() - started < 2

    asyncio.run(scenario())


def test_a_call_waits_for_an_owner_that_starts_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            asked = asyncio.create_task(caller.call(ADD_ONE, Row(n=0), timeout_s=10))
            await asyncio.sleep(0.05)
            async with Bus("pleg", tmp_path) as owner:
                owner.answer(ADD_ONE, add_one)
                assert await asked == Row(n=1)

    asyncio.run(scenario())


def test_a_call_that_was_under_way_is_asked_again_of_the_next_generation(tmp_path: Path) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def hang(question: Row, call: Call) -> Row:
            started.set()
            await asyncio.sleep(60)
            return question

        async with Bus("pod_sync", tmp_path) as caller:
            async with Bus("pleg", tmp_path) as owner:
                owner.answer(ADD_ONE, hang)
                asked = asyncio.create_task(caller.call(ADD_ONE, Row(n=0), timeout_s=10))
                await asyncio.wait_for(started.wait(), 5)
            async with Bus("pleg", tmp_path) as owner:
                owner.answer(ADD_ONE, add_one)
                assert await asked == Row(n=1)

    asyncio.run(scenario())


def test_a_call_whose_owner_was_restarted_and_stays_silent_is_a_stale_generation(tmp_path: Path) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def hang(question: Row, call: Call) -> Row:
            started.set()
            await asyncio.sleep(60)
            return question

        async with Bus("pod_sync", tmp_path) as caller:
            async with Bus("pleg", tmp_path) as owner:
                owner.answer(ADD_ONE, hang)
                asked = asyncio.create_task(caller.call(ADD_ONE, Row(n=0), timeout_s=1))
                await asyncio.wait_for(started.wait(), 5)
            async with Bus("pleg", tmp_path) as owner:
                owner.answer(ADD_ONE, hang)
                with pytest.raises(StaleGeneration, match="it was restarted meanwhile"):
                    await asked

    asyncio.run(scenario())


def test_a_handler_runs_once_however_often_its_request_is_sent_and_is_cancelled_at_the_deadline(tmp_path: Path) -> None:
    async def scenario() -> None:
        runs: list[str] = []
        ended = asyncio.Event()

        async def hang(question: Row, call: Call) -> Row:
            runs.append(call.id)
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()
            return question

        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, hang)
            with pytest.raises(Transient):
                await caller.call(ADD_ONE, Row(n=0), timeout_s=0.9)
            await asyncio.wait_for(ended.wait(), 5)
            assert len(runs) == 1
            assert owner.stats.dropped["drop_repeat", "pod_sync"] >= 1, "it was never sent again: nothing is proved"

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", ["raises", "returns another type"])
def test_an_unexpected_error_in_a_handler_ends_its_bus_and_is_transient_for_the_caller(
    tmp_path: Path, answer: str
) -> None:
    async def fail(question: Row, call: Call) -> Row:
        if answer == "raises":
            raise ZeroDivisionError("bug")
        return Empty()  # type: ignore[return-value]

    async def run_owner(ready: asyncio.Event) -> None:
        async with Bus("pleg", tmp_path) as owner:
            owner.answer(ADD_ONE, fail)
            ready.set()
            await asyncio.sleep(60)

    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            ready = asyncio.Event()
            owner = asyncio.create_task(run_owner(ready))
            await ready.wait()
            with pytest.raises(Transient):
                await caller.call(ADD_ONE, Row(n=0), timeout_s=0.5)
            with pytest.raises(ExceptionGroup) as caught:
                await owner
            assert caught.group_contains(ZeroDivisionError if answer == "raises" else TypeError)

    asyncio.run(scenario())


def test_closing_the_bus_ends_calls_under_way(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            asked = asyncio.create_task(caller.call(ADD_ONE, Row(n=0), timeout_s=60))
            await asyncio.sleep(0)
        with pytest.raises(Transient, match="the bus was closed"):
            await asked

    asyncio.run(scenario())


def test_many_requests_at_once_are_all_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, add_one)
            answers = await asyncio.gather(*(caller.call(ADD_ONE, Row(n=n), timeout_s=20) for n in range(500)))
            assert [answer.n for answer in answers] == list(range(1, 501))

    asyncio.run(scenario())
