"""Many workers together, in virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from services.prober.model import Kind, Verdict, WorkerKey
from services.prober.pods import Wanted, current_container, had_started, wanted_workers
from services.prober.ports import Finding
from services.prober.results import Results
from services.prober.targets import ExecTarget, Target
from services.prober.workers import Clocks, Workers
from shared.kube.types import Container, Pod
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.pod_sync import PodEntry, PodPhase, PodStatusEntry
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.prober import examples
from tests.prober.virtual import run

SUCCESS, FAILURE, UNKNOWN = ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE, ProbeOutcome.UNKNOWN
OK, BAD = Finding(Verdict.SUCCESS), Finding(Verdict.FAILURE, "no")
EPOCH = 1_000_000.0
"""wall time minus loop time"""


class Table(dict[str, ContainerProbes]):
    def put(self, key: str, value: ContainerProbes) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


class Node:
    """One life of the prober over pods that outlive it. Probes are commands; `answers` says what each command finds."""

    def __init__(self, run_dir: Path, *, chance: float = 0.5) -> None:
        self.run_dir = run_dir
        self.chance = chance
        self.pods: dict[str, PodEntry] = {}
        self.runtime: dict[str, RuntimePod] = {}
        self.status: dict[str, PodStatusEntry] = {}
        self.answers: dict[str, Callable[[], Coroutine[Any, Any, Finding]]] = {}
        self.asked: list[tuple[float, str, str]] = []
        self.findings: list[Finding] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.boot()

    def restart(self) -> None:
        """SIGKILL, and another life."""
        for task in self.tasks:
            task.cancel()
        self.workers.close()
        self.boot()

    def boot(self) -> None:
        self.table = Table()
        self.results = Results(self.table, self.run_dir, failed=self._failed)
        self.results.restore()
        loop = asyncio.get_running_loop()
        self.workers = Workers(
            self,
            self,
            results=self.results,
            report=self,
            start=lambda work: self.tasks.append(loop.create_task(work)),
            clocks=Clocks(loop.time, lambda: loop.time() + EPOCH, lambda: self.chance, started_at=loop.time() + EPOCH),
        )
        for uid in self.pods:
            self.look(uid)

    def _failed(self, text: str | None) -> None:
        assert text is None

    def look(self, uid: str) -> None:
        self.workers.pod_changed(uid, wanted_workers(uid, self.pods[uid]) if uid in self.pods else {})

    def run_pod(self, of: Pod, container_id: str = "a", *, started_s_ago: float = 0.0) -> str:
        uid = of.metadata.uid
        self.pods[uid] = examples.entry(of)
        now = asyncio.get_running_loop().time() + EPOCH
        self.runtime[uid] = examples.in_runtime(container_id, "running", now - started_s_ago)
        self.look(uid)
        return uid

    # workers.Pods
    def container(self, uid: str, name: str) -> ContainerState | None:
        return current_container(self.runtime.get(uid), name)

    def had_started(self, uid: str, name: str, container_id: str) -> bool:
        return had_started(self.status.get(uid), name, container_id)

    def address(self, uid: str) -> str:
        return "10.0.0.1"

    # ports.Asker
    async def ask(self, target: Target, container_id: str, timeout_s: float) -> Finding:
        assert isinstance(target, ExecTarget)
        self.asked.append((asyncio.get_running_loop().time(), container_id, target.command[0]))
        return await self.answers[target.command[0]]() if target.command[0] in self.answers else OK

    # workers.Report
    def probed(self, worker: Wanted, finding: Finding, duration_s: float) -> None:
        self.findings.append(finding)

    def ended(self, worker: Wanted) -> None:
        return


def always(finding: Finding, *, after_s: float = 0.0) -> Callable[[], Coroutine[Any, Any, Finding]]:
    async def answer() -> Finding:
        await asyncio.sleep(after_s)
        return finding

    return answer


def probe(command: str, **fields: object) -> dict[str, object]:
    return {"exec": {"command": [command]}, **fields}


def pod_with(name: str = "p", **probes: dict[str, object]) -> Pod:
    return examples.pod(name, containers=[examples.container(**probes)])


def test_readiness_follows_the_probe_with_the_apis_defaults(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.run_pod(pod_with(readinessProbe=probe("r")))
        assert node.table["a"] == ContainerProbes(pod_uid="uid-p", container="c", readiness=FAILURE)
        await asyncio.sleep(0.01)
        assert node.table["a"].readiness is SUCCESS
        node.answers["r"] = always(BAD)
        await asyncio.sleep(29)
        assert node.table["a"].readiness is SUCCESS
        await asyncio.sleep(2)
        assert node.table["a"].readiness is FAILURE
        assert [at for at, _, _ in node.asked] == [1000.0, 1010.0, 1020.0, 1030.0]

    run(scenario())


def test_liveness_and_readiness_wait_for_the_startup_probe(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["s"] = always(BAD)
        node.run_pod(
            pod_with(
                startupProbe=probe("s", periodSeconds=1, failureThreshold=30),
                livenessProbe=probe("l"),
                readinessProbe=probe("r"),
            )
        )
        await asyncio.sleep(5.5)
        assert {command for _, _, command in node.asked} == {"s"}
        assert node.table["a"] == ContainerProbes(
            pod_uid="uid-p", container="c", startup=UNKNOWN, liveness=SUCCESS, readiness=FAILURE
        )
        node.answers["s"] = always(OK)
        await asyncio.sleep(1)
        assert [c for _, _, c in node.asked[-3:]] == ["s", "l", "r"]
        assert (node.table["a"].startup, node.table["a"].readiness) == (SUCCESS, SUCCESS)
        await asyncio.sleep(30)
        assert [c for _, _, c in node.asked].count("s") == 7

    run(scenario())


def test_a_restarted_container_starts_anew_and_the_old_ones_row_goes(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["l"] = always(BAD)
        of = pod_with(livenessProbe=probe("l", periodSeconds=1, failureThreshold=2))
        uid = node.run_pod(of)
        await asyncio.sleep(10)
        assert node.table["a"].liveness is FAILURE and len(node.asked) == 2
        node.run_pod(of, "b")
        assert set(node.table) == {"b"} and node.table["b"].liveness is SUCCESS
        await asyncio.sleep(0.5)
        assert node.asked[-1][1] == "b"
        node.runtime[uid] = examples.in_runtime("b", "exited", 0.0)
        node.look(uid)
        before = len(node.asked)
        await asyncio.sleep(10)
        assert len(node.asked) == before

    run(scenario())


def test_a_slow_probe_delays_nobody_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["slow"] = always(OK, after_s=100)
        node.run_pod(pod_with("slow", readinessProbe=probe("slow", periodSeconds=1)), "x")
        node.run_pod(pod_with("quick", readinessProbe=probe("quick", periodSeconds=1)), "y")
        await asyncio.sleep(10.5)
        assert [c for _, _, c in node.asked].count("quick") == 11
        assert [c for _, _, c in node.asked].count("slow") == 1

    run(scenario())


def test_an_error_is_tried_three_times_at_once_and_counts_for_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["l"] = always(Finding(Verdict.UNKNOWN, "runtime away", error=True))
        node.run_pod(pod_with(livenessProbe=probe("l", failureThreshold=1)))
        await asyncio.sleep(35)
        assert [at for at, _, _ in node.asked] == [1000.0] * 3 + [1010.0] * 3 + [1020.0] * 3 + [1030.0] * 3
        assert node.table["a"].liveness is SUCCESS and len(node.findings) == 4

    run(scenario())


def test_an_address_that_is_missing_or_a_port_that_is_wrong_counts_for_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.run_pod(pod_with(livenessProbe={"httpGet": {"port": "nope"}, "failureThreshold": 1}))
        await asyncio.sleep(0.1)
        assert node.findings == [Finding(Verdict.UNKNOWN, 'port "nope" not found', error=True)]
        assert node.table["a"].liveness is SUCCESS

    run(scenario())


def test_after_a_restart_of_the_daemon_nothing_is_forgotten_and_the_first_probes_are_spread(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["s"] = always(OK)
        node.run_pod(
            pod_with(
                startupProbe=probe("s"),
                livenessProbe=probe("l"),
                readinessProbe=probe("r", initialDelaySeconds=60),
            )
        )
        await asyncio.sleep(65)
        before = dict(node.table)
        assert before["a"] == ContainerProbes(
            pod_uid="uid-p", container="c", startup=SUCCESS, liveness=SUCCESS, readiness=SUCCESS
        )
        node.asked.clear()
        node.restart()
        assert node.table == before
        await asyncio.sleep(4.9)
        assert node.asked == [] and node.table == before
        await asyncio.sleep(0.2)
        assert sorted(c for _, _, c in node.asked) == ["l", "r"]

    run(scenario())


def test_who_is_not_ready_is_asked_at_once_after_a_restart_of_the_daemon(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["r"] = always(BAD)
        node.run_pod(pod_with(readinessProbe=probe("r")))
        await asyncio.sleep(1)
        node.answers["r"] = always(OK)
        node.restart()
        await asyncio.sleep(0.01)
        assert node.table["a"].readiness is SUCCESS

    run(scenario())


def test_an_initial_delay_that_is_under_way_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path, chance=0.0)
        node.run_pod(pod_with(readinessProbe=probe("r", initialDelaySeconds=30)))
        await asyncio.sleep(20)
        node.restart()
        await asyncio.sleep(9.9)
        assert node.asked == []
        await asyncio.sleep(0.2)
        assert len(node.asked) == 1

    run(scenario())


@pytest.mark.parametrize(("ago", "readiness"), [(11.0, UNKNOWN), (9.0, FAILURE)])
def test_a_container_that_nothing_is_known_of_keeps_its_readiness_only_if_it_is_older_than_ten_seconds(
    tmp_path: Path, ago: float, readiness: ProbeOutcome
) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.run_pod(pod_with(readinessProbe=probe("r")), started_s_ago=ago)
        assert node.table["a"].readiness is readiness

    run(scenario())


def test_what_the_pods_status_says_had_started_is_not_asked_for_its_startup_again(tmp_path: Path) -> None:
    from shared.kube.types import ContainerStatus, PodStatus

    async def scenario() -> None:
        node = Node(tmp_path)
        started = ContainerStatus(name="c", container_id="containerd://a", started=True)
        node.status["uid-p"] = PodStatusEntry(
            name="p", namespace="default", status=PodStatus(container_statuses=[started])
        )
        node.run_pod(pod_with(startupProbe=probe("s"), readinessProbe=probe("r")), started_s_ago=100)
        assert node.table["a"].startup is SUCCESS
        await asyncio.sleep(30)
        assert {c for _, _, c in node.asked} == {"r"}

    run(scenario())


def test_a_poke_asks_those_that_are_not_ready(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["r"] = always(BAD)
        uid = node.run_pod(pod_with(readinessProbe=probe("r"), livenessProbe=probe("l")))
        await asyncio.sleep(3)
        node.workers.poke(uid)
        await asyncio.sleep(0.01)
        assert [c for _, _, c in node.asked].count("r") == 2 and [c for _, _, c in node.asked].count("l") == 1

    run(scenario())


def sidecar(**probes: object) -> Container:
    return examples.container(**{"name": "side", "restartPolicy": "Always", **probes})


def test_a_stopping_pod_keeps_readiness_and_its_sidecars_probes(tmp_path: Path) -> None:
    every: dict[str, dict[str, object]] = {
        "startupProbe": probe("s"),
        "livenessProbe": probe("l"),
        "readinessProbe": probe("r"),
    }
    of = examples.pod(
        inits=[examples.container(name="init", livenessProbe=probe("x")), sidecar(**every)],
        containers=[examples.container(**every)],
    )
    running = {(k.container, k.kind) for k in wanted_workers("u", examples.entry(of))}
    assert running == {(name, kind) for name in ("c", "side") for kind in Kind}
    stopping = {(k.container, k.kind) for k in wanted_workers("u", examples.entry(of, PodPhase.TERMINATING))}
    assert stopping == {("c", Kind.READINESS), *(("side", kind) for kind in Kind)}
    assert wanted_workers("u", examples.entry(of, PodPhase.TERMINATED, may_run=False)) == {}
    assert wanted_workers("u", examples.entry(of))[WorkerKey("u", "side", Kind.LIVENESS)].field_path == (
        "spec.initContainers{side}"
    )

    async def scenario() -> None:
        node = Node(tmp_path)
        node.answers["s"] = always(OK)
        uid = node.run_pod(pod_with("p", **every))
        await asyncio.sleep(1)
        node.pods[uid] = examples.entry(node.pods[uid].pod, PodPhase.TERMINATING)
        node.look(uid)
        node.asked.clear()
        await asyncio.sleep(20)
        assert {c for _, _, c in node.asked} == {"r"}
        node.restart()
        await asyncio.sleep(20)
        assert {c for _, _, c in node.asked} == {"r"}
        del node.pods[uid]
        node.look(uid)
        assert len(node.workers) == 0

    run(scenario())


def test_thirty_pods_that_were_there_at_the_start_are_not_asked_at_the_same_moment(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(tmp_path)
        chances = iter(i / 30 for i in range(1000))
        for i in range(30):
            node.chance = next(chances)
            node.run_pod(pod_with(f"p{i}", readinessProbe=probe("r")), f"id{i}", started_s_ago=500)
        await asyncio.sleep(10.5)
        moments = [at for at, _, _ in node.asked]
        assert len(set(moments)) >= 30

    run(scenario())
