"""A decision is made only on what was listed after the last act."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from services.pod_sync.observations import Observation, Observations
from shared.errors import Transient
from shared.messages.pleg import ContainerState, Relist, Relisted, RuntimePod


def row(listed_at: float, *containers: ContainerState) -> RuntimePod:
    return RuntimePod(name="web", namespace="default", listed_at_mono=listed_at, containers=list(containers))


class Pleg:
    """Table and answers as a test sets them."""

    def __init__(self) -> None:
        self.as_of_mono = 0.0
        self.rows: dict[str, RuntimePod] = {}
        self.answer: Relisted | None = None
        self.asked = 0
        self.begun = {"c": 0}
        self.lost: list[str | None] = []
        self._marked: Callable[[], None] = lambda: None

    def get(self, key: str) -> RuntimePod | None:
        return self.rows.get(key)

    def on_mark(self, callback: Callable[[], None]) -> None:
        self._marked = callback

    def mark(self, as_of: float) -> None:
        self.as_of_mono = as_of
        self._marked()

    async def relist(self, request: Relist) -> Relisted:
        self.asked += 1
        await asyncio.sleep(0)
        if self.answer is None:
            raise Transient("pleg is away")
        return self.answer


def play(story: Callable[[Pleg, Observations], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        pleg = Pleg()
        async with asyncio.timeout(5):
            await story(pleg, Observations(pleg, pleg.relist, pleg.lost.append, lambda uid: pleg.begun))

    asyncio.run(whole())


def test_the_table_is_enough_when_it_is_new_enough() -> None:
    async def story(pleg: Pleg, seen: Observations) -> None:
        pleg.rows["u1"] = row(3.0)
        pleg.mark(5.0)
        assert await seen.after("u1", 4.0) == Observation(5.0, pleg.rows["u1"])
        assert await seen.after("u2", 4.0) == Observation(5.0, None)
        assert pleg.asked == 0

    play(story)


def test_a_row_that_is_newer_than_the_last_full_listing_counts() -> None:
    async def story(pleg: Pleg, seen: Observations) -> None:
        pleg.mark(5.0)
        pleg.rows["u1"] = row(6.0)
        assert seen.latest("u1").as_of_mono == 6.0

    play(story)


def test_pleg_is_asked_when_the_table_is_too_old_and_its_answer_is_used_until_the_table_is_newer() -> None:
    async def story(pleg: Pleg, seen: Observations) -> None:
        pleg.mark(5.0)
        pleg.answer = Relisted(as_of_mono=7.0, pod=row(7.0))
        assert await seen.after("u1", 6.0) == Observation(7.0, row(7.0))
        assert seen.latest("u1").as_of_mono == 7.0
        pleg.mark(8.0)
        assert seen.latest("u1") == Observation(8.0, None)

    play(story)


def test_an_answer_that_is_older_than_the_table_is_not_used() -> None:
    async def story(pleg: Pleg, seen: Observations) -> None:
        pleg.mark(9.0)
        pleg.answer = Relisted(as_of_mono=7.0, pod=row(7.0))
        assert await seen.relist("u1")
        assert seen.latest("u1") == Observation(9.0, None)

    play(story)


def test_while_pleg_is_away_its_next_listing_is_waited_for_without_polling() -> None:
    async def story(pleg: Pleg, seen: Observations) -> None:
        waiting = [asyncio.create_task(seen.after(uid, 6.0)) for uid in ("u1", "u2", "u3")]
        await asyncio.sleep(0.05)
        assert pleg.asked == 3
        assert pleg.lost[-1] == "list pod u3: pleg is away"
        pleg.mark(6.0)
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        pleg.mark(6.5)
        assert [task_result.as_of_mono for task_result in await asyncio.gather(*waiting)] == [6.5] * 3
        assert pleg.asked == 6

    play(story)


def test_a_start_that_was_cut_off_is_shown_as_never_begun() -> None:
    cut = ContainerState(
        id="c1",
        name="c",
        attempt=0,
        sandbox_id="s",
        state="exited",
        exit_code=128,
        reason="StartError",
        message="failed to create containerd task: context canceled: unknown",
    )

    async def story(pleg: Pleg, seen: Observations) -> None:
        pleg.rows["u1"] = row(1.0, cut)
        pleg.mark(1.0)
        shown = seen.latest("u1").pod
        assert shown is not None
        assert [c.state for c in shown.containers] == ["created"]
        pleg.answer = Relisted(as_of_mono=2.0, pod=row(2.0, cut))
        await seen.relist("u1")
        answered = seen.latest("u1").pod
        assert answered is not None
        assert [c.state for c in answered.containers] == ["created"]
        pleg.begun = {}
        pleg.mark(3.0)
        assert seen.latest("u1").pod == pleg.rows["u1"]  # it failed, and that was heard

    play(story)
