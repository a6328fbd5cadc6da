"""Sidecars end last."""

import asyncio
from typing import Any

import pytest

from services.pod_sync.runtime.ordering import TerminationOrder, termination_prerequisites
from tests.pod_sync.environment.manifests import make_container, make_pod


def sidecar(name: str) -> dict[str, Any]:
    return make_container(name=name, restartPolicy="Always")


POD = make_pod(
    {
        "initContainers": [sidecar("first"), make_container(name="setup"), sidecar("second")],
        "containers": [make_container(), make_container(name="web")],
    }
)


def test_a_sidecar_waits_for_the_regular_ones_and_for_the_next_later_sidecar() -> None:
    assert termination_prerequisites(POD) == {"first": ("app", "web", "second"), "second": ("app", "web")}
    assert termination_prerequisites(make_pod()) == {}


def test_sidecars_end_one_after_the_other_behind_the_regular_ones() -> None:
    async def scenario() -> list[str]:
        turns = TerminationOrder.of(POD, ["first", "second", "app", "web"])
        ended: list[str] = []

        async def end(name: str) -> None:
            await turns.wait_turn(name, 60)
            ended.append(name)
            turns.ended(name)

        await asyncio.gather(*(end(name) for name in ("first", "second", "web", "app")))
        return ended

    assert asyncio.run(scenario()) == ["web", "app", "second", "first"]


def test_what_does_not_run_is_not_waited_for() -> None:
    async def scenario() -> None:
        await TerminationOrder.of(POD, ["first"]).wait_turn("first", 60)

    asyncio.run(asyncio.wait_for(scenario(), 1))


@pytest.mark.parametrize("grace", [0, -1])
def test_without_grace_nothing_is_waited_for(grace: int) -> None:
    async def scenario() -> None:
        await TerminationOrder.of(POD, ["first", "app"]).wait_turn("first", grace)

    asyncio.run(asyncio.wait_for(scenario(), 1))


def test_used_up_grace_ends_the_wait_and_is_accounted_for() -> None:
    async def scenario() -> float:
        return await TerminationOrder.of(POD, ["first", "app"]).wait_turn("first", 0.05)

    assert 0.05 <= asyncio.run(asyncio.wait_for(scenario(), 5)) < 5
