"""All eight daemons under `octolet run` and under plain supervisord, with a static pod in a runtime that is in memory.

What each test ends with: whatever was killed, no container was made, stopped or removed for it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.cli.readiness import wait_ready
from shared.config.resolve import resolve
from shared.config.settings import write_settings
from shared.cri import api
from shared.messages.base import Service
from shared.supervision.configuration import Supervisor
from tests.process.harness import ROOT, Supervised, kill, plain_supervisord, wait_for
from tests.process.runtime import served_runtime
from tests.shared.cri.fake_runtime import FakeRuntime

pytestmark = [pytest.mark.process, pytest.mark.slow]

NAMES = tuple(service.value for service in Service)
FATAL = 200
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c", "image": "example.com/web:1", "command": ["sleep", "100000"]}]},
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def flags(folder: Path) -> list[str]:
    """A node that touches nothing of this machine: own folders, loopback, no cgroups."""
    manifests = folder / "manifests"
    manifests.mkdir(exist_ok=True)
    (manifests / "web.json").write_text(json.dumps(POD))
    return [
        "--hostname-override=node1",
        f"--root-dir={folder}/root",
        f"--cert-dir={folder}/pki",
        f"--pod-manifest-path={folder}/manifests",
        f"--container-runtime-endpoint=unix://{folder}/runtime.sock",
        "--address=127.0.0.1",
        f"--port={free_port()}",
        f"--healthz-port={free_port()}",
        "--read-only-port=0",
        "--cgroups-per-qos=false",
        "--enforce-node-allocatable=",
        "--make-iptables-util-chains=false",
        "--fail-cgroupv1=false",
        "--fail-swap-on=false",
    ]


@contextmanager
def octolet(folder: Path) -> Iterator[Supervised]:
    """A node with its pod running; at the end its containers must be the ones of the start."""
    run_dir = folder / "run"
    command = [sys.executable, "-m", "shared.cli.main", "run", "--run-dir", str(run_dir), *flags(folder)]
    with (
        served_runtime(folder / "runtime.sock") as runtime,
        Supervised(folder, run_dir, NAMES, command) as node,
        undisturbed(node, runtime),
    ):
        yield node


@contextmanager
def undisturbed(node: Supervised, runtime: FakeRuntime) -> Iterator[None]:
    """Wait until all is up and the pod runs; check at the end that nobody touched it."""
    wait_all_ready(node)
    wait_for("the pod's container runs", lambda: running_containers(runtime), 30)
    before, sandboxes = running_containers(runtime), sorted(runtime.sandboxes)
    yield
    assert running_containers(runtime) == before
    assert sorted(runtime.sandboxes) == sandboxes
    assert len(runtime.containers) == 1


def running_containers(runtime: FakeRuntime) -> list[str]:
    return sorted(
        container for container, (_, status) in runtime.containers.items() if status.state == api.CONTAINER_RUNNING
    )


def wait_all_ready(node: Supervised, wait_s: float = 60.0) -> dict[str, int]:
    answers = wait_ready(node.run_dir, NAMES, wait_s=wait_s)
    assert {name: answer.text for name, answer in answers.items()} == dict.fromkeys(NAMES, "ready")
    return node.wait_all()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    with octolet(tmp_path_factory.mktemp("node")) as node:
        yield node


def test_all_eight_become_ready(running: Supervised) -> None:
    command = [sys.executable, "-m", "shared.cli.main", "ready", "--wait", "30", "--run-dir", str(running.run_dir)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    titles = {Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode() for pid in running.wait_all().values()}
    assert titles == {f"python -m services.{name}" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_daemon_is_ready_again_and_the_others_keep_their_pids(running: Supervised, name: str) -> None:
    before = wait_all_ready(running)
    kill(before[name])
    after = running.wait_new(name, before[name])
    assert wait_ready(running.run_dir, (name,), wait_s=20)[name].ready
    assert running.pids() == before | {name: after}


def test_a_second_run_on_the_same_run_directory_says_so_and_disturbs_nobody(running: Supervised) -> None:
    before = wait_all_ready(running)
    second = subprocess.run(running.command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    assert f"octolet runs already in {running.run_dir} (pid {running.process.pid})" in second.stderr
    assert running.pids() == before


@pytest.mark.timeout(300)
def test_each_killed_twenty_times_in_a_row_never_ends_fatal_nor_takes_another_along(tmp_path: Path) -> None:
    with octolet(tmp_path) as node:
        wait_all_ready(node)
        counted = {name: row["starts"] for name, row in node.rows().items()}
        failures: list[str] = []

        def torment(name: str) -> None:
            try:
                for _ in range(20):
                    pid = wait_for(f"{name} runs", lambda: node.pid(name), 30, step_s=0.05)
                    kill(pid)
            except AssertionError as error:
                failures.append(f"{name}: {error}")

        threads = [threading.Thread(target=torment, args=(name,)) for name in NAMES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        wait_all_ready(node)
        rows = node.rows()
        assert {name: row["starts"] - counted[name] for name, row in rows.items()} == dict.fromkeys(NAMES, 20)
        assert FATAL not in {row["state"] for row in rows.values()}


def test_a_dead_supervisor_takes_nobody_along_and_the_next_run_takes_over(tmp_path: Path) -> None:
    with octolet(tmp_path) as node:
        before = wait_all_ready(node)
        node.process.kill()
        node.wait_end()
        time.sleep(1.5)  # long enough for a loop that would end on a broken pipe or a lost parent
        assert node.pids() == before
        assert all(answer.ready for answer in wait_ready(node.run_dir, NAMES, wait_s=5).values())
        node.start()
        for name in NAMES:
            node.wait_new(name, before[name], timeout_s=60)
        after = wait_all_ready(node)
        assert not set(after.values()) & set(before.values())


def test_stop_ends_everything_and_leaves_no_process(tmp_path: Path) -> None:
    with octolet(tmp_path) as node:
        pids = wait_all_ready(node)
        began = time.monotonic()
        command = [sys.executable, "-m", "shared.cli.main", "stop", "--run-dir", str(node.run_dir)]
        stopping = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        assert node.wait_end(20) == 0
        assert stopping.wait(10) == 0
        assert time.monotonic() - began < 8
        assert node.pids() == dict.fromkeys(NAMES)
        assert [pid for pid in pids.values() if Path(f"/proc/{pid}").exists()] == []
        killed = [line for line in node.output.read_text().splitlines() if "SIGKILL" in line]
        assert killed == []


def test_plain_supervisord_runs_the_daemons_and_replaces_one_that_hangs(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    write_settings(resolve(flags(tmp_path)), run_dir)
    supervisor = Supervisor(
        run_dir=run_dir,
        python=sys.executable,
        directory="/",
        arguments=("--run-dir", str(run_dir)),
        hang_s=5.0,
    )
    with (
        served_runtime(tmp_path / "runtime.sock") as runtime,
        plain_supervisord(tmp_path, supervisor) as node,
        undisturbed(node, runtime),
    ):
        before = wait_all_ready(node)
        kill(before["prober"], signal.SIGSTOP)
        after = node.wait_new("prober", before["prober"], timeout_s=30)
        assert wait_ready(run_dir, ("prober",), wait_s=20)["prober"].ready
        assert node.pids() == before | {"prober": after}


def test_an_interrupt_from_the_terminal_is_a_clean_stop(tmp_path: Path) -> None:
    with octolet(tmp_path) as node:
        wait_all_ready(node)
        os.kill(node.process.pid, signal.SIGINT)
        assert node.wait_end(20) == 0
        assert node.pids() == dict.fromkeys(NAMES)
