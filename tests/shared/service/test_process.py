"""One daemon's process from its command line to its exit code."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shared.bus import Bus
from shared.messages.base import Empty
from shared.messages.daemon import DAEMON, EVENTS, METRICS
from shared.service.lock import LockHeld, ServiceLock

REPOSITORY = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "tests.shared.service.daemon"]

pytestmark = [pytest.mark.slow, pytest.mark.process]


def settle(run_dir: Path, **settings: Any) -> None:
    """Write the settings file of the tests' daemon."""
    (run_dir / "settings").mkdir(exist_ok=True)
    (run_dir / "settings" / "prober.json").write_text(json.dumps(settings))


@contextmanager
def daemon(run_dir: Path, *arguments: str, **streams: Any) -> Iterator[subprocess.Popen[Any]]:
    """The tests' daemon, running; killed at the end of the block."""
    streams = {"stderr": subprocess.DEVNULL} | streams
    with subprocess.Popen([*COMMAND, "--run-dir", str(run_dir), *arguments], cwd=REPOSITORY, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def run(run_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The tests' daemon, to its end."""
    command = [*COMMAND, "--run-dir", str(run_dir), *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=30, check=False)


def wait_for(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    """Poll, for what another process does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def logged(run_dir: Path) -> list[dict[str, Any]]:
    """The whole lines of the daemon's log file."""
    path = run_dir / "log" / "prober.log"
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def is_ready(run_dir: Path) -> bool:
    return any(line["event"] == "service.became_ready" for line in logged(run_dir))


def test_a_daemon_says_who_it_is_lives_and_stops_at_sigterm(tmp_path: Path) -> None:
    with daemon(tmp_path, stderr=subprocess.PIPE) as process:
        wait_for(lambda: is_ready(tmp_path))
        assert Path(f"/proc/{process.pid}/cmdline").read_bytes().rstrip(b"\0") == b"python -m services.prober"
        assert (tmp_path / "prober.lock").read_text() == f"{process.pid}\n"
        alive = tmp_path / "prober.alive"
        wait_for(alive.exists)
        first = alive.stat().st_mtime_ns
        wait_for(lambda: alive.stat().st_mtime_ns > first, 3)
        alive.unlink()
        wait_for(alive.exists, 3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
        assert process.stderr is not None
        shown = [json.loads(line) for line in process.stderr.read().splitlines()]
    events = [line["event"] for line in shown]
    assert events == ["service.started", "event.recorded", "service.became_ready", "service.stopped"]
    assert shown == logged(tmp_path)
    assert all(line["service"] == "prober" for line in shown)
    assert list(shown[0])[:3] == ["timestamp", "level", "event"]


def test_a_run_folder_that_is_removed_is_told_and_ends_nothing(tmp_path: Path) -> None:
    """`RUN_DIR_CHECK_S` is what the wait is for."""
    with daemon(tmp_path, stderr=subprocess.PIPE) as process:
        wait_for(lambda: is_ready(tmp_path))
        (tmp_path / "prober.lock").unlink()
        wait_for(lambda: any(line["event"] == "run_dir.removed" for line in logged(tmp_path)), 15)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_sigint_stops_it_too(tmp_path: Path) -> None:
    with daemon(tmp_path) as process:
        wait_for(lambda: is_ready(tmp_path))
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 0


def test_what_it_says_of_itself_is_on_the_bus(tmp_path: Path) -> None:
    async def scenario(pid: int) -> None:
        async with Bus("server", tmp_path) as server:
            states, events = server.follow(DAEMON, owner="prober"), server.follow(EVENTS, owner="prober")
            assert await states.wait(lambda v: (row := v.get("prober")) is not None and row.ready, 10)
            state = states.get("prober")
            assert state is not None and (state.pid, state.degraded, states.complete) == (pid, [], True)
            assert state.started_at_mono < time.monotonic()
            assert await events.wait(lambda v: v.complete and len(v) == 1, 10)
            (key, event), *_ = events.items()
            assert key == f"{events.generation}.000001"
            assert (event.involved_object.name, event.reason, event.message) == ("n1", "Starting", "here we are")
            text = (await server.call(METRICS, Empty(), owner="prober")).text
            assert 'octolet_log_events_total{event="service.started",level="info",service="prober"} 1.0' in text
            assert 'octolet_process_resident_memory_bytes{service="prober"}' in text
            assert 'octolet_bus_sent_total{kind="snapshot",service="prober"}' in text

    with daemon(tmp_path) as process:
        asyncio.run(scenario(process.pid))


def test_a_second_instance_is_turned_away_and_the_first_works_on(tmp_path: Path) -> None:
    with daemon(tmp_path) as first:
        wait_for(lambda: is_ready(tmp_path))
        sockets = {path: path.stat().st_ino for path in (tmp_path / "bus").iterdir()}
        second = run(tmp_path)
        assert second.returncode == 75
        assert f"prober.lock is held by process {first.pid}, which runs this service already" in second.stderr
        assert {path: path.stat().st_ino for path in (tmp_path / "bus").iterdir()} == sockets
        assert first.poll() is None


def test_a_killed_daemon_starts_again_at_once(tmp_path: Path) -> None:
    for count in range(1, 4):
        with daemon(tmp_path) as process:
            wait_for(lambda: sum(line["event"] == "service.became_ready" for line in logged(tmp_path)) == count)  # noqa: B023
            process.send_signal(signal.SIGKILL)
            process.wait(5)


def test_the_lock_is_not_inherited_by_programs_it_starts(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with ServiceLock(path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
        with pytest.raises(LockHeld, match=f"held by process {os.getpid()}"):
            ServiceLock(path)
    try:
        ServiceLock(path).release()
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"period_s": "often"}', "Expected `float`, got `str` - at `$.period_s`"),
        ('{"sizes": {"a": 1.5}}', "Expected `int`, got `float` - at `$.sizes[...]`"),
        ('{"period_s": 0}', "period_s must be positive"),
        ('{"perod_s": 1}', "unknown field `$.perod_s`"),
        ('{"period_s": 1', "Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ("", "Input data was truncated"),
        ("\xff", "read settings"),
    ],
)
def test_wrong_settings_are_exit_code_2_and_name_file_and_field(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(content.encode("latin-1"))
    ended = run(tmp_path / "run", "--settings", str(path))
    assert ended.returncode == 2
    assert complaint in ended.stderr
    assert str(path) in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "run").exists()


def test_settings_that_were_named_must_be_there(tmp_path: Path) -> None:
    ended = run(tmp_path, "--settings", str(tmp_path / "none.json"))
    assert (ended.returncode, "there is no such file" in ended.stderr) == (2, True)


def test_a_run_folder_with_too_long_a_path_is_exit_code_2(tmp_path: Path) -> None:
    ended = run(tmp_path / ("x" * 90))
    assert (ended.returncode, "choose a shorter run folder" in ended.stderr) == (2, True)


def test_a_run_folder_that_cannot_be_used_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = run(tmp_path / "file")
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1 and "use run folder" in ended.stderr


def test_checking_reads_the_settings_and_touches_nothing(tmp_path: Path) -> None:
    settle(tmp_path, period_s=2)
    before = sorted(tmp_path.rglob("*"))
    assert run(tmp_path, "--check").returncode == 0
    settle(tmp_path, period_s="x")
    assert run(tmp_path, "--check").returncode == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_help_is_in_plain_words(tmp_path: Path) -> None:
    ended = run(tmp_path, "--help")
    assert ended.returncode == 0
    for word in ("--run-dir", "--settings", "--log-format", "--log-level", "--check", "Exit codes"):
        assert word in ended.stdout
    assert run(tmp_path, "--no-such").returncode == 2


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("raise", "ZeroDivisionError: bug"),
        ("task raises", "ZeroDivisionError: bug in a task"),
        ("task returns", "TaskReturned: task short of prober returned"),
        ("return", "TaskReturned: serve of prober returned without being told to stop"),
        ("fatal", "Fatal: open the thing: it is broken"),
    ],
)
def test_an_unexpected_end_is_logged_once_and_is_exit_code_1(tmp_path: Path, act: str, error: str) -> None:
    settle(tmp_path, act=act)
    ended = run(tmp_path)
    assert ended.returncode == 1
    crashes = [line for line in logged(tmp_path) if line["level"] == "error"]
    assert [(line["event"], line["error"]) for line in crashes] == [("service.crashed", error)]
    assert ("Traceback" in crashes[0].get("exception", "")) == (act != "fatal")
    assert [json.loads(line)["event"] for line in ended.stderr.splitlines()].count("service.crashed") == 1


def test_a_stuck_event_loop_lets_its_alive_file_grow_old(tmp_path: Path) -> None:
    settle(tmp_path, act="block")
    with daemon(tmp_path):
        wait_for(lambda: is_ready(tmp_path))
        alive = tmp_path / "prober.alive"
        touched = alive.stat().st_mtime_ns if alive.exists() else 0
        time.sleep(1.5)
        assert (alive.stat().st_mtime_ns if alive.exists() else 0) == touched


def test_a_dead_reader_of_its_stderr_does_not_stop_it(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    settle(tmp_path, act="talk")
    with daemon(tmp_path, stderr=write) as process:
        os.close(write)
        wait_for(lambda: is_ready(tmp_path))
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_a_reader_of_its_stderr_that_reads_nothing_does_not_stop_it(tmp_path: Path) -> None:
    """5,000 lines are ten times what a pipe holds; the log file has all of them."""
    read, write = os.pipe()
    settle(tmp_path, act="talk")
    try:
        with daemon(tmp_path, stderr=write) as process:
            os.close(write)
            wait_for(lambda: is_ready(tmp_path))
            assert sum(line["event"] == "thing.happened" for line in logged(tmp_path)) == 5000
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) == 0
        assert len(os.read(read, 1 << 20)) >= 50_000
    finally:
        os.close(read)


def test_importing_the_scaffold_and_the_bus_starts_nothing(tmp_path: Path) -> None:
    code = """
import os, sys, threading
before = set(os.listdir("/proc/self/fd"))
import shared.bus.tap, shared.service, shared.checkpoint, shared.telemetry.metrics, shared.messages.registry
import asyncio, signal, logging
assert set(os.listdir("/proc/self/fd")) == before, os.listdir("/proc/self/fd")
assert len(os.listdir("/proc/self/task")) == 1
assert asyncio.events._get_running_loop() is None
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert not logging.getLogger().handlers
"""
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, timeout=30)


def test_a_fork_with_everything_loaded_becomes_the_daemon(tmp_path: Path) -> None:
    """As supervisord's child does: the parent has imported the modules, the child runs the service as `__main__`."""
    package = tmp_path / "path" / "services" / "stand_in"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""stand_in: for a test."""\n')
    (package / "__main__.py").write_text(
        "from shared.service import main\nfrom tests.shared.service.daemon import DaemonSettings, serve\n"
        'if __name__ == "__main__":\n    main("prober", DaemonSettings, serve)\n'
    )
    code = f"""
import os, signal
import services
services.__path__.append({str(package.parent)!r})
import shared.bus.tap, shared.service, services.stand_in
from shared.service import run_as_main
pid = os.fork()
if pid == 0:
    run_as_main("stand_in", ["--run-dir", {str(tmp_path)!r}])
print(pid, flush=True)
os.waitpid(pid, 0)
"""
    command = [sys.executable, "-W", "error", "-c", code]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        try:
            wait_for(lambda: is_ready(tmp_path))
            assert (tmp_path / "prober.lock").read_text() == f"{pid}\n"
            assert Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0") == b"python -m services.prober"
        finally:
            os.kill(pid, signal.SIGTERM)
        assert parent.wait(10) == 0
