"""pleg as a process of its own beside a real runtime."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.messages.pleg import RuntimePod
from tests.node.surroundings import Surroundings
from tests.pleg.daemon import Reader, reading
from tests.shared.cri.pods import run_pod


@dataclass
class Pleg:
    """`python -m services.pleg` with a run folder of its own."""

    run_dir: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, run_dir: Path, endpoint: str) -> "Pleg":
        settings = run_dir / "settings" / "pleg.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"runtime_endpoint": endpoint}))
        with (run_dir / "stderr").open("ab") as log:
            command = [sys.executable, "-m", "services.pleg", "--run-dir", str(run_dir)]
            return cls(run_dir, subprocess.Popen(command, stdout=log, stderr=log))

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)


@contextmanager
def started(run_dir: Path, endpoint: str) -> Iterator[Pleg]:
    pleg = Pleg.start(run_dir, endpoint)
    try:
        yield pleg
    finally:
        if pleg.process.poll() is None:
            pleg.end(signal.SIGKILL)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def with_both(run_dir: Path, runtime: Surroundings, case: Callable[[RuntimeClient, Reader], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with RuntimeClient(runtime.endpoint) as cri, reading(run_dir) as reader:
            await case(cri, reader)

    asyncio.run(asyncio.wait_for(whole(), 100))


def cgroup(runtime: Surroundings, uid: str) -> str:
    return f"{runtime.cgroup_root}/{uid}"


def states(row: RuntimePod) -> list[str]:
    return [c.state for c in row.containers]


def test_start_exit_and_removal_are_seen(runtime: Surroundings, run_dir: Path) -> None:
    async def case(cri: RuntimeClient, reader: Reader) -> None:
        parent, logs = cgroup(runtime, "uid-1"), f"{runtime.layout.volatile}/logs"
        sandbox_id, container_id = await run_pod(cri, "uid-1", cgroup_parent=parent, log_directory=logs)
        row = await reader.row("uid-1", lambda r: states(r) == ["running"])
        assert row.sandboxes[0].ready
        assert row.containers[0].sandbox_id == sandbox_id
        assert row.containers[0].log_path == f"{logs}/c.log"
        await cri.stop_container(api.StopContainerRequest(container_id=container_id, timeout=0))
        row = await reader.row("uid-1", lambda r: states(r) == ["exited"])
        assert row.containers[0].exit_code == 137
        await cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        await reader.row("uid-1", lambda r: not r.sandboxes[0].ready)
        await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
        await reader.gone("uid-1")

    with started(run_dir, runtime.endpoint):
        with_both(run_dir, runtime, case)


def test_a_process_killed_from_outside_is_seen_with_its_code(runtime: Surroundings, run_dir: Path) -> None:
    async def case(cri: RuntimeClient, reader: Reader) -> None:
        health = await reader.healthy(lambda h: h.last_ok_mono > 0)
        has_events = runtime.runtime.program.major >= 2
        if has_events:
            await reader.healthy(lambda h: h.event_stream)
        assert health.cgroup_driver == ("cgroupfs" if has_events else "")
        await run_pod(cri, "uid-1", command=("sh", "-c", "exit 7"), cgroup_parent=cgroup(runtime, "uid-1"))
        row = await reader.row("uid-1", lambda r: states(r) == ["exited"])
        assert (row.containers[0].exit_code, row.containers[0].reason) == (7, "Error")
        await run_pod(cri, "uid-2", name="two", cgroup_parent=cgroup(runtime, "uid-2"))
        await reader.row("uid-2", lambda r: states(r) == ["running"])
        killed_at = time.monotonic()
        kill_one(runtime, b"sleep\x00100000\x00")
        row = await reader.row("uid-2", lambda r: states(r) == ["exited"])
        assert row.containers[0].exit_code == 137
        took = time.monotonic() - killed_at
        assert took < (0.9 if has_events else 3.0), f"seen after {took:.2f} s"

    with started(run_dir, runtime.endpoint):
        with_both(run_dir, runtime, case)


def test_a_relist_on_demand_answers_with_what_was_done_before(runtime: Surroundings, run_dir: Path) -> None:
    async def case(cri: RuntimeClient, reader: Reader) -> None:
        assert await reader.pods.wait(lambda v: v.complete, 10)
        took = []
        for number in range(5):
            uid = f"uid-{number}"
            await run_pod(cri, uid, name=f"pod{number}", cgroup_parent=cgroup(runtime, uid))
            asked = time.monotonic()
            reply = await reader.relist(uid)
            took.append(time.monotonic() - asked)
            assert reply.pod is not None
            assert states(reply.pod) == ["running"]
            assert reply.as_of_mono > asked
        assert sorted(took)[2] < 0.2, took

    with started(run_dir, runtime.endpoint):
        with_both(run_dir, runtime, case)


def test_a_killed_pleg_comes_back_with_the_same_table(runtime: Surroundings, run_dir: Path) -> None:
    async def case(cri: RuntimeClient, reader: Reader) -> None:
        await run_pod(cri, "uid-1", cgroup_parent=cgroup(runtime, "uid-1"))
        sandbox_id, _ = await run_pod(cri, "uid-2", name="two", cgroup_parent=cgroup(runtime, "uid-2"))
        before = await reader.row("uid-1", lambda r: states(r) == ["running"])
        await reader.row("uid-2", lambda r: states(r) == ["running"])
        generation = reader.pods.generation
        removed: list[str] = []
        reader.pods.on_change(lambda change: removed.append(change.key) if change.new is None else None)
        assert await asyncio.to_thread(pleg.end, signal.SIGKILL) == -signal.SIGKILL
        assert states(await reader.row("uid-1", lambda r: True)) == ["running"], "the last table stays"
        await cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        await cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
        with started(run_dir, runtime.endpoint):
            assert await reader.pods.wait(lambda v: v.generation != generation and v.complete, 20)
            await reader.gone("uid-2")
            after = await reader.row("uid-1", lambda r: True)
            assert (after.sandboxes, after.containers) == (before.sandboxes, before.containers)
            assert removed == ["uid-2"]

    with started(run_dir, runtime.endpoint) as pleg:
        with_both(run_dir, runtime, case)


def test_a_restarted_runtime_is_found_again_and_pods_run_on(runtime: Surroundings, run_dir: Path) -> None:
    async def case(cri: RuntimeClient, reader: Reader) -> None:
        await run_pod(cri, "uid-1", cgroup_parent=cgroup(runtime, "uid-1"))
        before = await reader.row("uid-1", lambda r: states(r) == ["running"])
        await asyncio.to_thread(runtime.runtime.kill)
        await reader.degraded(lambda texts: len(texts) == 2)
        assert (await reader.healthy(lambda h: h.error != "")).name == "containerd"
        assert states(await reader.row("uid-1", lambda r: True)) == ["running"]
        await asyncio.to_thread(runtime.runtime.start)
        started_at = time.monotonic()
        assert await reader.pods.wait(lambda v: v.as_of_mono > started_at, 20)
        await reader.degraded(lambda texts: not texts)
        after = await reader.row("uid-1", lambda r: True)
        assert after.containers == before.containers
        assert after.sandboxes[0].ready
        if runtime.runtime.program.major >= 2:
            await reader.healthy(lambda h: h.event_stream)
        assert pleg.process.poll() is None, "the same process all the time"

    with started(run_dir, runtime.endpoint) as pleg:
        with_both(run_dir, runtime, case)


def test_a_hanging_runtime_costs_no_table_and_no_process(runtime: Surroundings, run_dir: Path) -> None:
    async def case(cri: RuntimeClient, reader: Reader) -> None:
        await run_pod(cri, "uid-1", cgroup_parent=cgroup(runtime, "uid-1"))
        await reader.row("uid-1", lambda r: states(r) == ["running"])
        pid = runtime.runtime.running_pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            texts = await reader.degraded(lambda texts: bool(texts), 30)
            assert "DeadlineExceeded" in texts[0]
            assert states(await reader.row("uid-1", lambda r: True)) == ["running"]
        finally:
            os.kill(pid, signal.SIGCONT)
        resumed = time.monotonic()
        assert await reader.pods.wait(lambda v: v.as_of_mono > resumed, 20)
        await reader.degraded(lambda texts: not texts)
        assert pleg.process.poll() is None

    with started(run_dir, runtime.endpoint) as pleg:
        with_both(run_dir, runtime, case)


def test_term_ends_it_at_once_and_cleanly(runtime: Surroundings, run_dir: Path) -> None:
    async def case(_cri: RuntimeClient, reader: Reader) -> None:
        assert await reader.pods.wait(lambda v: v.complete, 20)
        asked = time.monotonic()
        assert await asyncio.to_thread(pleg.end, signal.SIGTERM) == 0, (run_dir / "stderr").read_text()
        assert time.monotonic() - asked < 2

    with started(run_dir, runtime.endpoint) as pleg:
        with_both(run_dir, runtime, case)


def kill_one(runtime: Surroundings, command_line: bytes) -> None:
    """KILL the one process of the test machine with that command line."""
    pids = [pid for pid in runtime.processes() if Path(f"/proc/{pid}/cmdline").read_bytes() == command_line]
    [pid] = pids
    os.kill(pid, signal.SIGKILL)
