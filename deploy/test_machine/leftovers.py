"""Ends what outlives a runtime on purpose: shims, the processes below them, mounts."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy.runtime.containerd import wait_ended

KILL_S = 5.0


def shims_of(socket: Path) -> list[int]:
    """Shims that report to that containerd's socket."""
    needle = str(socket)
    return [
        pid
        for pid, words in _command_lines()
        if words and "containerd-shim" in words[0] and any(needle == word.partition(".ttrpc")[0] for word in words)
    ]


def end_shims(socket: Path) -> None:
    """KILL the shims and all their descendants: containers, and commands executed in them."""
    shims = shims_of(socket)
    for pid in [*shims, *_descendants(set(shims))]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in shims:
        wait_ended(pid, timeout_s=KILL_S)


def unmount_below(folder: Path) -> None:
    """Unmount everything that lies in the folder, the deepest first."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    inner = [point for point in points if Path(_unescaped(point)).is_relative_to(folder)]
    for point in sorted(inner, key=len, reverse=True):
        subprocess.run(["umount", "--lazy", _unescaped(point)], check=False, capture_output=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder in which nothing is mounted any more. Raises OSError when something in it still is."""
    unmount_below(folder)
    if folder.exists():
        shutil.rmtree(folder)


def _descendants(parents: set[int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))
    found: list[int] = []
    queue = list(parents)
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _command_lines() -> Iterator[tuple[int, list[str]]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield int(path.parent.name), path.read_bytes().decode(errors="replace").split("\0")


def _unescaped(point: str) -> str:
    """Mount tables write a space as \\040."""
    return point.encode().decode("unicode_escape")
