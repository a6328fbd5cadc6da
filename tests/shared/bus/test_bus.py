"""Whole buses over real sockets, two or three in one process."""

import asyncio
import stat
from pathlib import Path

import pytest

from shared.bus import Bus, Call, Change, TableView
from shared.bus.endpoints import Socket, endpoint
from shared.errors import Conflict, Invalid, NotFound, StaleGeneration, Transient, Unsupported
from shared.messages.base import ANY_OWNER, Empty, Message, Request, Table
from tests.shared.bus.rows import ADD_ONE, THINGS, THINGS_TOO, Row, Secretive


def complete(view: TableView[Row]) -> bool:
    return view.complete


async def add_one(question: Row, call: Call) -> Row:
    return Row(n=question.n + 1)


def test_a_reader_gets_rows_marks_and_later_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            table = owner.own(THINGS)
            table.put("a", Row(n=1))
            table.mark(complete=True, as_of_mono=7.5)
            view = reader.follow(THINGS)
            changes: list[Change[Row]] = []
            view.on_change(changes.append)
            assert await view.wait(complete, 5)
            assert (dict(view.items()), view.as_of_mono, view.generation) == ({"a": Row(n=1)}, 7.5, owner.generation)
            assert view.connected and reader.follow(THINGS) is view
            table.put("a", Row(n=2))
            table.put("b", Row(n=3))
            table.delete("a")
            assert await view.wait(lambda v: len(v) == 1 and "b" in v, 5)
            assert [(c.key, c.old, c.new) for c in changes] == [
                ("a", None, Row(n=1)),
                ("a", Row(n=1), Row(n=2)),
                ("b", None, Row(n=3)),
                ("a", Row(n=2), None),
            ]
            assert reader.stats.fetched == {("pleg", "things"): 1}

    asyncio.run(scenario())


