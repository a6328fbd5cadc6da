"""The machine's files and mounts behind `ports.Filesystem`."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.volume_manager import tree
from services.volume_manager.mounts import MountCalls, mounts_below
from services.volume_manager.ports import FileKind, FileStat, Mount
from shared.errors import Transient

_KINDS = (
    (stat.S_ISDIR, FileKind.DIRECTORY),
    (stat.S_ISREG, FileKind.FILE),
    (stat.S_ISSOCK, FileKind.SOCKET),
    (stat.S_ISCHR, FileKind.CHAR_DEVICE),
    (stat.S_ISBLK, FileKind.BLOCK_DEVICE),
)


@contextmanager
def _words(act: str, path: str) -> Iterator[None]:
    """Say what failed as Go programs say it: `mkdir /a/b: permission denied`."""
    try:
        yield
    except OSError as e:
        raise Transient(f"{act} {path}: {(e.strerror or str(e)).lower()}") from e


def _kind(mode: int) -> FileKind:
    return next((kind for test, kind in _KINDS if test(mode)), FileKind.OTHER)


class HostFilesystem:
    """See `ports.Filesystem`."""

    def __init__(self, mountinfo: Path = Path("/proc/self/mountinfo")) -> None:
        self._mountinfo = mountinfo
        self._calls = MountCalls()

    def stat(self, path: str) -> FileStat | None:
        with _words("stat", path):
            try:
                seen = Path(path).stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            return FileStat(_kind(seen.st_mode), stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid)

    def list_dir(self, path: str) -> list[str]:
        with _words("open", path):
            try:
                return sorted(entry.name for entry in Path(path).iterdir())
            except (FileNotFoundError, NotADirectoryError):
                return []

    def make_dir(self, path: str, mode: int) -> None:
        with _words("mkdir", path):
            target = Path(path)
            missing = [p for p in (target, *target.parents) if not p.exists()]
            for directory in reversed(missing):
                directory.mkdir(mode, exist_ok=True)
            if not target.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)

    def make_file(self, path: str, mode: int) -> None:
        with _words("open", path):
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, mode))

    def set_mode(self, path: str, mode: int) -> None:
        with _words("chmod", path):
            Path(path).chmod(mode)

    def write_file(self, path: str, data: bytes, mode: int, *, uid: int | None) -> None:
        with _words("open", path):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                os.fchmod(fd, mode)
                if uid is not None:
                    os.fchown(fd, uid, -1)

    def read_file(self, path: str) -> bytes | None:
        with _words("open", path):
            try:
                return Path(path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def list_files(self, path: str) -> list[str]:
        with _words("open", path):
            top = Path(path)
            return sorted(str(p.relative_to(top)) for p in top.rglob("*") if p.is_symlink() or not p.is_dir())

    def make_link(self, target: str, path: str) -> None:
        with _words("symlink", path):
            Path(path).symlink_to(target)

    def read_link(self, path: str) -> str | None:
        with _words("readlink", path):
            link = Path(path)
            return str(link.readlink()) if link.is_symlink() else None

    def rename(self, old: str, new: str) -> None:
        with _words("rename", old):
            Path(old).rename(new)

    def remove_file(self, path: str) -> None:
        with _words("remove", path):
            try:
                Path(path).unlink()
            except (FileNotFoundError, NotADirectoryError):
                return

    def remove_dir(self, path: str) -> None:
        with _words("remove", path):
            try:
                Path(path).rmdir()
            except FileNotFoundError:
                return

    def remove_tree(self, path: str) -> None:
        for mount in self.mounts_below(path):
            raise Transient(f"cannot delete directory {mount.target}: it is a mount point")
        with _words("remove", path):
            tree.remove_tree(path)

    def mounts_below(self, path: str) -> list[Mount]:
        with _words("open", str(self._mountinfo)):
            return mounts_below(os.fsdecode(self._mountinfo.read_bytes()), path)

    def mount(self, source: str, target: str, fstype: str, options: tuple[str, ...]) -> None:
        self._calls.mount(source, target, fstype, options)

    def unmount(self, target: str) -> None:
        self._calls.unmount(target)

    def give_to_group(self, path: str, gid: int, *, read_only: bool) -> None:
        with _words("chown", path):
            tree.give_to_group(path, gid, read_only=read_only)
