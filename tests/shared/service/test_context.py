"""What the scaffold gives to a daemon."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from shared.bus import Bus
from shared.messages.daemon import DAEMON, EVENTS, ObjectReference
from shared.service import TaskReturned, open_context
from shared.service.context import MAX_EVENTS

NODE = ObjectReference(kind="Node", name="n1")
POD = ObjectReference(kind="Pod", name="web", namespace="default", uid="1", field_path="spec.containers{c}")


def test_degraded_dependencies_are_published_in_order_and_taken_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context, Bus("server", tmp_path) as server:
            view = server.follow(DAEMON, owner="prober")

            async def says(ready: bool, *degraded: str) -> bool:
                return await view.wait(
                    lambda v: (
                        (row := v.get("prober")) is not None and (row.ready, row.degraded) == (ready, list(degraded))
                    ),
                    5,
                )

            assert await says(False)
            context.degraded("runtime", "the runtime is away")
            context.degraded("api", "the API server is away")
            assert await says(False, "the API server is away", "the runtime is away")
            context.ready()
            context.degraded("runtime", None)
            context.degraded("runtime", None)
            assert await says(True, "the API server is away")

    asyncio.run(scenario())


def test_a_peer_that_is_not_there_yet_is_awaited_and_one_that_goes_later_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context:
            context.degraded("runtime", "not there yet")
            context.degraded("runtime", None)
            monkeypatch.setattr("shared.service.context.START_S", 0.0)
            context.degraded("runtime", "gone")

    with capture_logs() as lines:
        asyncio.run(scenario())
    told = [(line["event"], line["log_level"]) for line in lines if line["event"].startswith("dependency.")]
    assert told == [("dependency.awaited", "info"), ("dependency.recovered", "info"), ("dependency.lost", "warning")]


def test_the_events_table_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context, Bus("node_status", tmp_path) as reader:
            view = reader.follow(EVENTS, owner="prober")
            for n in range(MAX_EVENTS + 20):
                context.event(NODE, "Warning", "Tested", f"number {n}", {"a": "b"})
            last = f"{context.bus.generation}.{MAX_EVENTS + 20:06d}"
            assert await view.wait(lambda v: v.complete and last in v, 5)
            assert sorted(row.message for row in view.values()) == sorted(
                f"number {n}" for n in range(20, MAX_EVENTS + 20)
            )
            with pytest.raises(ValueError, match="event type 'Bad'"):
                context.event(NODE, "Bad", "Tested", "text")

    asyncio.run(scenario())


def test_an_event_is_logged_with_its_object_and_a_repeat_only_for_debugging(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context:
            for message in ("Container started", "Container started", "Back-off"):
                context.event(POD, "Warning" if message == "Back-off" else "Normal", "Tested", message)

    with capture_logs() as lines:
        asyncio.run(scenario())
    told = [line for line in lines if line["event"] == "event.recorded"]
    assert [line["log_level"] for line in told] == ["info", "debug", "warning"]
    assert (told[0]["object"], told[0]["part"]) == ("Pod default/web", "spec.containers{c}")
    assert (told[0]["reason"], told[0]["message"]) == ("Tested", "Container started")


def test_the_bodys_own_error_comes_out_as_it_is(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context:
            context.spawn("forever", asyncio.Event().wait())
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        asyncio.run(scenario())


def test_a_spawned_task_that_returns_ends_everything(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context:
            context.spawn("short", asyncio.sleep(0))
            await asyncio.sleep(60)

    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(scenario())
    assert caught.group_contains(TaskReturned, match="task short of prober returned")


def test_tasks_may_return_once_stopping_is_set(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_context("prober", None, tmp_path) as context:
            context.spawn("until stopping", context.stopping.wait())
            context.stopping.set()
            await asyncio.sleep(0)

    asyncio.run(scenario())
