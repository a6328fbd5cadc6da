"""Making room for a daemon whose lock somebody else holds. Real processes, real locks."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.supervision import takeover
from shared.supervision.layout import lock_path
from shared.supervision.takeover import Takeover, holder, is_held

HOLD = """
import fcntl, os, signal, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, f"{os.getpid()}\\n".encode())
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("held", flush=True)
time.sleep(60)
"""


Hold = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def hold() -> Iterator[Hold]:
    started: list[subprocess.Popen[bytes]] = []

    def start(path: Path, manner: str = "polite") -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), manner], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def wait_free(room: Takeover, daemon: str, deadline_s: float = 10.0) -> None:
    end = time.monotonic() + deadline_s
    while not room.is_free(daemon, time.monotonic()):
        assert time.monotonic() < end, f"{daemon} is not free"
        fds = [room.pidfd] if room.pidfd is not None else []
        due = room.due_mono
        select.select(fds, [], [], 0.05 if due is None else max(0.0, min(0.05, due - time.monotonic())))


def test_a_lock_that_nobody_holds_is_free(tmp_path: Path) -> None:
    lines: list[str] = []
    room = Takeover(tmp_path, lines.append)
    assert room.is_free("pleg", 0.0)
    lock_path(tmp_path, "pleg").write_text("1\n")
    assert room.is_free("pleg", 0.0)
    assert lines == []


def test_the_holder_is_told_from_a_process_that_only_had_that_pid_once(tmp_path: Path, hold: Hold) -> None:
    path = lock_path(tmp_path, "pleg")
    process = hold(path)
    assert is_held(path)
    assert holder(path) == process.pid
    path.write_text(f"{os.getppid()}\n")
    assert holder(path) is None


def test_holders_are_stopped_one_after_the_other(tmp_path: Path, hold: Hold) -> None:
    first, second = hold(lock_path(tmp_path, "pleg")), hold(lock_path(tmp_path, "prober"))
    lines: list[str] = []
    room = Takeover(tmp_path, lines.append)
    now = time.monotonic()
    assert not room.is_free("pleg", now)
    assert not room.is_free("prober", now)
    assert len(lines) == 1
    assert f"stopping pleg (pid {first.pid})" in lines[0]
    wait_free(room, "pleg")
    assert first.wait(5) == -signal.SIGTERM
    assert second.poll() is None
    wait_free(room, "prober")
    assert second.wait(5) == -signal.SIGTERM
    assert room.pidfd is None


def test_a_holder_that_ignores_sigterm_is_killed(
    tmp_path: Path,
    hold: Hold,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(takeover, "STOP_WAIT_S", 0.2)
    process = hold(lock_path(tmp_path, "pleg"), "stubborn")
    lines: list[str] = []
    wait_free(Takeover(tmp_path, lines.append), "pleg")
    assert process.wait(5) == -signal.SIGKILL
    assert "killing pleg" in lines[-1]


def test_a_lock_left_to_an_unknown_process_is_reported_once_in_a_while_and_waited_for(
    tmp_path: Path, hold: Hold
) -> None:
    path = lock_path(tmp_path, "pleg")
    process = hold(path)
    path.write_text("999999999\n")
    lines: list[str] = []
    room = Takeover(tmp_path, lines.append)
    assert [room.is_free("pleg", float(second)) for second in range(29)] == [False] * 29
    assert len(lines) == 1
    assert "cannot start pleg" in lines[0]
    assert room.pidfd is None
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()
    assert room.is_free("pleg", 30.0)
