"""Who holds a lock file, found without touching the lock.

Trying the lock would be simpler, but for that moment it is taken, and a daemon that starts just then would find it held
and give up. The kernel lists all locks in /proc/locks (proc(5)); a process that holds one has the file open.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LOCKS: Final = Path("/proc/locks")


def is_held(path: Path) -> bool:
    """Whether some process holds the flock on this file. A file that is not there is held by nobody."""
    try:
        lock = os.stat(path)  # noqa: PTH116 - one system call, in loops
    except FileNotFoundError:
        return False
    return any(same_device or _has_open(pid, lock) for pid, same_device in _entries(lock))


def holder(path: Path) -> int | None:
    """The living process that took the flock on this file; None when there is none or it cannot be told.

    It cannot be told when the one that took it has ended and left it to a child.
    """
    try:
        lock = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return next((pid for pid, _ in _entries(lock) if _has_open(pid, lock)), None)


def _entries(lock: os.stat_result) -> Iterator[tuple[int, bool]]:
    """Pid and "on the very same device" of each flock on a file with this inode number.

    Some file systems give stat(2) another device than the kernel's own, so a difference alone proves nothing.
    """
    device = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}"
    for line in _LOCKS.read_text(encoding="ascii").splitlines():
        words = line.split()
        if len(words) < 6 or words[1] != "FLOCK":  # `->` there: somebody who waits
            continue
        where, _, inode = words[5].rpartition(":")
        if inode == str(lock.st_ino):
            yield int(words[4]), where == device


def _has_open(pid: int, lock: os.stat_result) -> bool:
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            try:
                opened = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116
            except FileNotFoundError:
                continue
            if (opened.st_dev, opened.st_ino) == (lock.st_dev, lock.st_ino):
                return True
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass
    return False
