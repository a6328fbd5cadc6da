"""The client against a runtime on a real socket: deadlines, errors, parts, reconnection."""

import asyncio
import contextlib
import math
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from prometheus_client import CollectorRegistry

from shared.cri import api
from shared.cri.client import CommandTimedOut, RuntimeClient
from shared.cri.metrics import RuntimeMetrics
from shared.errors import Conflict, Invalid, NotFound, OctoletError, Transient, Unsupported
from shared.rpc.errors import RpcError
from shared.rpc.methods import service_methods
from tests.shared.cri.fake_runtime import FakeRuntime, serving
from tests.shared.cri.pods import container_config, create_container, run_pod, run_sandbox, sandbox_config


@asynccontextmanager
async def connected(tmp_path: Path, **options: Any) -> AsyncIterator[tuple[FakeRuntime, RuntimeClient]]:
    fake = FakeRuntime()
    async with fake.served(tmp_path / "cri.sock") as endpoint, RuntimeClient(endpoint, **options) as client:
        yield fake, client


async def failure(call: Awaitable[object]) -> OctoletError:
    with pytest.raises(OctoletError) as caught:
        await call
    return caught.value


STATUSES = [
    (grpc.StatusCode.NOT_FOUND, NotFound, "rpc error: code = NotFound desc = words"),
    (grpc.StatusCode.ALREADY_EXISTS, Conflict, "rpc error: code = AlreadyExists desc = words"),
    (grpc.StatusCode.FAILED_PRECONDITION, Conflict, "rpc error: code = FailedPrecondition desc = words"),
    (grpc.StatusCode.UNIMPLEMENTED, Unsupported, "rpc error: code = Unimplemented desc = words"),
    (grpc.StatusCode.INVALID_ARGUMENT, Invalid, "rpc error: code = InvalidArgument desc = words"),
    (grpc.StatusCode.UNAVAILABLE, Transient, "rpc error: code = Unavailable desc = words"),
    (grpc.StatusCode.UNKNOWN, Transient, "rpc error: code = Unknown desc = words"),
    (grpc.StatusCode.CANCELLED, Transient, "rpc error: code = Canceled desc = words"),
]


@pytest.mark.parametrize(("status", "kind", "text"), STATUSES, ids=lambda v: getattr(v, "name", None))
def test_a_status_becomes_the_error_to_act_on_with_the_runtimes_words(
    tmp_path: Path, status: grpc.StatusCode, kind: type[OctoletError], text: str
) -> None:
    async def run() -> None:
        async with connected(tmp_path) as (fake, client):
            fake.failing["ListContainers"] = (status, "words")
            error = await failure(client.list_containers(api.ListContainersRequest()))
            assert isinstance(error, kind)
            assert str(error) == text
            assert isinstance(error, RpcError)
            assert error.details == "words"

    asyncio.run(run())


def test_our_own_deadline_reads_as_go_clients_write_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path, timeout_s=0.05) as (fake, client):
            fake.hanging.add("ListContainers")
            error = await failure(client.list_containers(api.ListContainersRequest()))
            assert isinstance(error, Transient)
            assert str(error) == "rpc error: code = DeadlineExceeded desc = context deadline exceeded"

    asyncio.run(run())


DEADLINES: list[tuple[str, Callable[[RuntimeClient], Awaitable[Any]], float]] = [
    ("Version", lambda c: c.version(), 10.0),
    ("RunPodSandbox", lambda c: c.run_pod_sandbox(api.RunPodSandboxRequest()), 20.0),
    ("StopContainer", lambda c: c.stop_container(api.StopContainerRequest(timeout=30)), 40.0),
    ("ExecSync", lambda c: c.exec_sync(api.ExecSyncRequest(timeout=3)), 13.0),
    ("ExecSync", lambda c: c.exec_sync(api.ExecSyncRequest()), math.inf),
    ("PullImage", lambda c: c.pull_image(api.PullImageRequest()), math.inf),
    ("CheckpointContainer", lambda c: c.checkpoint_container(api.CheckpointContainerRequest(timeout=3)), 10.0),
    ("CheckpointContainer", lambda c: c.checkpoint_container(api.CheckpointContainerRequest(timeout=300)), 300.0),
    ("ContainerStatus", lambda c: c.container_status(api.ContainerStatusRequest(), timeout_s=1.5), 1.5),
]


