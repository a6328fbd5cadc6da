"""The daemon on a real bus, probing a real server."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from services.prober.settings import ProberSettings
from services.prober.shell import serve
from shared.bus import Bus, OwnedTable, TableView
from shared.kube.types import PodStatus
from shared.messages.base import Empty
from shared.messages.daemon import DAEMON, EVENTS, METRICS, DaemonState, EventRecord
from shared.messages.pleg import RUNTIME_PODS, RuntimePod
from shared.messages.pod_sync import POD_STATUS, PODS, PodEntry, PodPhase, PodStatusEntry
from shared.messages.prober import PROBE_RESULTS, ContainerProbes, ProbeOutcome
from shared.service import open_context
from tests.prober import examples
from tests.prober.test_network_probes import Server, answer

SOON_S = 5.0
SUCCESS, FAILURE, UNKNOWN = ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE, ProbeOutcome.UNKNOWN


@dataclass
class Node:
    pods: OwnedTable[PodEntry]
    status: OwnedTable[PodStatusEntry]
    runtime: OwnedTable[RuntimePod]
    results: TableView[ContainerProbes]
    events: TableView[EventRecord]
    daemon: TableView[DaemonState]
    server: Bus

    async def readiness(self, container_id: str, outcome: ProbeOutcome) -> None:
        assert await self.results.wait(
            lambda r: (row := r.get(container_id)) is not None and row.readiness is outcome, timeout_s=SOON_S
        ), self.results.get(container_id)


@asynccontextmanager
async def peers(run_dir: Path) -> AsyncIterator[Node]:
    async with Bus("pod_sync", run_dir) as pod_sync, Bus("pleg", run_dir) as pleg, Bus("server", run_dir) as server:
        yield Node(
            pods=pod_sync.own(PODS),
            status=pod_sync.own(POD_STATUS),
            runtime=pleg.own(RUNTIME_PODS),
            results=pod_sync.follow(PROBE_RESULTS),
            events=pod_sync.follow(EVENTS, owner="prober"),
            daemon=pod_sync.follow(DAEMON, owner="prober"),
            server=server,
        )


@asynccontextmanager
async def prober(run_dir: Path) -> AsyncIterator[None]:
    settings = ProberSettings(runtime_endpoint=f"unix://{run_dir}/no-runtime.sock")
    async with open_context("prober", settings, run_dir) as ctx:
        task = ctx.tasks.create_task(serve(ctx))
        yield
        ctx.stopping.set()
        await task


def web_pod(port: int) -> PodEntry:
    http = {"httpGet": {"port": "web", "path": "/ready"}, "periodSeconds": 1, "failureThreshold": 1}
    one = examples.container(ports=[{"name": "web", "containerPort": port}], readinessProbe=http)
    return examples.entry(examples.pod(containers=[one]))


def test_a_container_becomes_ready_and_unready_and_people_are_told_why(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = Server({"/ready": answer("200 OK")})
        async with server as port, peers(tmp_path) as node, prober(tmp_path):
            node.pods.put("uid-p", web_pod(port))
            node.pods.mark(complete=True)
            node.runtime.put("uid-p", examples.in_runtime("a", "running", _now()))
            node.runtime.mark(complete=True)
            await node.readiness("a", SUCCESS)
            assert await node.results.wait(lambda r: r.complete, timeout_s=SOON_S)
            server.answers["/ready"] = answer("503 No")
            await node.readiness("a", FAILURE)
            assert await node.events.wait(lambda e: len(e) > 0, timeout_s=SOON_S)
            event = next(iter(node.events.values()))
            assert (event.type, event.reason, event.message) == (
                "Warning",
                "Unhealthy",
                "Readiness probe failed: HTTP probe failed with statuscode: 503",
            )
            assert (event.involved_object.uid, event.involved_object.field_path) == ("uid-p", "spec.containers{c}")
            told = (await node.server.call(METRICS, Empty(), owner="prober")).text
            labels = 'container="c",namespace="default",pod="p",pod_uid="uid-p",probe_type="Readiness"'
            assert f'prober_probe_total{{{labels},result="failed"}} 1.0' in told
            assert 'prober_probe_duration_seconds_count{container="c",namespace="default",pod="p"' in told
            node.pods.delete("uid-p")
            node.runtime.delete("uid-p")
            assert await node.results.wait(lambda r: len(r) == 0, timeout_s=SOON_S)
            assert "uid-p" not in (await node.server.call(METRICS, Empty(), owner="prober")).text

    asyncio.run(scenario())


def test_after_a_restart_the_rows_are_there_before_any_peer_has_spoken(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Server({"/ready": answer("200 OK")}) as port:
            async with peers(tmp_path) as node, prober(tmp_path):
                node.pods.put("uid-p", web_pod(port))
                node.runtime.put("uid-p", examples.in_runtime("a", "running", _now()))
                await node.readiness("a", SUCCESS)
            async with prober(tmp_path), peers(tmp_path) as node:
                await node.readiness("a", SUCCESS)
                assert await node.daemon.wait(lambda d: (s := d.get("prober")) is not None and s.ready, SOON_S)
                state = node.daemon.get("prober")
                assert state is not None and len(state.degraded) == 2 and not node.results.complete
                # The container died meanwhile and pleg no longer lists it.
                node.pods.mark(complete=True)
                node.runtime.mark(complete=True)
                assert await node.results.wait(lambda r: r.complete and len(r) == 0, timeout_s=SOON_S)

    asyncio.run(scenario())


def test_a_torn_file_of_outcomes_is_set_aside(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "prober" / "outcomes"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"torn")

    async def scenario() -> None:
        async with peers(tmp_path) as node, prober(tmp_path):
            assert await node.daemon.wait(lambda d: (s := d.get("prober")) is not None and s.ready, SOON_S)

    asyncio.run(scenario())
    assert (kept.parent / "outcomes.corrupt-1").read_bytes() == b"torn"


def test_the_pods_address_comes_from_its_status_first(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Server({"/ready": answer("200 OK")}) as port, peers(tmp_path) as node, prober(tmp_path):
            node.status.put(
                "uid-p", PodStatusEntry(name="p", namespace="default", status=PodStatus(pod_ip="127.0.0.1"))
            )
            node.pods.put("uid-p", web_pod(port))
            node.runtime.put("uid-p", examples.in_runtime("a", "running", _now(), ip="127.0.0.99"))
            await node.readiness("a", SUCCESS)

    asyncio.run(scenario())


@pytest.mark.slow
def test_a_pod_that_ends_is_not_asked_any_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = Server({"/ready": answer("200 OK")})
        async with server as port, peers(tmp_path) as node, prober(tmp_path):
            entry = web_pod(port)
            node.pods.put("uid-p", entry)
            node.runtime.put("uid-p", examples.in_runtime("a", "running", _now()))
            await node.readiness("a", SUCCESS)
            node.pods.put("uid-p", msgspec.structs.replace(entry, phase=PodPhase.TERMINATED, may_run=False))
            node.runtime.put("uid-p", examples.in_runtime("a", "exited", _now()))
            await asyncio.sleep(0.2)
            before = len(server.requests)
            await asyncio.sleep(1.2)
            assert len(server.requests) == before

    asyncio.run(scenario())


def _now() -> float:
    return time.time()
