"""Filesystem figures for the summary, in upstream's field names. Times are RFC3339, sizes bytes."""

import os
from dataclasses import dataclass
from pathlib import Path

FsStats = dict[str, int | str]


@dataclass(frozen=True)
class Filesystem:
    """One filesystem as `statfs` gives it."""

    capacity_bytes: int
    available_bytes: int
    used_bytes: int
    inodes: int
    inodes_free: int


def read_filesystem(path: str) -> Filesystem | None:
    """The filesystem that holds `path`; None when it cannot be read."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return Filesystem(
        capacity_bytes=found.f_blocks * found.f_frsize,
        available_bytes=found.f_bavail * found.f_frsize,
        used_bytes=(found.f_blocks - found.f_bfree) * found.f_frsize,
        inodes=found.f_files,
        inodes_free=found.f_ffree,
    )


def fs_stats(
    time: str, filesystem: Filesystem | None, *, used: int | None = None, inodes_used: int | None = None
) -> FsStats:
    """An `FsStats`: the filesystem's figures, with its use or the given one."""
    stats: FsStats = {"time": time}
    if filesystem is not None:
        stats |= {"availableBytes": filesystem.available_bytes, "capacityBytes": filesystem.capacity_bytes}
        used = filesystem.used_bytes if used is None else used
        inodes_used = filesystem.inodes - filesystem.inodes_free if inodes_used is None else inodes_used
    if used is not None:
        stats["usedBytes"] = used
    if filesystem is not None:
        stats |= {"inodesFree": filesystem.inodes_free, "inodes": filesystem.inodes}
    if inodes_used is not None:
        stats["inodesUsed"] = inodes_used
    return stats


def directory_usage(path: Path) -> tuple[int, int]:
    """(bytes on disk, files) of the regular files directly in a directory; zeros when it is not there."""
    size = count = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512  # st_blocks is in 512-byte units
                    count += 1
    except OSError:
        return 0, 0
    return size, count