@pytest.mark.parametrize(("rpc", "call", "expected_s"), DEADLINES, ids=lambda v: v if isinstance(v, str) else None)
def test_each_rpc_has_upstreams_deadline(
    tmp_path: Path, rpc: str, call: Callable[[RuntimeClient], Awaitable[Any]], expected_s: float
) -> None:
    seen: list[tuple[str, float]] = []

    def noting(name: str) -> Callable[[Any, Any], Awaitable[None]]:
        async def note(_request: Any, context: Any) -> None:
            left = context.time_remaining()
            seen.append((name, math.inf if left is None else left))
            await context.abort(grpc.StatusCode.ABORTED, "noted")

        return note

    async def run() -> None:
        methods = service_methods(api.DESCRIPTOR, "RuntimeService") | service_methods(api.DESCRIPTOR, "ImageService")
        server = SimpleNamespace(**{m.attribute: noting(m.name) for m in methods.values() if not m.server_streaming})
        async with serving(server, tmp_path / "cri.sock") as endpoint, RuntimeClient(endpoint, timeout_s=10) as client:
            await failure(call(client))

    asyncio.run(run())
    [(asked, left_s)] = seen
    assert asked == rpc
    assert left_s > 1e6 if math.isinf(expected_s) else abs(left_s - expected_s) < 1


def test_a_command_that_takes_too_long_is_told_by_its_words_and_time(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path) as (fake, client):
            fake.failing["ExecSync"] = (grpc.StatusCode.DEADLINE_EXCEEDED, "timeout 2s exceeded")
            request = api.ExecSyncRequest(container_id="c", cmd=["cat", "/tmp/health"], timeout=2)
            error = await failure(client.exec_sync(request))
            assert isinstance(error, CommandTimedOut)
            assert str(error) == 'command timed out: "cat /tmp/health" timed out after 2s'

    asyncio.run(run())


def test_a_failed_pull_is_told_in_the_runtimes_bare_words_unless_it_is_of_a_known_kind(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path) as (fake, client):
            fake.failing["PullImage"] = (grpc.StatusCode.UNKNOWN, "failed to resolve reference")
            assert str(await failure(client.pull_image(api.PullImageRequest()))) == "failed to resolve reference"
            fake.failing["PullImage"] = (grpc.StatusCode.NOT_FOUND, "no such tag")
            error = await failure(client.pull_image(api.PullImageRequest()))
            assert isinstance(error, NotFound)
            assert str(error) == "rpc error: code = NotFound desc = no such tag"

    asyncio.run(run())


def test_not_implemented_inside_an_unknown_counts_as_unsupported_for_pod_resources(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path) as (fake, client):
            request = api.UpdatePodSandboxResourcesRequest(pod_sandbox_id="s")
            fake.failing["UpdatePodSandboxResources"] = (grpc.StatusCode.UNKNOWN, "not implemented yet")
            assert isinstance(await failure(client.update_pod_sandbox_resources(request)), Unsupported)
            fake.failing["UpdatePodSandboxResources"] = (grpc.StatusCode.UNKNOWN, "no space")
            assert isinstance(await failure(client.update_pod_sandbox_resources(request)), Transient)

    asyncio.run(run())


def test_half_a_status_is_an_error_and_not_a_result(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path) as (fake, client):
            config = sandbox_config("uid-1")
            sandbox_id = await run_sandbox(client, config)
            container_id = await create_container(client, sandbox_id, config, container_config(config))
            fake.containers[container_id][1].image_ref = ""
            error = await failure(client.container_status(api.ContainerStatusRequest(container_id=container_id)))
            assert str(error) == f"status.ImageRef is not set for container '{container_id}'"
            fake.sandboxes[sandbox_id].metadata.namespace = ""
            error = await failure(client.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)))
            assert str(error) == f"status.Metadata.Namespace is not set for sandbox '{sandbox_id}'"
            assert isinstance(error, Transient)

    asyncio.run(run())


class InParts(FakeRuntime):
    """A runtime that lists sandboxes in parts too. `break_after`: fail after that many parts."""

    break_after: int | None = None

    async def stream_pod_sandboxes(self, _request: Any, context: Any) -> AsyncIterator[api.StreamPodSandboxesResponse]:
        await self._enter("StreamPodSandboxes", context)
        for number, status in enumerate(self.sandboxes.values()):
            if number == self.break_after:
                await context.abort(grpc.StatusCode.INTERNAL, "broken")
            yield api.StreamPodSandboxesResponse(pod_sandboxes=[api.PodSandbox(id=status.id)])


def test_a_listing_in_parts_is_put_together_and_fails_whole(tmp_path: Path) -> None:
    async def run() -> None:
        fake = InParts()
        request = api.ListPodSandboxRequest()
        async with fake.served(tmp_path / "cri.sock") as endpoint, RuntimeClient(endpoint, stream_lists=True) as client:
            made = [await run_sandbox(client, sandbox_config(f"uid-{number}")) for number in range(3)]
            assert [item.id for item in (await client.list_pod_sandbox(request)).items] == made
            fake.break_after = 2
            assert isinstance(await failure(client.list_pod_sandbox(request)), Transient)
            assert "ListPodSandbox" not in fake.calls

    asyncio.run(run())


