"""Disks of the node's own that are full: degraded and said so, never down, and well again by itself."""

import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.agent import OCTOLET, Agent
from tests.node.surroundings import Surroundings

pytestmark = pytest.mark.timeout(300)
WAIT_S = 40.0
SMALL, LARGE = "3m", "30m"


@pytest.fixture
def node(machine: Surroundings) -> Iterator[Agent]:
    """An octolet whose run and root directories are small file systems of their own."""
    directory = machine.layout.lasting / f"agent-{secrets.token_hex(3)}"
    mounts = [directory / "run", directory / "root"]
    for path in mounts:
        path.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={LARGE},mode=700", "octolet-test", path], check=True)
    agent = Agent(directory, machine.socket, machine.netns, machine.node_ip, machine.cgroup_root)
    try:
        agent.start()
        yield agent
    finally:
        agent.stop()
        machine.remove_pods()
        for path in mounts:
            subprocess.run(["umount", "-l", "-R", path], check=False)


def fill(path: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={SMALL}", path], check=True)
    subprocess.run(["dd", "if=/dev/zero", f"of={path}/filler", "bs=4k"], capture_output=True)


def degraded(node: Agent) -> set[str]:
    command = [*OCTOLET, "status", "-o", "json", "--run-dir", str(node.run_dir)]
    said = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    return {row["name"] for row in said["daemons"] if any("no space left" in text for text in row["degraded"])}


def test_full_disks_stop_no_daemon_and_no_pod_and_space_heals_all(node: Agent) -> None:
    node.add("steady")
    node.add("ending")
    node.wait(lambda: node.is_running("steady") and node.is_running("ending"), WAIT_S, "Running")
    before, steady = node.pids(), node.of("steady")
    for path in (node.run_dir, node.directory / "root"):
        fill(path)
    node.add("late")
    node.remove("ending")
    node.wait(lambda: "container_manager" in degraded(node), WAIT_S, "container_manager says that its disk is full")
    node.wait(lambda: not any(c.running for c in node.of("ending")), WAIT_S, "a pod can end")
    assert node.pids() == before, "no daemon ended"
    node.kill(*before)
    node.wait(lambda: node.owns_daemons() and node.is_ready(), WAIT_S, "daemons start with full disks")
    for path in (node.run_dir, node.directory / "root"):
        (path / "filler").unlink()
        subprocess.run(["mount", "-o", f"remount,size={LARGE}", path], check=True)
    node.wait(lambda: node.is_running("late"), WAIT_S, "the pod that had no space runs")
    assert node.of("steady") == steady
