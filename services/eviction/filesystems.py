"""File systems and folders of this machine. Blocks: call from a thread."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from services.eviction.pressure.model import Amounts


@dataclass(frozen=True)
class Filesystem:
    """One file system. Bytes and inodes; `device` tells two of them apart."""

    capacity_bytes: int
    available_bytes: int
    inodes: int
    inodes_free: int
    device: int


def read_filesystem(path: str) -> Filesystem | None:
    """The file system that holds `path`; None when it cannot be read."""
    try:
        found, device = os.statvfs(path), Path(path).stat().st_dev
    except OSError:
        return None
    return Filesystem(
        capacity_bytes=found.f_blocks * found.f_frsize,
        available_bytes=found.f_bavail * found.f_frsize,
        inodes=found.f_files,
        inodes_free=found.f_ffree,
        device=device,
    )


def folder_use(path: Path) -> Amounts:
    """Space of the regular files directly in a folder; nothing when it is not there."""
    used = Amounts()
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                used += Amounts(entry.stat(follow_symlinks=False).st_blocks * 512, 1)  # blocks of 512 bytes
    return used
