"""One living process per service and run folder.

ZeroMQ's bind on an ipc path removes a living process's socket without a word, so the lock is taken before the bus is
entered. The kernel gives it up with the process, however that ends; the file itself stays.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self


class LockHeld(Exception):
    """Another living process has it; `pid` is None when the file does not say whose."""

    def __init__(self, path: Path, pid: int | None) -> None:
        self.pid = pid
        whose = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{path} is held by {whose}, which runs this service already; stop that one first")


class ServiceLock:
    """The lock at `path`, with the holder's pid inside. Raises LockHeld, or OSError when the file cannot be opened."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = _read_pid(self._descriptor)
            os.close(self._descriptor)
            raise LockHeld(path, pid) from error
        with contextlib.suppress(OSError):  # the pid is for people; a full disk must not keep a daemon from starting
            size = os.pwrite(self._descriptor, b"%d\n" % os.getpid(), 0)  # in place, which needs no space
            os.ftruncate(self._descriptor, size)

    def release(self) -> None:
        """Give it up."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


def _read_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None
