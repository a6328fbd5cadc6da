"""A process that dies at any instant and begins anew makes nothing twice."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.runtime.model import Sandbox, StartError
from shared.cri import api
from shared.errors import Transient
from tests.pod_sync.environment.manifests import make_container
from tests.pod_sync.runtime.fake_runtime import Crash
from tests.pod_sync.runtime.world import World

SPEC = {"containers": [make_container(lifecycle={"postStart": {"exec": {"command": ["hi"]}}})]}


async def life(world: World) -> tuple[Sandbox, str]:
    """What a worker does for a new pod, over and over until it is done."""
    runtime, pod = world.runtime(), world.context(SPEC)
    sandbox = await runtime.create_sandbox(pod, 0, event=world.event)
    container = await runtime.start_container(pod, "app", sandbox=sandbox, attempt=0, event=world.event)
    return sandbox, container


@given(st.lists(st.integers(0, 6), max_size=6))
def test_whenever_it_dies_one_sandbox_and_one_container_are_there_in_the_end(crashes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for point in crashes:
            world.cri.crash_after = point
            try:
                asyncio.run(life(world))
            except Crash:
                pass
            except (StartError, Transient) as error:
                raise AssertionError("a crash is never shown on the pod") from error
        world.cri.crash_after = None
        sandbox, container = asyncio.run(life(world))
        assert list(world.cri.sandboxes) == [sandbox.id]
        assert list(world.cri.containers) == [container]
        assert world.cri.containers[container].state == api.ContainerState.CONTAINER_RUNNING
        assert world.cri.execs, "the hook ran at least once"


@given(st.lists(st.integers(0, 3), max_size=4))
def test_a_kill_that_is_cut_is_made_again(crashes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        sandbox, container = asyncio.run(life(world))

        async def end() -> None:
            runtime = world.runtime()
            await runtime.stop_sandbox(sandbox.id)
            await runtime.remove_sandbox(sandbox.id)

        for point in crashes:
            world.cri.crash_after = point
            try:
                asyncio.run(end())
            except Crash:
                continue
        world.cri.crash_after = None
        asyncio.run(end())
        assert world.cri.sandboxes == {}
        assert container not in world.cri.containers


def test_a_container_that_ended_in_the_meantime_is_not_run_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    _, container = asyncio.run(life(world))
    world.cri.containers[container].state = api.ContainerState.CONTAINER_EXITED
    hooks = len(world.cri.execs)
    assert asyncio.run(life(world))[1] == container
    assert len(world.cri.execs) == hooks
