"""Whole buses over real sockets, two or three in one process."""

import asyncio
import stat
from pathlib import Path

import pytest

from shared.bus import Bus, Call, Change, TableView
from shared.bus.endpoints import Socket, endpoint
from shared.errors import Invalid
from shared.messages.base import ANY_OWNER, Message, Table
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


def test_a_guest_follows_and_calls_without_sockets_of_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bus("pleg", tmp_path) as owner, Bus("guest", tmp_path, bind=False) as guest:
            owner.own(THINGS).mark(complete=True)
            assert await guest.follow(THINGS).wait(complete, 5)
            assert sorted(path.name for path in (tmp_path / "bus").iterdir()) == ["pleg.pub", "pleg.req"]

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
