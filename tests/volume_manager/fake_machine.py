"""A machine in memory whose process can be killed between any two system calls."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from services.volume_manager.ports import FileKind, FileStat, Mount
from services.volume_manager.volumes.base import NotKnownYet
from shared.errors import Transient

T = TypeVar("T")
_VERSIONS = itertools.count()


class Killed(BaseException):
    """SIGKILL: nothing of the process runs after this."""


@dataclass(frozen=True)
class Node:
    kind: FileKind
    mode: int
    gid: int = 0
    data: bytes = b""
    link: str | None = None


@dataclass
class Layer:
    """One mounted filesystem, the root filesystem being the first. Paths are absolute."""

    mount: Mount
    nodes: dict[str, Node] = field(default_factory=dict)


@dataclass
class World:
    """What survives the process: files, mounts, and a record of everything destructive that was done."""

    layers: list[Layer] = field(
        default_factory=lambda: [Layer(Mount("/", "ext4"), {"/": Node(FileKind.DIRECTORY, 0o755)})]
    )
    destroyed: list[str] = field(default_factory=list)


class FakeFilesystem:
    """`ports.Filesystem` over a `World`. Each change costs one system call; `calls_left` None: never killed."""

    def __init__(self, world: World, calls_left: int | None = None) -> None:
        self.world = world
        self.calls_left = calls_left
        self.broken: dict[str, str] = {}
        """path to the error that any change of it meets"""

    # --- what any process sees -------------------------------------------------------------------------------------
    def _layer(self, path: str) -> Layer:
        found = self.world.layers[0]
        for layer in self.world.layers:
            target = layer.mount.target
            if target == "/" or path == target or path.startswith(target + "/"):
                found = layer
        return found

    def _node(self, path: str) -> Node | None:
        return self._layer(path).nodes.get(path)

    def stat(self, path: str) -> FileStat | None:
        node = self._node(path)
        return None if node is None else FileStat(node.kind, node.mode, 0, node.gid)

    def list_dir(self, path: str) -> list[str]:
        if self._node(path) is None:
            return []
        prefix = "/" if path == "/" else path + "/"
        names = {p[len(prefix) :] for p in self._layer(path).nodes if p.startswith(prefix) and p != path}
        return sorted(n for n in names if n and "/" not in n)

    def mounts_below(self, path: str) -> list[Mount]:
        targets = [layer.mount for layer in reversed(self.world.layers)]
        return [m for m in targets if m.target == path or m.target.startswith(path.rstrip("/") + "/")]

    # --- system calls ----------------------------------------------------------------------------------------------
    def _call(self, path: str) -> None:
        if self.calls_left is not None:
            if self.calls_left == 0:
                raise Killed
            self.calls_left -= 1
        if path in self.broken:
            raise Transient(self.broken[path])

    def make_dir(self, path: str, mode: int) -> None:
        parent = path.rpartition("/")[0] or "/"
        if self._node(path) is not None:
            return
        if self._node(parent) is None:
            self.make_dir(parent, mode)
        self._call(path)
        self._layer(path).nodes[path] = Node(FileKind.DIRECTORY, mode & ~0o022)

    def make_file(self, path: str, mode: int) -> None:
        if self._node(path) is None:
            self._call(path)
            if self._node(path.rpartition("/")[0]) is None:
                raise Transient(f"open {path}: no such file or directory")
            self._layer(path).nodes[path] = Node(FileKind.FILE, mode & ~0o022)

    def set_mode(self, path: str, mode: int) -> None:
        self._call(path)
        layer = self._layer(path)
        layer.nodes[path] = replace(layer.nodes[path], mode=mode)

    def write_file(self, path: str, data: bytes, mode: int, *, uid: int | None) -> None:
        nodes = self._layer(path).nodes
        self._call(path)
        nodes[path] = Node(FileKind.FILE, mode)
        self._call(path)
        nodes[path] = Node(FileKind.FILE, mode, data=data)

    def read_file(self, path: str) -> bytes | None:
        node = self._node(path)
        return None if node is None else node.data

    def list_files(self, path: str) -> list[str]:
        nodes = self._layer(path).nodes
        return sorted(
            p[len(path) + 1 :] for p, n in nodes.items() if p.startswith(path + "/") and n.kind is FileKind.FILE
        )

    def make_link(self, target: str, path: str) -> None:
        self._call(path)
        if self._node(path) is not None:
            raise Transient(f"symlink {path}: file exists")
        self._layer(path).nodes[path] = Node(FileKind.OTHER, 0o777, link=target)

    def read_link(self, path: str) -> str | None:
        node = self._node(path)
        return None if node is None else node.link

    def rename(self, old: str, new: str) -> None:
        self._call(new)
        nodes = self._layer(old).nodes
        nodes[new] = nodes.pop(old)

    def remove_file(self, path: str) -> None:
        if self._node(path) is not None:
            self._call(path)
            del self._layer(path).nodes[path]

    def remove_dir(self, path: str) -> None:
        if self._node(path) is None:
            return
        self._call(path)
        if any(layer.mount.target == path for layer in self.world.layers):
            raise Transient(f"remove {path}: device or resource busy")
        if self.list_dir(path):
            raise Transient(f"remove {path}: directory not empty")
        self._destroy(path)

    def remove_tree(self, path: str) -> None:
        for mount in self.mounts_below(path):
            raise Transient(f"cannot delete directory {mount.target}: it is a mount point")
        layer = self._layer(path)
        for each in sorted((p for p in layer.nodes if p == path or p.startswith(path + "/")), reverse=True):
            self._call(each)
            self._destroy(each)

    def _destroy(self, path: str) -> None:
        self.world.destroyed.append(path)
        del self._layer(path).nodes[path]

    def mount(self, source: str, target: str, fstype: str, options: tuple[str, ...]) -> None:
        self._call(target)
        if self._node(target) is None:
            raise Transient(f"mount failed: no such file or directory\nMounting arguments: {target}")
        root = {target: Node(FileKind.DIRECTORY, 0o1777)}
        self.world.layers.append(Layer(Mount(target, fstype, source, options), root))

    def unmount(self, target: str) -> None:
        for layer in reversed(self.world.layers):
            if layer.mount.target == target:
                self._call(target)
                self.world.destroyed.append(target)
                self.world.layers.remove(layer)
                return

    def give_to_group(self, path: str, gid: int, *, read_only: bool) -> None:
        layer = self._layer(path)
        for each in sorted((p for p in layer.nodes if p == path or p.startswith(path + "/")), reverse=True):
            self._call(each)
            layer.nodes[each] = replace(layer.nodes[each], gid=gid)


class FakeMachine:
    """`ports.Machine`: work runs at once, in the loop."""

    def __init__(self, files: FakeFilesystem, allocatable: dict[str, str] | None = None) -> None:
        self.files = files
        self.known = {"memory": "1073741824", "cpu": "2"} if allocatable is None else allocatable

    async def _done(self, work: Callable[[], T]) -> T:
        return work()

    def run(self, work: Callable[[], T]) -> Awaitable[T]:
        return self._done(work)

    def allocatable(self, resource: str) -> str:
        if not self.known:
            raise NotKnownYet("the node's allocatable resources are not known yet")
        return self.known.get(resource, "0")

    def allocatable_memory(self) -> int:
        return int(self.allocatable("memory"))

    def version(self) -> str:
        return f"..2026_12_01_00_00_00.{next(_VERSIONS):09d}"

    def mount_tmpfs_option_noswap(self) -> bool:
        return True

    def relabels(self) -> bool:
        return False
