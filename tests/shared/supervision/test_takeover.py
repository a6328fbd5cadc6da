"""Making room for a daemon whose lock somebody else holds. Real processes, real locks."""

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
from shared.supervision.locks import holder, is_held
from shared.supervision.takeover import Takeover

HOLD = """
import fcntl, os, signal, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, f"{os.getpid()}\\n".encode())
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if sys.argv[2] == "forked":
    child = os.fork()
    if child:
        os.write(fd, f"{child}\\n".encode())
        print("held", flush=True)
        os._exit(0)
    time.sleep(60)
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


def test_the_holder_is_found_without_touching_the_lock(tmp_path: Path, hold: Hold) -> None:
    path = lock_path(tmp_path, "pleg")
    assert (is_held(path), holder(path)) == (False, None)
    path.write_text(f"{os.getppid()}\n")  # what is written in the file proves nothing
    assert (is_held(path), holder(path)) == (False, None)
    process = hold(path)
    assert (is_held(path), holder(path)) == (True, process.pid)
    process.kill()
    process.wait()
    assert (is_held(path), holder(path)) == (False, None)


def test_somebody_who_waits_for_the_lock_does_not_hold_it(tmp_path: Path, hold: Hold) -> None:
    path = lock_path(tmp_path, "pleg")
    process = hold(path)
    wait = f"import fcntl; fcntl.flock(open({str(path)!r}), fcntl.LOCK_EX)"
    with subprocess.Popen([sys.executable, "-c", wait]) as waiting:
        end = time.monotonic() + 10
        while f"-> FLOCK  ADVISORY  WRITE {waiting.pid} " not in Path("/proc/locks").read_text():
            assert time.monotonic() < end
            time.sleep(0.01)
        assert holder(path) == process.pid
        process.kill()


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


def test_a_lock_left_to_a_child_is_reported_once_in_a_while_and_waited_for(tmp_path: Path, hold: Hold) -> None:
    path = lock_path(tmp_path, "pleg")
    process = hold(path, "forked")
    process.wait()
    child = int(path.read_text().split()[1])
    lines: list[str] = []
    room = Takeover(tmp_path, lines.append)
    try:
        assert [room.is_free("pleg", float(second)) for second in range(29)] == [False] * 29
        assert len(lines) == 1
        assert "cannot start pleg" in lines[0]
        assert room.pidfd is None
    finally:
        os.kill(child, signal.SIGKILL)
    wait_free(room, "pleg")
