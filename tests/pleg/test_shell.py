"""The daemon with a real bus and a runtime on a real socket."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from services.pleg.settings import PlegSettings
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import Transient
from shared.messages.pleg import RuntimePod
from shared.telemetry.metrics import text_of
from tests.pleg.daemon import QUICK, Reader, reading, running_pleg
from tests.shared.cri.fake_runtime import FakeRuntime
from tests.shared.cri.pods import container_config, create_container, run_pod, sandbox_config

Case = Callable[[FakeRuntime, RuntimeClient, Reader], Awaitable[None]]


@asynccontextmanager
async def everything(tmp_path: Path, **settings: Any) -> AsyncIterator[tuple[FakeRuntime, RuntimeClient, Reader, Any]]:
    fake = FakeRuntime()
    async with fake.served(tmp_path / "cri.sock") as endpoint, RuntimeClient(endpoint) as cri:
        chosen = PlegSettings(**{"runtime_endpoint": endpoint, **QUICK, **settings})
        async with running_pleg(tmp_path / "run", chosen) as context, reading(tmp_path / "run") as reader:
            yield fake, cri, reader, context


def run(tmp_path: Path, case: Case, **settings: Any) -> None:
    async def whole() -> None:
        async with everything(tmp_path, **settings) as (fake, cri, reader, _):
            await case(fake, cri, reader)

    asyncio.run(asyncio.wait_for(whole(), 30))


def states(row: RuntimePod) -> list[str]:
    return [c.state for c in row.containers]


def test_a_pods_life_is_seen_from_first_sandbox_to_removal(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        sandbox_id, container_id = await run_pod(cri, "uid-1")
        row = await reader.row("uid-1", lambda r: states(r) == ["running"])
        assert (row.name, row.namespace, row.error) == ("web", "default", "")
        [sandbox], [container] = row.sandboxes, row.containers
        assert (sandbox.id, sandbox.ready, sandbox.ips, sandbox.network_mode) == (sandbox_id, True, ["10.0.0.1"], 2)
        assert sandbox.annotations == {"note": "kept"}
        assert (container.id, container.name, container.sandbox_id) == (container_id, "c", sandbox_id)
        assert container.resources == {"cpu_shares": 102, "memory_limit_in_bytes": 64 * 2**20}
        assert container.started_at_ns >= container.created_at_ns > 0
        fake.exit_container(container_id, 3)
        row = await reader.row("uid-1", lambda r: states(r) == ["exited"])
        assert (row.containers[0].exit_code, row.containers[0].reason) == (3, "Error")
        await cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        row = await reader.row("uid-1", lambda r: not r.sandboxes[0].ready)
        assert row.sandboxes[0].ips == ["10.0.0.1"], "kept for the pod's last status"
        await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
        await reader.gone("uid-1")

    run(tmp_path, case)


def test_the_table_vouches_for_the_start_of_each_listing(tmp_path: Path) -> None:
    async def case(_fake: FakeRuntime, _cri: RuntimeClient, reader: Reader) -> None:
        asked = time.monotonic()
        assert await reader.pods.wait(lambda v: v.complete and v.as_of_mono > asked, 5)
        seen = reader.pods.as_of_mono
        assert seen <= time.monotonic()
        assert await reader.pods.wait(lambda v: v.as_of_mono > seen, 5), "also when nothing changed"

    run(tmp_path, case)


def test_objects_that_belong_to_no_pod_are_not_shown(tmp_path: Path) -> None:
    async def case(_fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        config = sandbox_config("uid-1")
        del config.labels["io.kubernetes.pod.uid"]
        await cri.run_pod_sandbox(api.RunPodSandboxRequest(config=config))
        await run_pod(cri, "uid-2")
        await reader.row("uid-2", lambda r: states(r) == ["running"])
        assert list(reader.pods.keys()) == ["uid-2"]

    run(tmp_path, case)


def test_a_relist_on_demand_shows_what_was_done_before_it(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        assert await reader.pods.wait(lambda v: v.complete, 5)
        sandbox_id, container_id = await run_pod(cri, "uid-1")
        for act, expected in (("start", "running"), ("exit", "exited")):
            if act == "exit":
                fake.exit_container(container_id, 1, silent=True)
            acted = time.monotonic()
            reply = await reader.relist("uid-1")
            assert reply.as_of_mono > acted
            assert reply.pod is not None
            assert states(reply.pod) == [expected]
            await reader.row("uid-1", lambda r, e=expected: states(r) == [e], 1)  # type: ignore[misc]
        await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
        reply = await reader.relist("uid-1")
        assert (reply.pod, reply.error) == (None, "")
        await reader.gone("uid-1", 1)
        nobody = await reader.relist("uid-nobody")
        assert nobody.pod is None

    run(tmp_path, case, relist_period_s=60.0)


def test_a_relist_of_everything_moves_the_mark_past_the_question(tmp_path: Path) -> None:
    async def case(_fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        assert await reader.pods.wait(lambda v: v.complete, 5)
        await run_pod(cri, "uid-1")
        asked = time.monotonic()
        reply = await reader.relist()
        assert reply.as_of_mono > asked
        await reader.row("uid-1", lambda r: states(r) == ["running"], 1)

    run(tmp_path, case, relist_period_s=60.0)


def test_questions_that_come_together_share_one_listing(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        assert await reader.pods.wait(lambda v: v.complete, 5)
        await run_pod(cri, "uid-1")
        fake.hanging.add("ListContainers")
        fake.calls.clear()
        first = asyncio.create_task(reader.relist("uid-1"))
        while "ListContainers" not in fake.calls:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(reader.relist("uid-1")) for _ in range(20)]
        await asyncio.sleep(0.1)
        fake.hanging.clear()
        replies = await asyncio.gather(first, *others)
        assert fake.calls.count("ListContainers") == 2, "the one that ran, and one for all who asked meanwhile"
        assert {r.as_of_mono for r in replies[1:]} == {replies[1].as_of_mono}
        assert replies[1].as_of_mono > replies[0].as_of_mono

    run(tmp_path, case, relist_period_s=60.0)


def test_a_pod_that_cannot_be_inspected_carries_the_error_and_holds_nobody_up(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        _, bad = await run_pod(cri, "uid-bad", name="bad")
        await reader.row("uid-bad", lambda r: states(r) == ["running"])
        fake.failing["PodSandboxStatus"] = (grpc.StatusCode.UNKNOWN, "task is broken")
        fake.exit_container(bad, 1)
        row = await reader.row("uid-bad", lambda r: r.error != "")
        assert row.error == "rpc error: code = Unknown desc = task is broken"
        assert states(row) == ["running"], "as last seen"
        asked = time.monotonic()
        assert await reader.pods.wait(lambda v: v.as_of_mono > asked, 5)
        assert (await reader.relist("uid-bad")).error == row.error
        fake.failing.clear()
        row = await reader.row("uid-bad", lambda r: r.error == "")
        assert states(row) == ["exited"]

    run(tmp_path, case)


@pytest.mark.slow
def test_an_event_has_its_pod_listed_at_once(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        await reader.healthy(lambda h: h.event_stream)
        _, container_id = await run_pod(cri, "uid-1")
        await reader.relist("uid-1")
        fake.calls.clear()
        fake.exit_container(container_id, 9)
        row = await reader.row("uid-1", lambda r: states(r) == ["exited"], 2)
        assert row.containers[0].exit_code == 9
        assert fake.calls.count("ListContainers") == 1

    run(tmp_path, case, relist_period_s=60.0)


@pytest.mark.slow
def test_an_event_without_its_sandbox_is_matched_by_the_container(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        await reader.healthy(lambda h: h.event_stream)
        sandbox_id, container_id = await run_pod(cri, "uid-1")
        await reader.relist("uid-1")
        kept = fake.sandboxes.pop(sandbox_id)
        fake.exit_container(container_id, 9)
        fake.sandboxes[sandbox_id] = kept
        await reader.row("uid-1", lambda r: states(r) == ["exited"], 2)

    run(tmp_path, case, relist_period_s=60.0)


def test_a_lost_event_is_made_good_by_the_next_listing(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        _, container_id = await run_pod(cri, "uid-1")
        await reader.row("uid-1", lambda r: states(r) == ["running"])
        fake.exit_container(container_id, 9, silent=True)
        await reader.row("uid-1", lambda r: states(r) == ["exited"])

    run(tmp_path, case)


@pytest.mark.slow
def test_without_events_and_configuration_calls_everything_else_works(tmp_path: Path) -> None:
    async def whole() -> None:
        fake = FakeRuntime()
        fake.has_events = fake.has_config = False
        async with fake.served(tmp_path / "cri.sock") as endpoint, RuntimeClient(endpoint) as cri:
            settings = PlegSettings(runtime_endpoint=endpoint, **QUICK)
            async with running_pleg(tmp_path / "run", settings) as context, reading(tmp_path / "run") as reader:
                health = await reader.healthy(lambda h: h.last_ok_mono > 0)
                assert (health.cgroup_driver, health.event_stream) == ("", False)
                assert 'kubelet_cri_losing_support{version="1.38.0"} 1.0' in text_of(context.registry)
                _, container_id = await run_pod(cri, "uid-1")
                await reader.row("uid-1", lambda r: states(r) == ["running"])
                fake.exit_container(container_id)
                await reader.row("uid-1", lambda r: states(r) == ["exited"])
                fake.has_events, fake.runtime_version = True, "2.0.0"
                health = await reader.healthy(lambda h: h.event_stream)
                assert health.version == "2.0.0", "a newer runtime in its place is asked for events again"

    asyncio.run(asyncio.wait_for(whole(), 30))


def test_the_runtimes_health_is_published(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, _cri: RuntimeClient, reader: Reader) -> None:
        health = await reader.healthy(lambda h: h.last_ok_mono > 0 and h.last_relist_mono > 0)
        assert (health.name, health.version, health.api_version) == ("fake", "1.0.0", "v1")
        assert [(c.type, c.status) for c in health.conditions] == [("RuntimeReady", True), ("NetworkReady", True)]
        assert [(h.name, h.user_namespaces) for h in health.handlers] == [("", False), ("runc", True)]
        assert (health.cgroup_driver, health.supplemental_groups_policy) == ("cgroupfs", True)
        fake.network_ready = False
        health = await reader.healthy(lambda h: not all(c.status for c in h.conditions))
        assert health.conditions[1].message == "cni plugin not initialized"
        fake.failing["Status"] = (grpc.StatusCode.INTERNAL, "oops")
        failing = await reader.healthy(lambda h: h.error != "")
        assert failing.error == "rpc error: code = Internal desc = oops"
        assert failing.conditions == health.conditions, "the last known stays"
        fake.failing.clear()
        again = await reader.healthy(lambda h: h.error == "")
        assert again.last_ok_mono > failing.last_ok_mono

    run(tmp_path, case)


@pytest.mark.slow
def test_a_runtime_that_is_away_makes_it_degraded_and_keeps_the_table(tmp_path: Path) -> None:
    async def whole() -> None:
        socket, fake = tmp_path / "cri.sock", FakeRuntime()
        settings = PlegSettings(runtime_endpoint=f"unix://{socket}", **QUICK)
        async with running_pleg(tmp_path / "run", settings), reading(tmp_path / "run") as reader:
            assert await reader.daemon.wait(lambda v: any(row.ready for row in v.values()), 5), "ready all the same"
            assert not reader.pods.complete
            async with fake.served(socket) as endpoint, RuntimeClient(endpoint) as cri:
                await run_pod(cri, "uid-1")
                await reader.row("uid-1", lambda r: states(r) == ["running"])
                await reader.degraded(lambda texts: not texts)
            texts = await reader.degraded(lambda texts: len(texts) == 2)
            assert [text.partition(":")[0] for text in texts] == ["list pods", "read runtime status"]
            with pytest.raises(Transient):
                await reader.relist("uid-1", timeout_s=2)
            health = await reader.healthy(lambda h: h.error != "")
            assert health.version == "1.0.0"
            assert states(await reader.row("uid-1", lambda r: True)) == ["running"]
            async with fake.served(socket):
                asked = time.monotonic()
                assert await reader.pods.wait(lambda v: v.as_of_mono > asked, 10)
                await reader.degraded(lambda texts: not texts)
                await reader.healthy(lambda h: h.error == "")

    asyncio.run(asyncio.wait_for(whole(), 30))


@pytest.mark.slow
def test_a_hanging_runtime_is_noticed_and_forgiven(tmp_path: Path) -> None:
    async def case(fake: FakeRuntime, cri: RuntimeClient, reader: Reader) -> None:
        await run_pod(cri, "uid-1")
        await reader.row("uid-1", lambda r: states(r) == ["running"])
        fake.hanging.update({"Version", "Status", "ListContainers", "ContainerStatus"})
        texts = await reader.degraded(lambda texts: len(texts) == 2)
        assert all("DeadlineExceeded" in text for text in texts)
        fake.hanging.clear()
        await reader.degraded(lambda texts: not texts)
        asked = time.monotonic()
        assert await reader.pods.wait(lambda v: v.as_of_mono > asked, 5)

    run(tmp_path, case, runtime_request_timeout_s=0.3)


def test_a_restart_shows_the_world_as_it_is_without_a_gap(tmp_path: Path) -> None:
    async def whole() -> None:
        fake = FakeRuntime()
        async with fake.served(tmp_path / "cri.sock") as endpoint, RuntimeClient(endpoint) as cri:
            settings = PlegSettings(runtime_endpoint=endpoint, **QUICK)
            async with reading(tmp_path / "run") as reader:
                async with running_pleg(tmp_path / "run", settings):
                    await run_pod(cri, "uid-stays", name="stays")
                    leaves, _ = await run_pod(cri, "uid-leaves", name="leaves")
                    await reader.row("uid-stays", lambda r: states(r) == ["running"])
                    await reader.row("uid-leaves", lambda r: states(r) == ["running"])
                    before = reader.pods.generation
                await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=leaves))
                changes: list[tuple[str, bool]] = []
                reader.pods.on_change(lambda change: changes.append((change.key, change.new is None)))
                async with running_pleg(tmp_path / "run", settings):
                    await reader.gone("uid-leaves")
                    assert reader.pods.generation != before
                    await reader.row("uid-stays", lambda r: states(r) == ["running"])
                assert ("uid-stays", True) not in changes

    asyncio.run(asyncio.wait_for(whole(), 30))


def test_what_happens_is_counted_under_upstreams_names(tmp_path: Path) -> None:
    async def whole() -> None:
        async with everything(tmp_path) as (_, cri, reader, context):
            sandbox_id, _ = await run_pod(cri, "uid-1")
            config = sandbox_config("uid-1")
            await create_container(cri, sandbox_id, config, container_config(config, name="waiting"))
            await reader.row("uid-1", lambda r: sorted(states(r)) == ["created", "running"])
            await reader.relist("uid-1")
            text = text_of(context.registry)
        for line in (
            "kubelet_running_pods 1.0",
            'kubelet_running_containers{container_state="running"} 1.0',
            'kubelet_running_containers{container_state="created"} 1.0',
            'kubelet_running_containers{container_state="exited"} 0.0',
            "kubelet_pleg_discard_events 0.0",
        ):
            assert line in text, line
        for name in ("relist_duration", "relist_interval", "pod_relist_duration"):
            assert f"kubelet_pleg_{name}_seconds_count" in text
            assert f"kubelet_pleg_{name}_seconds_count 0.0" not in text, name
        assert "kubelet_pleg_last_seen_seconds 1." in text
        assert 'kubelet_runtime_operations_total{operation_type="list_containers"}' in text

    asyncio.run(asyncio.wait_for(whole(), 30))
