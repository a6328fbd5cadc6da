"""What eviction throws away on a whole node, and what it must not: seen in the runtime and on the disk."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.node.agent import Agent, agent_on
from tests.node.surroundings import Surroundings

pytestmark = pytest.mark.timeout(300)
WAIT_S = 60.0


@pytest.fixture(scope="module")
def node(machine: Surroundings) -> Iterator[Agent]:
    with agent_on(
        machine, containerLogMaxSize="16Ki", containerLogMaxFiles=3, containerLogMonitorInterval="3s"
    ) as agent:
        yield agent


@pytest.fixture(autouse=True)
def no_pods_left(node: Agent) -> Iterator[None]:
    yield
    for manifest in node.manifests.iterdir():
        manifest.unlink()
    node.wait(lambda: not node.pods(), WAIT_S, "no pods in /pods")


def log_files(node: Agent, name: str) -> list[str]:
    folders = list((node.directory / "podlogs").glob(f"default_{name}-node1_*/c"))
    return sorted(p.name for p in folders[0].iterdir()) if folders else []


def restarts(node: Agent, name: str) -> int:
    found = node.pods().get(name, {}).get("status", {}).get("containerStatuses") or [{}]
    return int(found[0].get("restartCount", 0))


def test_a_long_log_is_rotated_and_stays_readable(node: Agent) -> None:
    node.add("chatty", command="i=0; while true; do i=$((i+1)); echo line $i; usleep 2000; done")
    node.wait(lambda: [n for n in log_files(node, "chatty") if n.endswith(".gz")], WAIT_S, "a compressed log")
    files = log_files(node, "chatty")
    assert "0.log" in files and len([f for f in files if not f.endswith(".tmp")]) <= 3
    assert any(re.fullmatch(r"0\.log\.\d{8}-\d{6}\.gz", f) for f in files)
    before = node.get("/containerLogs/default/chatty-node1/c?tailLines=1").decode()
    node.wait(
        lambda: node.get("/containerLogs/default/chatty-node1/c?tailLines=1").decode() != before, WAIT_S, "it goes on"
    )


def test_of_a_container_that_fails_again_and_again_one_dead_instance_stays(node: Agent) -> None:
    node.add("failing", command="exit 3")
    node.wait(lambda: restarts(node, "failing") >= 2, WAIT_S, "restarted twice")
    node.wait(lambda: len(node.of("failing")) == 1, WAIT_S, "only the last is left")
    last = node.pods()["failing"]["status"]["containerStatuses"][0]["lastState"]
    assert last["terminated"]["exitCode"] == 3


def test_of_a_removed_pod_nothing_stays(node: Agent) -> None:
    node.add("gone")
    node.wait(lambda: node.is_running("gone"), WAIT_S, "running")
    assert log_files(node, "gone") == ["0.log"]
    node.remove("gone")
    node.wait(lambda: not node.of("gone"), WAIT_S, "no containers")
    node.wait(lambda: not [s for s in node.sandboxes() if s.pod == "gone"], 2 * WAIT_S, "no sandbox")
    node.wait(lambda: not log_files(node, "gone"), 2 * WAIT_S, "no logs")


def test_a_killed_eviction_daemon_removes_nothing_that_it_should_not(node: Agent) -> None:
    node.add("web")
    node.wait(lambda: node.is_running("web"), WAIT_S, "running")
    before = {c.id for c in node.of("web")}
    for _ in range(3):
        node.kill("eviction")
        node.wait(lambda: node.is_ready("eviction"), WAIT_S, "back")
    node.kill("pod_sync", "eviction")
    node.wait(lambda: node.is_ready("eviction") and node.is_ready("pod_sync"), WAIT_S, "both are back")
    node.wait(lambda: node.is_running("web"), WAIT_S, "still running")
    assert {c.id for c in node.of("web")} == before


def test_what_a_pod_uses_is_in_the_summary(node: Agent) -> None:
    command = "dd if=/dev/zero of=/dev/shm/x bs=1M count=20; while true; do :; done"
    limits = {"limits": {"cpu": "200m", "memory": "64Mi"}}
    node.add("busy", command=command, resources=limits)
    node.wait(lambda: node.is_running("busy"), WAIT_S, "running")

    def busy() -> dict[str, dict[str, int]]:
        pods = json.loads(node.get("/stats/summary"))["pods"]
        found = [p for p in pods if p["podRef"]["name"] == "busy-node1"]
        if not found or found[0]["cpu"].get("usageNanoCores", 0) < 100_000_000:
            return {}
        return dict(found[0])

    pod = node.wait(busy, WAIT_S, "its rate is known")
    assert 100_000_000 <= pod["cpu"]["usageNanoCores"] <= 400_000_000
    assert 20 << 20 <= pod["memory"]["workingSetBytes"] <= 64 << 20
    assert pod["containers"][0]["memory"]["workingSetBytes"] <= pod["memory"]["workingSetBytes"]
