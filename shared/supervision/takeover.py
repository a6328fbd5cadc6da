"""Daemons that an earlier supervisord left running: found by their locks, stopped one after the other.

When supervisord is killed its daemons live on, and pods notice nothing. The next one cannot be their parent, so each
is stopped, and its successor started, before the next is touched.
"""

import contextlib
import os
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.supervision.layout import lock_path
from shared.supervision.locks import holder, is_held

STOP_WAIT_S: Final = 5.0
"""seconds between SIGTERM and SIGKILL, the same as `stopwaitsecs` of supervisord's own children"""
COMPLAIN_EVERY_S: Final = 30.0


@dataclass
class _Stopping:
    daemon: str
    pid: int
    pidfd: int
    kill_at_mono: float
    killed: bool = False


class Takeover:
    """Makes room for one daemon at a time. `log` gets one line for each thing done."""

    def __init__(self, run_dir: Path, log: Callable[[str], None]) -> None:
        self._run_dir = run_dir
        self._log = log
        self._stopping: _Stopping | None = None
        self._complained_mono: dict[str, float] = {}

    @property
    def pidfd(self) -> int | None:
        """Becomes readable when the process being stopped has ended."""
        return self._stopping.pidfd if self._stopping else None

    @property
    def due_mono(self) -> float | None:
        """When `is_free` has something to do even if nothing happens."""
        return self._stopping.kill_at_mono if self._stopping and not self._stopping.killed else None

    def is_free(self, daemon: str, now: float) -> bool:
        """Whether this daemon may be started. If a process holds its lock, its stop is begun or carried on."""
        path = lock_path(self._run_dir, daemon)
        if not is_held(path):
            if self._stopping and self._stopping.daemon == daemon:
                self._end()
            return True
        if self._stopping and self._stopping.daemon == daemon and self._has_ended(self._stopping):
            self._end()  # and yet the lock is held: by a process that it left behind
        if self._stopping is None:
            self._begin(daemon, path, now)
        elif self._stopping.daemon == daemon:
            self._press(self._stopping, now)
        return False

    def _begin(self, daemon: str, path: Path, now: float) -> None:
        pid = holder(path)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                pidfd = os.pidfd_open(pid)
                self._stopping = _Stopping(daemon, pid, pidfd, kill_at_mono=now + STOP_WAIT_S)
                self._log(f"stopping {daemon} (pid {pid}) of an earlier supervisor")
                signal.pidfd_send_signal(pidfd, signal.SIGTERM)
                return
        if now - self._complained_mono.get(daemon, float("-inf")) >= COMPLAIN_EVERY_S:
            self._complained_mono[daemon] = now
            self._log(f"cannot start {daemon}: {path} is locked by a process that cannot be told")

    def _press(self, stopping: _Stopping, now: float) -> None:
        if now < stopping.kill_at_mono or stopping.killed:
            return
        stopping.killed = True
        self._log(f"killing {stopping.daemon} (pid {stopping.pid}): it did not stop in {STOP_WAIT_S:g} s")
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(stopping.pidfd, signal.SIGKILL)

    @staticmethod
    def _has_ended(stopping: _Stopping) -> bool:
        return bool(select.select([stopping.pidfd], [], [], 0)[0])

    def _end(self) -> None:
        if self._stopping:
            os.close(self._stopping.pidfd)
            self._stopping = None
