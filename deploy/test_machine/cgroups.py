"""A cgroup of one test machine in every hierarchy, below which its pods live."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

CGROUP_MOUNT = Path("/sys/fs/cgroup")
DRAIN_S = 10.0


def hierarchies(mount: Path = CGROUP_MOUNT) -> list[Path]:
    """Where cgroups are made: the one tree of cgroup v2, or each controller's of v1."""
    if (mount / "cgroup.controllers").exists():
        return [mount]
    return sorted({folder.resolve() for folder in mount.iterdir() if (folder / "cgroup.procs").exists()})


def make_cgroup(name: str) -> None:
    """Make `/name` in each hierarchy, fit for children."""
    for hierarchy in hierarchies():
        folder = hierarchy / name
        folder.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):  # v1: empty in a new cgroup, and then no process may enter
            if (folder / file).exists() and not (folder / file).read_text().strip():
                (folder / file).write_text((hierarchy / file).read_text())


def processes_in(name: str) -> set[int]:
    """Pids in the cgroup and all below it."""
    return {
        int(pid)
        for hierarchy in hierarchies()
        for folder in _deepest_first(hierarchy / name)
        for pid in _read(folder / "cgroup.procs").split()
    }


def remove_cgroup(name: str) -> None:
    """KILL what is left in it and remove it with all below. What is gone is success."""
    deadline = time.monotonic() + DRAIN_S
    while (left := processes_in(name)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for hierarchy in hierarchies():
        for folder in _deepest_first(hierarchy / name):
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()


def _deepest_first(folder: Path) -> Iterator[Path]:
    for path, _, _ in os.walk(folder, topdown=False):
        yield Path(path)


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):  # gone meanwhile, or a threaded cgroup
        return path.read_text()
    return ""
