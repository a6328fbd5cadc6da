"""The same cases against the runtime in memory and against containerd: what tests assume of the fake holds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import NotFound
from tests.node.surroundings import VERSIONS, surroundings
from tests.shared.cri.fake_runtime import FakeRuntime
from tests.shared.cri.pods import container_config, create_container, run_pod, run_sandbox, sandbox_config

Run = Callable[[Callable[[RuntimeClient, str], Awaitable[None]]], None]
REAL = [pytest.param(version, marks=pytest.mark.node, id=f"containerd{version}") for version in VERSIONS]
POLL_S = 0.05


@pytest.fixture(scope="module", params=["fake", *REAL])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs a case with a client and the cgroup parent to use, and removes its pods."""
    if request.param == "fake":
        socket = tmp_path_factory.mktemp("fake") / "cri.sock"
        yield lambda case: asyncio.run(asyncio.wait_for(with_fake(socket, case), 30))
        return
    with surroundings(request.param) as machine:

        def run_real(case: Callable[[RuntimeClient, str], Awaitable[None]]) -> None:
            async def whole() -> None:
                async with RuntimeClient(machine.endpoint) as client:
                    await case(client, f"{machine.cgroup_root}/contract")

            asyncio.run(asyncio.wait_for(whole(), 60))
            machine.remove_pods()

        yield run_real


async def with_fake(socket: Path, case: Callable[[RuntimeClient, str], Awaitable[None]]) -> None:
    async with FakeRuntime().served(socket) as endpoint, RuntimeClient(endpoint) as client:
        await case(client, "/contract")


async def status_of(client: RuntimeClient, container_id: str) -> api.ContainerStatus:
    return (await client.container_status(api.ContainerStatusRequest(container_id=container_id))).status


async def reaches(client: RuntimeClient, container_id: str, state: api.ContainerState) -> api.ContainerStatus:
    while (status := await status_of(client, container_id)).state != state:
        await asyncio.sleep(POLL_S)
    return status


def test_a_container_goes_from_created_through_running_to_exited(run: Run) -> None:
    async def case(client: RuntimeClient, cgroup: str) -> None:
        config = sandbox_config("uid-1", cgroup_parent=cgroup)
        sandbox_id = await run_sandbox(client, config)
        container_id = await create_container(client, sandbox_id, config, container_config(config))
        created = await status_of(client, container_id)
        assert (created.state, created.started_at, created.finished_at) == (api.CONTAINER_CREATED, 0, 0)
        await client.start_container(api.StartContainerRequest(container_id=container_id))
        running = await status_of(client, container_id)
        assert running.state == api.CONTAINER_RUNNING
        assert running.started_at >= running.created_at > 0
        assert running.image.image
        assert running.image_ref
        await client.stop_container(api.StopContainerRequest(container_id=container_id, timeout=0))
        exited = await reaches(client, container_id, api.CONTAINER_EXITED)
        assert (exited.exit_code, exited.reason) == (137, "Error")
        assert exited.finished_at >= exited.started_at

    run(case)


def test_labels_and_annotations_come_back_as_they_were_given(run: Run) -> None:
    async def case(client: RuntimeClient, cgroup: str) -> None:
        config = sandbox_config("uid-1", cgroup_parent=cgroup)
        sandbox_id, container_id = await run_pod(client, "uid-1", cgroup_parent=cgroup)
        sandbox = (await client.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))).status
        assert (dict(sandbox.labels), dict(sandbox.annotations)) == (dict(config.labels), dict(config.annotations))
        assert sandbox.metadata == config.metadata
        assert sandbox.linux.namespaces.options.network == api.NODE
        container = await status_of(client, container_id)
        assert container.labels["io.kubernetes.container.name"] == "c"
        assert container.annotations["io.kubernetes.container.restartCount"] == "0"

    run(case)


