"""What volumes need from the machine. The real one is `filesystem.py`; tests have one that crashes between two calls.

Every call may block and is made in a worker thread. Each raises `Transient` with the system's own words when the
machine refuses. Calls that undo something succeed when there is nothing to undo.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

T = TypeVar("T")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class FileKind(StrEnum):
    """Values are the words upstream's messages use (`hostutil.FileType`)."""

    DIRECTORY = "Directory"
    FILE = "File"
    SOCKET = "Socket"
    CHAR_DEVICE = "CharDevice"
    BLOCK_DEVICE = "BlockDevice"
    OTHER = "other"


@dataclass(frozen=True)
class FileStat:
    """`mode` holds the permission bits with setuid, setgid and sticky."""

    kind: FileKind
    mode: int
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True)
class Mount:
    """One line of the mount table. `options` are the filesystem's own (`size=1024k`), `source` what is mounted."""

    target: str
    fstype: str
    source: str = ""
    options: tuple[str, ...] = ()


class Filesystem(Protocol):
    """The machine's files and mounts, in steps that are each done or not done."""

    def stat(self, path: str) -> FileStat | None:
        """Of the file that the path leads to, symbolic links followed; None when there is none."""
        ...

    def list_dir(self, path: str) -> list[str]:
        """Sorted names; empty when it does not exist."""
        ...

    def make_dir(self, path: str, mode: int) -> None:
        """Make it, its parents too, each with this mode less the process's umask. An existing directory is left as it is."""
        ...

    def make_file(self, path: str, mode: int) -> None:
        """Make it empty unless it exists. Parents must exist."""
        ...

    def set_mode(self, path: str, mode: int) -> None: ...

    def write_file(self, path: str, data: bytes, mode: int, *, uid: int | None) -> None:
        """Make or replace a file with exactly this content and mode; owner root unless `uid`."""
        ...

    def read_file(self, path: str) -> bytes | None:
        """None when it does not exist."""
        ...

    def list_files(self, path: str) -> list[str]:
        """Every file below a directory, as relative paths."""
        ...

    def make_link(self, target: str, path: str) -> None:
        """A symbolic link at `path`. Raises Transient when something is there."""
        ...

    def read_link(self, path: str) -> str | None:
        """Where a link leads; None when there is no link."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Atomic; replaces `new`."""
        ...

    def remove_file(self, path: str) -> None:
        """A file or a link."""
        ...

    def remove_dir(self, path: str) -> None:
        """Only when it is empty."""
        ...

    def remove_tree(self, path: str) -> None:
        """With all it holds; never follows a link, refuses when it is or holds a mount point."""
        ...

    def mounts_below(self, path: str) -> list[Mount]:
        """What is mounted on `path` or beneath it, the last mounted first."""
        ...

    def mount(self, source: str, target: str, fstype: str, options: tuple[str, ...]) -> None: ...

    def unmount(self, target: str) -> None:
        """Take the topmost mount off."""
        ...

    def give_to_group(self, path: str, gid: int, *, read_only: bool) -> None:
        """Upstream's fsGroup walk: group, group bits and setgid for everything below and then `path` itself."""
        ...


class Machine(Protocol):
    """All that a volume type may use."""

    @property
    def files(self) -> Filesystem: ...

    def run(self, work: Callable[[], T]) -> Awaitable[T]:
        """Run blocking work in a thread."""
        ...

    def allocatable_memory(self) -> int:
        """The node's allocatable memory in bytes. Raises `NotKnownYet`."""
        ...

    def allocatable(self, resource: str) -> str:
        """The node's allocatable quantity of a resource, `0` when it has none. Raises `NotKnownYet`."""
        ...

    def version(self) -> str:
        """A new name for one version of a written volume: two dots, the time in UTC, random digits."""
        ...

    def mount_tmpfs_option_noswap(self) -> bool:
        """Whether the kernel takes `noswap` for a tmpfs here."""
        ...

    def relabels(self) -> bool:
        """Whether the machine has SELinux, so that the runtime must be asked to relabel."""
        ...


class Followed(Protocol[V_co]):
    """What is read of a followed table (`shared.bus.TableView`)."""

    @property
    def complete(self) -> bool: ...

    def get(self, key: str) -> V_co | None: ...

    def keys(self) -> Iterable[str]: ...


class Owned(Protocol[V]):
    """What is done with an owned table (`shared.bus.OwnedTable`)."""

    def put(self, key: str, value: V) -> None: ...

    def delete(self, key: str) -> None: ...

    def get(self, key: str) -> V | None: ...
