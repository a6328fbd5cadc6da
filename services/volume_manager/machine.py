"""This machine and node as volume types see them (`ports.Machine`)."""

import asyncio
import os
import secrets
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from services.volume_manager.filesystem import HostFilesystem
from services.volume_manager.mounts import MountCalls, is_shared, mounts_below
from services.volume_manager.ports import Followed
from services.volume_manager.volumes.base import NotKnownYet
from shared.errors import Transient
from shared.kube import quantity
from shared.messages.container_manager import NodeResources

T = TypeVar("T")

_NOSWAP_SINCE: Final = (6, 4)
"""Linux version whose tmpfs knows `noswap` (upstream `kubelet/util/swap`)"""
_WHOLE_ID_RANGE: Final = ["0", "0", "4294967295"]
"""/proc/self/uid_map outside of any user namespace"""


class HostMachine:
    """See `ports.Machine`. Blocking work runs in up to `max_blocked_operations` threads, made when first needed."""

    def __init__(self, root_dir: str, node: Followed[NodeResources], *, max_blocked_operations: int) -> None:
        self.files = HostFilesystem()
        self._root_dir = root_dir
        self._node = node
        self._pool = ThreadPoolExecutor(max_blocked_operations, thread_name_prefix="volume")
        self._noswap: bool | None = None
        self._relabels = Path("/sys/fs/selinux/enforce").exists()

    def run(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Let go of the threads without waiting for one that hangs in a mount."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def allocatable(self, resource: str) -> str:
        node = self._node.get("node")
        if node is None:
            raise NotKnownYet("the node's allocatable resources are not known yet")
        return node.allocatable.get(resource, "0")

    def allocatable_memory(self) -> int:
        return quantity.value(self.allocatable("memory"))

    def relabels(self) -> bool:
        return self._relabels

    def version(self) -> str:
        return f"..{datetime.now(UTC):%Y_%m_%d_%H_%M_%S}.{secrets.randbelow(10**9):09d}"

    def mount_tmpfs_option_noswap(self) -> bool:
        if self._noswap is None:
            self._noswap = self._probe_noswap()
        return self._noswap

    def _probe_noswap(self) -> bool:
        if Path("/proc/self/uid_map").read_text().split() != _WHOLE_ID_RANGE:
            return False
        major, minor = (int("".join(c for c in part if c.isdigit()) or 0) for part in os.uname().release.split(".")[:2])
        if (major, minor) >= _NOSWAP_SINCE:
            return True
        directory = tempfile.mkdtemp(prefix="tmpfs-noswap-test-", dir=f"{self._root_dir}/plugins")
        try:
            self.files.mount("tmpfs", directory, "tmpfs", ("noswap",))
        except Transient:
            return False
        else:
            self.files.unmount(directory)
            return True
        finally:
            Path(directory).rmdir()


def share_root(root_dir: str) -> None:
    """Make mounts below the root directory spread into containers that ask for it, unless they do already.

    Upstream `hostutil.MakeRShared`: bind the directory on itself, then mark that mount shared. Raises Transient. A bind
    would hide mounts that exist below the directory, so it is not made over any.
    """
    table = Path("/proc/self/mountinfo").read_text()
    if is_shared(table, root_dir):
        return
    calls = MountCalls()
    below = mounts_below(table, root_dir)
    if not any(mount.target == root_dir for mount in below):
        if below:
            raise Transient(f"make {root_dir} a shared mount: something is mounted below it already")
        calls.bind(root_dir, root_dir)
    calls.make_shared(root_dir)