def test_a_runtime_that_cannot_list_in_parts_is_asked_so_only_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path, stream_lists=True) as (fake, client):
            made = await run_sandbox(client, sandbox_config("uid-1"))
            for _ in range(2):
                listed = await client.list_pod_sandbox(api.ListPodSandboxRequest())
                assert [item.id for item in listed.items] == [made]
            assert fake.calls.count("ListPodSandbox") == 2
            assert client.stream_pod_sandboxes(api.StreamPodSandboxesRequest()) is not None

    asyncio.run(run())


def test_a_client_finds_a_runtime_that_starts_later_or_starts_again(tmp_path: Path) -> None:
    async def answers(client: RuntimeClient) -> None:
        while True:
            try:
                await client.version()
                return
            except Transient:
                await asyncio.sleep(0.02)

    async def run() -> None:
        socket = tmp_path / "cri.sock"
        async with RuntimeClient(f"unix://{socket}") as client:
            error = await failure(client.version())
            assert str(error).startswith("rpc error: code = Unavailable desc = ")
            for _ in range(2):
                async with FakeRuntime().served(socket):
                    await asyncio.wait_for(answers(client), 5)
                assert isinstance(await failure(client.version()), Transient)

    asyncio.run(run())


def test_a_runtime_that_is_not_there_is_told_with_its_socket_and_the_reason(tmp_path: Path) -> None:
    async def run() -> None:
        async with RuntimeClient(f"unix://{tmp_path}/cri.sock") as client:
            error = await failure(client.version(api.VersionRequest()))
            assert isinstance(error, Transient)
            assert str(error) == (
                'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: '
                f'dial unix {tmp_path}/cri.sock: connect: no such file or directory"'
            )

    asyncio.run(run())


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:1234", "http:///run/x.sock", "run/x.sock", "unix://x.sock"])
def test_only_unix_sockets_are_endpoints(endpoint: str) -> None:
    async def run() -> None:
        with pytest.raises(Invalid, match="only support unix socket endpoint"):
            async with RuntimeClient(endpoint):
                pass

    asyncio.run(run())


def test_calls_and_failures_are_counted_by_operation(tmp_path: Path) -> None:
    async def run() -> None:
        registry = CollectorRegistry()
        async with connected(tmp_path, observer=RuntimeMetrics(registry)) as (_, client):
            await run_pod(client, "uid-1")
            await failure(client.container_status(api.ContainerStatusRequest(container_id="nobody")))
            await client.list_containers(api.ListContainersRequest())

        def value(name: str, operation: str) -> float | None:
            return registry.get_sample_value(f"kubelet_runtime_operations_{name}", {"operation_type": operation})

        assert value("total", "run_podsandbox") == 1
        assert value("total", "container_status") == 1
        assert value("errors_total", "container_status") == 1
        assert value("errors_total", "list_containers") is None
        assert value("duration_seconds_count", "list_containers") == 1

    asyncio.run(run())


def test_container_events_end_with_the_reader(tmp_path: Path) -> None:
    async def run() -> None:
        async with connected(tmp_path) as (fake, client):
            async with contextlib.aclosing(client.get_container_events()) as events:
                first = asyncio.ensure_future(anext(events))
                while not fake._streams:
                    await asyncio.sleep(0.01)
                _, container_id = await run_pod(client, "uid-1")
                assert (await first).container_event_type == api.CONTAINER_CREATED_EVENT
                assert (await anext(events)).container_event_type == api.CONTAINER_STARTED_EVENT
                fake.exit_container(container_id, 3)
                last = await anext(events)
                assert (last.container_id, last.pod_sandbox_status.metadata.uid) == (container_id, "uid-1")
            while fake._streams:
                await asyncio.sleep(0.01)

    asyncio.run(run())


LOOK_AT_THREADS = """
import asyncio, os, sys
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import Transient

def threads(): return len(os.listdir("/proc/self/task"))

async def main():
    async with RuntimeClient(sys.argv[1]) as client:
        before = threads()
        try:
            await client.version(api.VersionRequest())
        except Transient:
            pass
        print(before, threads())

asyncio.run(main())
"""


def test_a_client_that_was_not_used_has_started_no_thread_of_grpc(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOOK_AT_THREADS, f"unix://{tmp_path}/none.sock"]
    before, after = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert before == 1 < after


def test_a_wrong_endpoint_is_refused_before_the_first_call() -> None:
    async def scenario() -> None:
        async with RuntimeClient("tcp://127.0.0.1:1"):
            pass

    with pytest.raises(Invalid, match="only support unix socket endpoint"):
        asyncio.run(scenario())


def test_a_closed_client_opens_no_channel_any_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RuntimeClient(f"unix://{tmp_path}/none.sock") as client:
            pass
        await client.version(api.VersionRequest())

    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(scenario())
