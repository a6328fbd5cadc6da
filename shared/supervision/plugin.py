"""The supervisord extension `[rpcinterface:octolet]`: immediate restarts, shared memory, hang detection, takeover.

    [rpcinterface:octolet]
    supervisor.rpcinterface_factory = shared.supervision.plugin:make_rpcinterface
    run_dir = /run/octolet       where locks and `.alive` files are
    preload = true               false: each daemon is executed as an interpreter of its own
    hang_s = 30                  seconds without a turn of a daemon's event loop after which it is killed
    package = services           modules of this package are daemons; all other programs are left to supervisord

supervisord calls the factory once per HTTP server, so a configuration has exactly one `[unix_http_server]`.
"""

import fcntl
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final, NoReturn

from supervisor import events
from supervisor.states import SupervisorStates

from shared.supervision import child
from shared.supervision.hangs import HANG_AFTER_S
from shared.supervision.layout import DEFAULT_RUN_DIR, supervisor_lock
from shared.supervision.notify import notifier_from_environment, without_notification
from shared.supervision.poller import WakefulPoller
from shared.supervision.preload import preload
from shared.supervision.process import DaemonProcess, Supervised
from shared.supervision.takeover import Takeover

LOOK_EVERY_S: Final = 1.0
"""seconds between looks at the `.alive` files"""


class Supervision:
    """Holds what the extension adds to one supervisord. Also the XML-RPC namespace `octolet`."""

    def __init__(self, supervisord: Any, *, run_dir: Path, package: str, preloading: bool, hang_s: float) -> None:
        self._supervisord = supervisord
        self._options = supervisord.options
        self._run_dir = run_dir
        self._package = package
        self._preloading = preloading
        self._hang_s = hang_s
        self._log = supervisord.options.logger
        self._notifier = notifier_from_environment()
        self._takeover = Takeover(run_dir, self._log.warn)
        self._daemons: list[DaemonProcess] = []
        self._looked_mono = time.monotonic()
        self._lock_fd: int | None = None
        self._output_fd: int | None = None

    def install(self) -> None:
        """Change the running supervisord. Called before its loop starts. ValueError: the run directory is taken."""
        options = self._options
        self._lock_fd = _own(self._run_dir)
        self._output_fd = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 3)
        self._exec, self._fork, self._close_fd = options.execve, options.fork, options.close_fd
        options.execve, options.fork, options.close_fd = self._become, self._fork_masked, self._close_unless_kept
        options.poller = WakefulPoller(options.poller, owner=self, reap=self._supervisord.reap, is_known=self._is_known)
        if self._preloading:
            preload(self._log.warn)
        for name in list(self._supervisord.process_groups):
            self._adopt_group(name)
        events.subscribe(events.ProcessGroupAddedEvent, lambda event: self._adopt_group(event.group))
        events.subscribe(events.SupervisorStoppingEvent, lambda _event: self._stop_all())

    def daemons(self) -> list[dict[str, Any]]:
        """XML-RPC `octolet.daemons`: for each daemon name, pid (0: none), state, starts, uptime_s, waiting_s."""
        now = time.monotonic()
        return [
            {
                "name": daemon.name,
                "pid": daemon.pid,
                "state": daemon.get_state(),
                "starts": daemon.supervised.starts,
                "uptime_s": now - daemon.supervised.started_mono if daemon.pid else 0.0,
                "waiting_s": max(0.0, daemon.waiting_until - now) if daemon.waiting_until is not None else 0.0,
            }
            for daemon in self._daemons
        ]

    def extra_fds(self) -> list[int]:
        """See `poller.Owner`."""
        stopping = self._options.mood < SupervisorStates.RUNNING  # nobody is taken over any more
        return [self._takeover.pidfd] if self._takeover.pidfd is not None and not stopping else []

    def next_due(self) -> float | None:
        """See `poller.Owner`."""
        dues = [daemon.waiting_until for daemon in self._daemons]
        dues += [self._takeover.due_mono, self._notifier.next_mono]
        return min((due for due in dues if due is not None), default=None)

    def on_pass(self, now: float) -> None:
        """See `poller.Owner`."""
        self._notifier.beat(now)
        if all(daemon.pid for daemon in self._daemons):
            self._notifier.ready()
        if now - self._looked_mono >= LOOK_EVERY_S:
            self._looked_mono = now
            for daemon in self._daemons:
                daemon.check_alive(now)

    def on_close(self) -> None:
        """See `poller.Owner`: supervisord ends, or reloads and then makes a new one of these."""
        for fd in (self._lock_fd, self._output_fd):
            if fd is not None:
                os.close(fd)
        self._lock_fd = self._output_fd = None

    def _adopt_group(self, name: str) -> None:
        for process in self._supervisord.process_groups[name].processes.values():
            argv = shlex.split(process.config.command)
            if not isinstance(process, DaemonProcess) and child.module_of(argv, self._package):
                supervised = Supervised(self._run_dir, self._takeover, hang_s=self._hang_s)
                self._daemons.append(DaemonProcess.adopt(process, supervised))

    def _stop_all(self) -> None:
        self._notifier.stopping()
        for group in self._supervisord.process_groups.values():
            group.stop_all()  # all at once; supervisord alone would stop one group after the other

    def _is_known(self, fd: int) -> bool:
        return fd in self._options.get_socket_map() or fd in self._supervisord.get_process_map()

    def _close_unless_kept(self, fd: int) -> None:
        if fd != self._output_fd:
            self._close_fd(fd)

    def _fork_masked(self) -> int:
        """Fork with signals blocked: one that comes before the child has its own handlers stays pending there."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, child.HANDLED)
        pid = -1
        try:
            pid = int(self._fork())
        finally:
            if pid != 0:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, child.HANDLED)
        return pid

    def _become(self, filename: str, argv: list[str], env: dict[str, str]) -> NoReturn:
        """The child's last step, in place of `execve`."""
        env = without_notification(env)
        module = child.module_of(argv, self._package)
        if module is not None:
            child.join_output(self._output_fd)
        child.restore_signals()
        if module is not None and self._preloading:
            child.run_module(module, argv, env)
        self._exec(filename, argv, env)
        raise AssertionError("execve returned")


def _own(run_dir: Path) -> int:
    """Make the run directory and take it; the lock lives as long as the descriptor. ValueError when another has it."""
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    run_dir.chmod(0o700)
    fd = os.open(supervisor_lock(run_dir), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise ValueError(f"run directory {run_dir} belongs to another supervisord") from None
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd


def make_rpcinterface(
    supervisord: Any,
    run_dir: str = str(DEFAULT_RUN_DIR),
    preload: str = "true",
    hang_s: str = str(HANG_AFTER_S),
    package: str = "services",
) -> Supervision:
    """The factory that supervisord calls with itself and the options of the section."""
    preloading = preload.strip().lower() in ("true", "yes", "on", "1")
    supervision = Supervision(
        supervisord, run_dir=Path(run_dir), package=package, preloading=preloading, hang_s=float(hang_s)
    )
    supervision.install()
    return supervision