def test_two_tables_of_one_owner_whose_names_begin_alike_do_not_mix(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            one, two = owner.own(THINGS), owner.own(THINGS_TOO)
            first = reader.follow(THINGS)
            one.mark(complete=True)
            assert await first.wait(complete, 5)
            second = reader.follow(THINGS_TOO)
            two.put("b", Row(n=2))
            two.mark(complete=True)
            assert await second.wait(complete, 5)
            assert (list(first.keys()), list(second.keys())) == ([], ["b"])

    asyncio.run(scenario())


def test_a_readers_callback_may_follow_another_table_of_the_same_owner(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            views: list[TableView[Row]] = []
            first = reader.follow(THINGS)
            first.on_mark(lambda: views.append(reader.follow(THINGS_TOO)))
            two = owner.own(THINGS_TOO)
            owner.own(THINGS).mark(complete=True)
            two.mark(complete=True)
            assert await first.wait(complete, 5)
            assert await views[0].wait(complete, 5)

    asyncio.run(scenario())


def test_a_restarted_owner_shows_only_what_really_differs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as reader:
            view = reader.follow(THINGS)
            async with Bus("pleg", tmp_path) as owner:
                table = owner.own(THINGS)
                for key, n in (("same", 1), ("moved", 1), ("gone", 1)):
                    table.put(key, Row(n=n))
                table.mark(complete=True, as_of_mono=1.0)
                assert await view.wait(complete, 5)
            changes: list[Change[Row]] = []
            view.on_change(changes.append)
            async with Bus("pleg", tmp_path) as owner:
                table = owner.own(THINGS)
                assert await view.wait(lambda v: v.generation == owner.generation, 5)
                assert (view.complete, view.as_of_mono, len(view), changes) == (False, 0.0, 3, [])
                table.put("same", Row(n=1))
                table.put("moved", Row(n=2))
                table.mark(complete=True, as_of_mono=2.0)
                assert await view.wait(complete, 5)
                assert [(c.key, c.new) for c in changes] == [("moved", Row(n=2)), ("gone", None)]

    asyncio.run(scenario())


def test_rows_stay_while_the_owner_is_away_and_connected_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.bus.link.SILENCE_S", 0.2)

    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as reader:
            view = reader.follow(THINGS)
            assert not view.connected and view.generation is None
            async with Bus("pleg", tmp_path) as owner:
                table = owner.own(THINGS)
                table.put("a", Row(n=1))
                table.mark(complete=True)
                assert await view.wait(complete, 5)
            assert await view.wait(lambda v: not v.connected, 5)
            assert (view.complete, view.get("a")) == (True, Row(n=1))

    asyncio.run(scenario())


def test_a_burst_far_beyond_the_high_water_marks_ends_in_the_right_table(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            table = owner.own(THINGS)
            view = reader.follow(THINGS)
            table.mark(complete=True)
            assert await view.wait(complete, 5)
            for n in range(40_000):  # without a pause: nobody reads meanwhile
                table.put(f"row-{n % 1000}", Row(n=n, text="x" * 200))
            table.mark(as_of_mono=9.0)
            assert await view.wait(lambda v: v.as_of_mono == 9.0, 20)
            assert dict(view.items()) == dict(table.items())
            assert reader.stats.fetched["pleg", "things"] > 1, "nothing was lost: the test proves nothing"

    asyncio.run(scenario())


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


def test_an_unexpected_error_in_a_readers_callback_ends_its_bus(tmp_path: Path) -> None:
    def fail(change: Change[Row]) -> None:
        raise ZeroDivisionError("bug")

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner:
            owner.own(THINGS).put("a", Row(n=1))
            with pytest.raises(ExceptionGroup) as caught:
                async with Bus("pod_sync", tmp_path) as reader:
                    reader.follow(THINGS).on_change(fail)
                    await asyncio.sleep(60)
            assert caught.group_contains(ZeroDivisionError)

    asyncio.run(scenario())


def test_an_owner_of_a_newer_version_is_understood_and_a_row_of_a_wrong_shape_is_left_out(tmp_path: Path) -> None:
    class Newer(Message, frozen=True):
        n: int | str
        colour: str = "red"

    theirs = Table("things", key="name", value=Newer, owner="pleg")

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as reader:
            table = owner.own(theirs)
            table.put("a", Newer(n=1, colour="blue"))
            table.put("b", Newer(n="two"))
            table.mark(complete=True, as_of_mono=1.0)
            view = reader.follow(THINGS)
            assert await view.wait(lambda v: "a" in v, 5)
            assert (dict(view.items()), view.complete, view.as_of_mono) == ({"a": Row(n=1)}, False, 0.0)
            assert reader.stats.dropped["unreadable_row", "pleg"] == 1
            table.put("b", Newer(n=2))
            assert await view.wait(complete, 5)

    asyncio.run(scenario())


def test_tables_and_requests_of_any_owner_name_the_owner(tmp_path: Path) -> None:
    table = Table("states", key="service", value=Row, owner=ANY_OWNER)

    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as pleg, Bus("prober", tmp_path) as prober, Bus("server", tmp_path) as reader:
            for n, bus in enumerate((pleg, prober)):
                owned = bus.own(table)
                owned.put(bus.service, Row(n=n))
                owned.mark(complete=True)
            views = [reader.follow(table, owner="pleg"), reader.follow(table, owner="prober")]
            for view in views:
                assert await view.wait(complete, 5)
            assert [dict(view.items()) for view in views] == [{"pleg": Row(n=0)}, {"prober": Row(n=1)}]
            with pytest.raises(ValueError, match="say whose"):
                reader.follow(table)
            with pytest.raises(ValueError, match="its owner is pleg, not prober"):
                reader.follow(THINGS, owner="prober")

    asyncio.run(scenario())


def test_a_table_has_one_writer(tmp_path: Path) -> None:
    bus = Bus("pleg", tmp_path)
    bus.own(THINGS)
    with pytest.raises(ValueError, match="owned already"):
        bus.own(THINGS)
    with pytest.raises(ValueError, match="its owner is pleg, not prober"):
        Bus("prober", tmp_path).own(THINGS)
    with pytest.raises(ValueError, match="its owner is pleg, not prober"):
        Bus("prober", tmp_path).answer(ADD_ONE, add_one)


def test_a_row_of_another_type_is_refused_where_it_is_put(tmp_path: Path) -> None:
    table = Bus("pleg", tmp_path).own(THINGS)
    with pytest.raises(TypeError, match="put Secretive at 'a'"):
        table.put("a", Secretive(user="u", password="p"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="put Row at 1"):
        table.put(1, Row(n=1))  # type: ignore[arg-type]


def test_what_was_owned_and_followed_before_the_bus_was_entered_counts(tmp_path: Path) -> None:
    async def scenario() -> None:
        owner, reader = Bus("pleg", tmp_path), Bus("pod_sync", tmp_path)
        table, view = owner.own(THINGS), reader.follow(THINGS)
        table.put("a", Row(n=1))
        table.mark(complete=True)
        assert not (tmp_path / "bus").exists()
        async with owner, reader:
            assert await view.wait(complete, 5)
            assert view.get("a") == Row(n=1)

    asyncio.run(scenario())


def test_replace_leaves_exactly_the_given_rows(tmp_path: Path) -> None:
    table = Bus("pleg", tmp_path).own(THINGS)
    table.put("a", Row(n=1))
    table.put("b", Row(n=2))
    table.replace({"b": Row(n=3), "c": Row(n=4)}.items())
    assert dict(table.items()) == {"b": Row(n=3), "c": Row(n=4)}


def test_the_socket_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "bus").mkdir(mode=0o755)
        async with Bus("pleg", tmp_path):
            assert stat.S_IMODE((tmp_path / "bus").stat().st_mode) == 0o700

    asyncio.run(scenario())


def test_a_run_folder_whose_socket_paths_would_be_too_long_is_refused_with_the_way_out(tmp_path: Path) -> None:
    room = 106 - len(str(tmp_path / "bus" / "pleg.pub"))
    longest = tmp_path / ("x" * (room - 1))
    assert len(endpoint(longest, "pleg", Socket.PUBLISH)) == len("ipc://") + 106
    with pytest.raises(Invalid, match=r"has 107 bytes.*choose a shorter run folder"):
        endpoint(tmp_path / ("x" * room), "pleg", Socket.PUBLISH)

    async def scenario() -> None:
        async with Bus("pleg", longest), Bus("pod_sync", tmp_path):
            pass
        with pytest.raises(Invalid, match="choose a shorter run folder"):
            async with Bus("pleg", tmp_path / ("x" * room)):
                raise AssertionError

    asyncio.run(scenario())


def test_closing_the_bus_ends_calls_under_way(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as caller:
            asked = asyncio.create_task(caller.call(ADD_ONE, Row(n=0), timeout_s=60))
            await asyncio.sleep(0)
        with pytest.raises(Transient, match="the bus was closed"):
            await asked

    asyncio.run(scenario())


def test_a_guest_follows_and_calls_without_sockets_of_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("guest", tmp_path, bind=False) as guest:
            owner.own(THINGS).mark(complete=True)
            assert await guest.follow(THINGS).wait(complete, 5)
            assert sorted(path.name for path in (tmp_path / "bus").iterdir()) == ["pleg.pub", "pleg.req"]

    asyncio.run(scenario())


def test_waiting_ends_at_its_time_and_after_cancellation(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pod_sync", tmp_path) as reader:
            view = reader.follow(THINGS)
            assert await view.wait(complete, 0.01) is False
            waiting = asyncio.create_task(view.wait(complete, None))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(scenario())


def test_many_requests_at_once_are_all_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("pod_sync", tmp_path) as caller:
            owner.answer(ADD_ONE, add_one)
            answers = await asyncio.gather(*(caller.call(ADD_ONE, Row(n=n), timeout_s=20) for n in range(500)))
            assert [answer.n for answer in answers] == list(range(1, 501))

    asyncio.run(scenario())
