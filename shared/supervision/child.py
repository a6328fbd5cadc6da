"""The forked child's last step: become the daemon, without a new interpreter where that is possible.

supervisord calls `execve` in the child after it has set the process group, descriptors, user, environment, directory
and umask. For a daemon of ours the module is run as `__main__` right there: everything it imports is already in memory
and shared with the other eight processes. Any other program is executed as usual.
"""

import atexit
import contextlib
import faulthandler
import os
import runpy
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, TextIO

from setproctitle import setproctitle

HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR2)
"""signals that supervisord handles; blocked around the fork so that none is lost in the child"""


def module_of(argv: Sequence[str], package: str) -> str | None:
    """`services.pleg` for `python -m services.pleg ...` when it lies in `package`; else None."""
    if len(argv) >= 3 and argv[1] == "-m" and argv[2].startswith(package + "."):
        return argv[2]
    return None


def restore_signals() -> None:
    """Give every signal the meaning it has in a fresh Python process, then let pending ones come."""
    signal.set_wakeup_fd(-1)
    for number in HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)


def join_output(output_fd: int | None) -> None:
    """Write to supervisord's own stderr instead of its pipe, so that a daemon outlives supervisord's death."""
    if output_fd is not None:
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
        os.close(output_fd)


def run_module(module: str, argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Run the module as `__main__` in this process and end the process with its exit status."""
    setproctitle(f"python -m {module}")  # before the environment: the title lives where that was
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [module, *argv[3:]]
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = _writer(1), _writer(2)
    faulthandler.enable()
    code = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = _exit_code(end)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _writer(fd: int) -> TextIO:
    return os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    with contextlib.suppress(OSError, ValueError):
        print(end.code, file=sys.stderr)
    return 1
