"""Killing containers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from services.pod_sync.runtime.acts import Runtime
from services.pod_sync.runtime.model import KillOrder, KillReason, KillTarget
from services.pod_sync.runtime.ordering import TerminationOrder
from shared.cri import api
from shared.kube.types import ExecAction, LifecycleHandler, SleepAction
from shared.rpc.errors import RpcTransient
from tests.pod_sync.environment.manifests import make_container, make_pod
from tests.pod_sync.runtime.fake_runtime import FakeContainer, unknown
from tests.pod_sync.runtime.world import World

COMMAND = LifecycleHandler(exec=ExecAction(command=["bye"]))


def running(world: World, *names: str) -> None:
    for name in names:
        config = api.ContainerConfig(metadata=api.ContainerMetadata(name=name))
        world.cri.containers[name] = FakeContainer(name, "s1", config, api.ContainerState.CONTAINER_RUNNING)


def target(name: str = "app", **fields: Any) -> KillTarget:
    made = {"container_id": name, "name": name, "pod": "web_shop(u1)", "sandbox_id": "s1", "termination_grace_s": 30}
    return KillTarget(**{**made, **fields})


def kill(world: World, made: KillTarget, order: KillOrder | None = None) -> None:
    asyncio.run(world.runtime().kill_container(made, order or KillOrder(), event=world.event))


KILLING = ("app", "Normal", "Killing", "Stopping container app")


@pytest.mark.parametrize(
    ("fields", "order", "timeout"),
    [
        ({}, KillOrder(), 30),
        ({"deletion_grace_s": 5}, KillOrder(), 5),
        ({"deletion_grace_s": 0}, KillOrder(), 2),
        ({}, KillOrder(grace_s=0), 2),
        ({}, KillOrder(grace_s=600), 600),
        ({"probe_grace_s": {KillReason.LIVENESS: 1}}, KillOrder(reason=KillReason.LIVENESS), 2),
    ],
)
def test_the_runtime_gets_the_grace_but_two_seconds_at_least(
    tmp_path: Path, fields: dict[str, Any], order: KillOrder, timeout: int
) -> None:
    world = World(tmp_path)
    running(world, "app")
    kill(world, target(**fields), order)
    assert world.cri.stops == [("app", timeout)]
    assert world.events == [KILLING]


def test_the_event_says_why(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "app")
    kill(world, target(), KillOrder(message="Container app failed liveness probe, will be restarted"))
    assert world.events == [("app", "Normal", "Killing", "Container app failed liveness probe, will be restarted")]


def test_what_is_gone_has_stopped(tmp_path: Path) -> None:
    world = World(tmp_path)
    kill(world, target())
    assert world.events == [KILLING]


def test_a_runtime_that_cannot_stop_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "app")
    world.cri.errors["stop_container"] = [unknown("stuck")]
    with pytest.raises(RpcTransient, match="stuck"):
        kill(world, target())


def test_the_hook_runs_first_and_its_time_is_subtracted(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "app")
    ended: list[str] = []
    world.cri.on_exec = lambda: setattr(world, "now", world.now + 4.9)
    kill(world, target(pre_stop=COMMAND), KillOrder(pre_stop_ended=ended.append))
    assert world.cri.calls == ["exec_sync", "stop_container"]
    assert world.cri.stops == [("app", 26)]
    assert ended == ["app"]


@pytest.mark.parametrize(
    "order", [KillOrder(grace_s=0), KillOrder(grace_s=-1), KillOrder(skip_pre_stop=frozenset({"app"}))]
)
def test_no_hook_runs_without_grace_or_a_second_time(tmp_path: Path, order: KillOrder) -> None:
    world = World(tmp_path)
    running(world, "app")
    kill(world, target(pre_stop=COMMAND), order)
    assert world.cri.calls == ["stop_container"]


def test_a_failed_hook_is_told_and_the_kill_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "app")
    world.cri.exec_reply = api.ExecSyncResponse(exit_code=1, stderr=b"secret")
    kill(world, target(pre_stop=COMMAND))
    assert world.events == [KILLING, ("app", "Warning", "FailedPreStopHook", "PreStopHook failed")]
    assert world.cri.stops == [("app", 30)]


class SlowHook:
    """A runtime whose commands end only when they are let go."""

    def __init__(self, world: World) -> None:
        self.released = asyncio.Event()
        self.begun = asyncio.Event()
        self.count = 0
        world.cri.exec_sync = self.exec_sync  # type: ignore[method-assign]

    async def exec_sync(self, request: api.ExecSyncRequest, *, timeout_s: float | None = None) -> api.ExecSyncResponse:
        self.count += 1
        self.begun.set()
        await self.released.wait()
        return api.ExecSyncResponse()


@pytest.mark.slow
def test_a_hook_that_outlives_the_grace_is_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        running(world, "app")
        slow = SlowHook(world)
        ended = asyncio.Event()
        order = KillOrder(grace_s=1, pre_stop_ended=lambda _: ended.set())
        await world.runtime().kill_container(target(pre_stop=COMMAND), order, event=world.event)
        assert [name for name, _ in world.cri.stops] == ["app"]
        assert not ended.is_set()
        slow.released.set()
        await asyncio.wait_for(ended.wait(), 5)

    asyncio.run(scenario())


def test_a_kill_made_again_with_less_grace_waits_for_the_same_hook(tmp_path: Path) -> None:
    async def scenario() -> None:
        world = World(tmp_path)
        running(world, "app")
        slow, runtime = SlowHook(world), world.runtime()
        made = target(pre_stop=COMMAND)
        first = asyncio.create_task(runtime.kill_container(made, KillOrder(), event=world.event))
        await slow.begun.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(runtime.kill_container(made, KillOrder(grace_s=9), event=world.event))
        await asyncio.sleep(0)
        slow.released.set()
        await second
        assert slow.count == 1
        assert world.cri.stops == [("app", 9)]

    asyncio.run(scenario())


def test_a_sleeping_hook_takes_its_time_from_the_grace(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "app")
    kill(world, target(pre_stop=LifecycleHandler(sleep=SleepAction(seconds=0))))
    assert world.cri.stops == [("app", 30)]


def sidecar(name: str) -> dict[str, Any]:
    return make_container(name=name, restartPolicy="Always")


def kill_pod(runtime: Runtime, world: World, names: list[str], order: KillOrder) -> Any:
    pod = make_pod({"initContainers": [sidecar("proxy")], "containers": [make_container(), make_container(name="b")]})
    turns = TerminationOrder.of(pod, names, now=lambda: world.now)
    targets = [target(name) for name in names]
    return runtime.kill_containers(targets, order, event=world.event, turns=turns)


def test_a_pods_containers_end_together_and_its_sidecar_last(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "proxy", "app", "b")
    world.cri.on_stop = lambda name: setattr(world, "now", world.now + 3)
    asyncio.run(kill_pod(world.runtime(), world, ["proxy", "app", "b"], KillOrder()))
    assert world.cri.stops == [("app", 30), ("b", 30), ("proxy", 24)]


def test_without_grace_all_end_at_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "proxy", "app", "b")
    asyncio.run(kill_pod(world.runtime(), world, ["proxy", "app", "b"], KillOrder(grace_s=0)))
    assert sorted(world.cri.stops) == [("app", 2), ("b", 2), ("proxy", 2)]


def test_all_are_tried_and_every_failure_is_told(tmp_path: Path) -> None:
    world = World(tmp_path)
    running(world, "app", "b")
    world.cri.errors["stop_container"] = [unknown("stuck"), unknown("stuck too")]
    with pytest.raises(RpcTransient, match="stuck") as caught:
        asyncio.run(kill_pod(world.runtime(), world, ["app", "b"], KillOrder()))
    assert caught.value.__notes__ == ["rpc error: code = Unknown desc = stuck too"]
    asyncio.run(kill_pod(world.runtime(), world, ["app", "b"], KillOrder()))
    assert len(world.cri.stops) == 2
