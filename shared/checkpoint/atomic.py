"""Replace a file in one step."""

import os
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Make `path` hold exactly `data`, durably: a reader or a crash sees the old content or the new, never a mixture.

    Not `durable`: it survives any end of this process but not a loss of power. That is enough for what means nothing
    after a boot, and does not wait for the disk.

    Temporary file beside it, fsync, rename, fsync of the folder. The folder must exist. One writer per path (the
    temporary name is fixed, so that crashes leave at most one behind). Blocks for the disk's flush: call it from a
    thread where milliseconds matter. Raises OSError, and then the old content is still there.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        os.fchmod(descriptor, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in that folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