def test_listings_are_filtered_by_label_and_name_the_sandbox(run: Run) -> None:
    async def case(client: RuntimeClient, cgroup: str) -> None:
        sandbox_id, container_id = await run_pod(client, "uid-1", name="one", cgroup_parent=cgroup)
        await run_pod(client, "uid-2", name="two", cgroup_parent=cgroup)
        only = {"io.kubernetes.pod.uid": "uid-1"}
        sandboxes = await client.list_pod_sandbox(
            api.ListPodSandboxRequest(filter=api.PodSandboxFilter(label_selector=only))
        )
        containers = await client.list_containers(
            api.ListContainersRequest(filter=api.ContainerFilter(label_selector=only))
        )
        assert [(s.id, s.state) for s in sandboxes.items] == [(sandbox_id, api.SANDBOX_READY)]
        listed = [(c.id, c.pod_sandbox_id, c.state) for c in containers.containers]
        assert listed == [(container_id, sandbox_id, api.CONTAINER_RUNNING)]
        assert len((await client.list_pod_sandbox(api.ListPodSandboxRequest())).items) == 2

    run(case)


def test_stopping_a_sandbox_ends_its_containers_and_removing_it_removes_them(run: Run) -> None:
    async def case(client: RuntimeClient, cgroup: str) -> None:
        sandbox_id, container_id = await run_pod(client, "uid-1", cgroup_parent=cgroup)
        stop = api.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        await client.stop_pod_sandbox(stop)
        await client.stop_pod_sandbox(stop)
        sandbox = (await client.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))).status
        assert sandbox.state == api.SANDBOX_NOTREADY
        assert (await reaches(client, container_id, api.CONTAINER_EXITED)).exit_code == 137
        remove = api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        await client.remove_pod_sandbox(remove)
        await client.remove_pod_sandbox(remove)
        with pytest.raises(NotFound):
            await status_of(client, container_id)
        with pytest.raises(NotFound):
            await client.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))

    run(case)


def test_what_is_not_there_is_removed_with_success_but_not_started(run: Run) -> None:
    async def case(client: RuntimeClient, _cgroup: str) -> None:
        with contextlib.suppress(NotFound):  # containerd 1.6 says so, 2.x does not
            await client.stop_container(api.StopContainerRequest(container_id="nobody"))
        with contextlib.suppress(NotFound):
            await client.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id="nobody"))
        await client.remove_container(api.RemoveContainerRequest(container_id="nobody"))
        await client.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id="nobody"))
        with pytest.raises(NotFound):
            await client.start_container(api.StartContainerRequest(container_id="nobody"))

    run(case)


@contextlib.asynccontextmanager
async def stop_events(client: RuntimeClient) -> AsyncIterator[asyncio.Queue[api.ContainerEventResponse]]:
    """Stop events from now on; the queue ends the test with what the stream raised."""
    seen: asyncio.Queue[api.ContainerEventResponse] = asyncio.Queue()

    async def read() -> None:
        async for event in client.get_container_events():
            if event.container_event_type == api.CONTAINER_STOPPED_EVENT:
                seen.put_nowait(event)

    task = asyncio.create_task(read())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_the_end_of_a_container_is_an_event_that_names_its_pod(run: Run, request: pytest.FixtureRequest) -> None:
    if "containerd1" in request.node.name:
        pytest.skip("containerd 1.6 has no events")

    async def case(client: RuntimeClient, cgroup: str) -> None:
        async with stop_events(client) as seen:
            await client.version()  # the stream was opened before on the same connection
            _, container_id = await run_pod(client, "uid-1", cgroup_parent=cgroup)
            await client.stop_container(api.StopContainerRequest(container_id=container_id, timeout=0))
            # containerd keeps events that nobody read, so those of earlier pods may come first.
            while (event := await asyncio.wait_for(seen.get(), 10)).container_id != container_id:
                pass
            assert event.pod_sandbox_status.metadata.uid == "uid-1"
            assert event.created_at > 0

    run(case)
