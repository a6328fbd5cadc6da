"""Walks of directory trees that containers wrote: removal, disk usage, group ownership.

A container may leave any tree behind: paths longer than the system takes, thousands of levels, links that point out of
the volume. So these walks never use a path below the root, never recurse and hold two descriptors whatever the depth:
they go down with openat(O_NOFOLLOW) and up through `..`, checking that it is the directory they came from.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Visit = Callable[[int, str, os.stat_result], None]
"""Called with an open directory, the name of one entry in it, and that entry's own (lstat) attributes."""


@dataclass
class _Level:
    """A directory on the way down: what it is, what it was called in its parent, which directories in it remain."""

    name: str
    seen: os.stat_result
    remaining: list[tuple[str, os.stat_result]] = field(default_factory=list)


def _same(a: os.stat_result, b: os.stat_result) -> bool:
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


def walk_tree(root: str, *, on_file: Visit, on_directory: Visit, one_device: bool = True) -> os.stat_result:
    """Visit everything below `root`, each directory after all that it holds; `root` itself is not visited.

    Directories of another device are visited but not entered when `one_device`. Entries that vanish meanwhile are
    left out. Returns the attributes of `root`. Raises OSError, ESTALE when a directory was moved under the walk.
    """
    fd = os.open(root, _DIRECTORY)
    try:
        top = os.fstat(fd)
        levels = [_Level("", top, _scan(fd, on_file))]
        while True:
            level = levels[-1]
            if level.remaining:
                name, seen = level.remaining.pop()
                child = _enter(fd, name, seen, device=top.st_dev if one_device else None)
                if child is None:
                    _visit(on_directory, fd, name, seen)
                    continue
                os.close(fd)
                fd = child
                levels.append(_Level(name, seen, _scan(fd, on_file)))
                continue
            levels.pop()
            if not levels:
                return top
            parent = os.open("..", _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = parent
            if not _same(os.fstat(fd), levels[-1].seen):
                raise OSError(errno.ESTALE, "directory was moved while it was walked", root)
            _visit(on_directory, fd, level.name, level.seen)
    finally:
        os.close(fd)


def _enter(fd: int, name: str, seen: os.stat_result, *, device: int | None) -> int | None:
    """The directory's descriptor; None when it is not to be entered, has vanished or is no longer the one listed."""
    if device is not None and seen.st_dev != device:
        return None
    try:
        child = os.open(name, _DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        return None
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.ENOTDIR):
            return None
        raise
    if not _same(os.fstat(child), seen):
        os.close(child)
        return None
    return child


def _visit(visit: Visit, fd: int, name: str, seen: os.stat_result) -> None:
    with contextlib.suppress(FileNotFoundError):
        visit(fd, name, seen)


def _scan(fd: int, on_file: Visit) -> list[tuple[str, os.stat_result]]:
    """Visit the files of an open directory; return its directories."""
    directories: list[tuple[str, os.stat_result]] = []
    for name in os.listdir(fd):
        try:
            seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISDIR(seen.st_mode):
                directories.append((name, seen))
            else:
                on_file(fd, name, seen)
        except FileNotFoundError:
            continue
    return directories


def remove_tree(root: str) -> None:
    """Remove `root` and all below it; success when it does not exist. Does not leave the device of `root`.

    The caller makes sure that there is no mount point in it: a bind mount of the same device would be entered.
    """
    try:
        attributes = os.lstat(root)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(attributes.st_mode):
        Path(root).unlink()
        return
    walk_tree(
        root,
        on_file=lambda fd, name, _: os.unlink(name, dir_fd=fd),
        on_directory=lambda fd, name, _: os.rmdir(name, dir_fd=fd),
    )
    Path(root).rmdir()


@dataclass(frozen=True)
class DiskUsage:
    used_bytes: int
    inodes: int


def disk_usage(root: str) -> DiskUsage:
    """Space on disk (allocated blocks of 512 bytes) and inodes of a tree, hard links counted once (upstream `volume/util/fs`).

    Raises OSError when `root` cannot be read.
    """
    total = 0
    inodes = 1
    linked: set[int] = set()
    device = os.lstat(root).st_dev

    def count(_fd: int, _name: str, seen: os.stat_result) -> None:
        nonlocal total, inodes
        if seen.st_dev != device:
            return
        if seen.st_nlink > 1 and not stat.S_ISDIR(seen.st_mode):
            if seen.st_ino in linked:
                return
            linked.add(seen.st_ino)
        total += seen.st_blocks * 512
        inodes += 1

    top = walk_tree(root, on_file=count, on_directory=count)
    return DiskUsage(total + top.st_blocks * 512, inodes)


def _add_bits(fd: int, name: str, bits: int) -> None:
    """Add permission bits to one entry, never to what a link that has just replaced it leads to."""
    entry = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        mode = os.fstat(entry).st_mode
        if not stat.S_ISLNK(mode):
            Path(f"/proc/self/fd/{entry}").chmod(stat.S_IMODE(mode) | bits)
    finally:
        os.close(entry)


_READ_WRITE_BITS: Final = 0o660
_READ_ONLY_BITS: Final = 0o440
_DIRECTORY_BITS: Final = stat.S_ISGID | 0o110


def give_to_group(root: str, gid: int, *, read_only: bool) -> None:
    """Let a group use the tree: children before their directory, bits are only added (upstream `volume.SetVolumeOwnership`).

    A file whose group or bits cannot be changed is passed over, as upstream does. Raises OSError when the walk fails.
    """
    bits = _READ_ONLY_BITS if read_only else _READ_WRITE_BITS

    def change(fd: int, name: str, seen: os.stat_result) -> None:
        try:
            os.chown(name, -1, gid, dir_fd=fd, follow_symlinks=False)
            if not stat.S_ISLNK(seen.st_mode):
                extra = bits | (_DIRECTORY_BITS if stat.S_ISDIR(seen.st_mode) else 0)
                _add_bits(fd, name, extra)
        except PermissionError:
            return

    walk_tree(root, on_file=change, on_directory=change, one_device=False)
    fd = os.open(root, _DIRECTORY)
    try:
        os.chown(fd, -1, gid)
        os.fchmod(fd, stat.S_IMODE(os.fstat(fd).st_mode) | bits | _DIRECTORY_BITS)
    finally:
        os.close(fd)
