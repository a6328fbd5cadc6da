"""A real supervisord over a run directory of its own, as tests see it."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shared.cli.supervisor_client import supervised_daemons
from shared.supervision.configuration import Supervisor, render
from shared.supervision.layout import lock_path
from shared.supervision.locks import holder, is_held

ROOT = Path(__file__).resolve().parents[2]


def wait_for(what: str, condition: Callable[[], Any], timeout_s: float = 15.0, step_s: float = 0.005) -> Any:
    """The first true value of the condition. AssertionError naming `what` when time is up."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"waited {timeout_s:g} s for: {what}"
        time.sleep(step_s)


def plain_supervisord(folder: Path, supervisor: Supervisor) -> "Supervised":
    """`supervisord -c FILE`, for a file rendered into the folder."""
    configuration = folder / "supervisord.conf"
    configuration.write_text(render(supervisor))
    command = [sys.executable, "-m", "shared.supervision", "-c", str(configuration)]
    return Supervised(folder, supervisor.run_dir, supervisor.programs, command)


class Supervised:
    """One supervisord over one run directory; killed at the end, with its daemons, if it still lives."""

    def __init__(self, folder: Path, run_dir: Path, programs: tuple[str, ...], command: list[str]) -> None:
        self.run_dir = run_dir
        self.programs = programs
        self.command = command
        self.output = folder / "output"
        self._process: subprocess.Popen[bytes] | None = None
        self._seen: set[int] = set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remember()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for pid in self._seen:  # none is left unless a test failed
            try:
                pidfd = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            if str(self.run_dir) in _environment(pid):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)
        unmount_below(self.output.parent)
        if error is not None:
            print(self.output.read_text()[-6000:])

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start supervisord; output is appended to `output`."""
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                stdout=output,
                stderr=output,
                env=os.environ | {"OCTOLET_RUN_DIR": str(self.run_dir)},
            )

    def pid(self, name: str) -> int | None:
        """The pid of the process that holds the daemon's lock now."""
        path = lock_path(self.run_dir, name)
        return holder(path) if is_held(path) else None

    def pids(self) -> dict[str, int | None]:
        return {name: self.pid(name) for name in self.programs}

    def remember(self) -> dict[str, int]:
        """The pids of now; all of them are ended with the test."""
        pids = {name: pid for name, pid in self.pids().items() if pid}
        self._seen |= set(pids.values())
        return pids

    def wait_all(self, timeout_s: float = 30.0) -> dict[str, int]:
        """Wait until every daemon holds its lock."""
        wait_for("all daemons hold their locks", lambda: len(self.remember()) == len(self.programs), timeout_s)
        return self.remember()

    def wait_new(self, name: str, old: int, timeout_s: float = 15.0) -> int:
        """Wait until another process than `old` holds the lock of that daemon."""
        pid = wait_for(f"a new {name}", lambda: (p := self.pid(name)) and p != old and p, timeout_s)
        self._seen.add(pid)
        return int(pid)

    def rows(self) -> dict[str, dict[str, Any]]:
        """What the extension says of its daemons."""
        return supervised_daemons(self.run_dir)

    def wait_end(self, timeout_s: float = 15.0) -> int:
        """Wait for supervisord's end and return its exit status."""
        return self.process.wait(timeout_s)


def unmount_below(folder: Path) -> None:
    """Undo the mounts that daemons made in a test's own folder (the root directory is mounted onto itself)."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", point], check=False)


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Signal one process and, for SIGKILL, wait until it has ended."""
    pidfd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(pidfd, number)
        if number is signal.SIGKILL:
            assert select.select([pidfd], [], [], 10)[0], f"pid {pid} survived SIGKILL"
    finally:
        os.close(pidfd)


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""
