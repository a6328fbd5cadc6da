"""supervisord's process object with delays, hang detection and takeover of its own.

Existing objects are adopted by changing their class, since supervisord makes them before its extensions. States:

    STOPPED ──▶ STARTING ──▶ RUNNING ──▶ EXITED ──▶ (at once) STARTING
       ▲                                    └─────▶ BACKOFF, until `due_mono` ──▶ STARTING
       └── stop ◀─────────────────────────────────────┘

FATAL is not reachable: supervisord counts failed starts only inside the transition that is replaced here.
"""

import signal
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from supervisor.process import Subprocess
from supervisor.states import ProcessStates, SupervisorStates

from shared.supervision import hangs, restarts
from shared.supervision.layout import alive_path
from shared.supervision.takeover import Takeover

_NEVER_STARTED: Final = 0.0


@dataclass
class Supervised:
    """What is known of one daemon beyond supervisord's own record. Times are monotonic seconds."""

    run_dir: Path
    takeover: Takeover
    hang_s: float = hangs.HANG_AFTER_S
    started_mono: float = _NEVER_STARTED
    starts: int = 0
    due_mono: float = 0.0
    history: restarts.Restarts = field(default_factory=restarts.Restarts)
    watch: hangs.Watch | None = None
    blocked: bool = False
    """due, but another process still holds its lock"""


class DaemonProcess(Subprocess):  # type: ignore[misc]
    """One of our daemons under supervisord."""

    supervised: Supervised

    @classmethod
    def adopt(cls, process: Any, supervised: Supervised) -> "DaemonProcess":
        """Turn supervisord's object into this kind, in place."""
        process.__class__ = cls
        process.supervised = supervised
        return process  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        return str(self.config.name)

    @property
    def waiting_until(self) -> float | None:
        """When the next start is due, while it waits for that time only."""
        waits = self.state == ProcessStates.BACKOFF and not self.supervised.blocked
        return self.supervised.due_mono if waits else None

    def spawn(self) -> int | None:
        """Start it. A start that fails in supervisord itself (no processes left) is tried again like a quick exit."""
        now = time.monotonic()
        self.supervised.started_mono = now
        self.supervised.watch = hangs.started(now)
        self.backoff = 0
        pid: int | None = super().spawn()
        if pid is None and self.state == ProcessStates.BACKOFF:
            self._plan_restart(lived_s=0.0)
        elif pid:
            self.supervised.starts += 1
        return pid

    def finish(self, pid: int, sts: int) -> None:
        """It ended and was reaped: decide when it starts again, unless it was stopped on purpose."""
        super().finish(pid, sts)
        self.supervised.watch = None
        if self.state not in (ProcessStates.EXITED, ProcessStates.BACKOFF):
            return
        delay_s = self._plan_restart(lived_s=time.monotonic() - self.supervised.started_mono)
        if delay_s:
            self.config.options.logger.warn(f"{self.name} keeps ending: next start in {delay_s:g} s")

    def _plan_restart(self, lived_s: float) -> float:
        supervised = self.supervised
        supervised.history, delay_s = restarts.exited(supervised.history, lived_s)
        supervised.due_mono = time.monotonic() + delay_s
        if delay_s and self.state == ProcessStates.EXITED:
            self.change_state(ProcessStates.BACKOFF)  # so that `supervisorctl stop` works while it waits
        self.backoff = 0
        return delay_s

    def transition(self) -> None:
        """One pass of supervisord's loop."""
        if self.state not in (ProcessStates.EXITED, ProcessStates.BACKOFF, ProcessStates.STOPPED):
            super().transition()
            return
        if self.config.options.mood <= SupervisorStates.RESTARTING:
            return
        if self.state == ProcessStates.STOPPED and (self.laststart or not self.config.autostart):
            return
        try:
            self._start_if_due(time.monotonic())
        except Exception:  # whatever is wrong with one daemon must not end the supervisor of all
            self.config.options.logger.critical(f"cannot start {self.name}: {traceback.format_exc()}")
            self.supervised.due_mono = time.monotonic() + restarts.LONGEST_DELAY_S

    def _start_if_due(self, now: float) -> None:
        if now < self.supervised.due_mono:
            return
        self.supervised.blocked = not self.supervised.takeover.is_free(self.name, now)
        if not self.supervised.blocked:
            self.spawn()

    def check_alive(self, now: float) -> None:
        """Look whether its event loop still turns; end it if not. Call about once per second."""
        watch = self.supervised.watch
        if watch is None or not self.pid or self.state not in (ProcessStates.STARTING, ProcessStates.RUNNING):
            return
        self.supervised.watch, verdict = hangs.look(watch, self._stamp(), now, limit_s=self.supervised.hang_s)
        if verdict is hangs.Verdict.FINE:
            return
        number = signal.SIGABRT if verdict is hangs.Verdict.ABORT else signal.SIGKILL
        log = self.config.options.logger
        log.critical(
            f"{self.name} (pid {self.pid}) hangs, its loop has not turned for {self.supervised.hang_s:g} s: {number.name}"
        )
        self.signal(number)

    def _stamp(self) -> int | None:
        try:
            return alive_path(self.supervised.run_dir, self.name).stat().st_mtime_ns
        except OSError:
            return None
