"""Reads the node's signals: memory and processes from container_manager, disks by statfs."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final, Protocol

from services.eviction.filesystems import Filesystem, read_filesystem
from services.eviction.pressure.model import Observation
from shared.bus import Bus
from shared.cri import api
from shared.errors import OctoletError, Transient
from shared.kube import eviction_thresholds as names
from shared.messages.container_manager import USAGE, MemoryUsage, Usage, UsageReply

USAGE_TIMEOUT_S: Final = 5.0


class ImageFsInfo(Protocol):
    """The one call to the runtime that is needed here."""

    async def image_fs_info(
        self, request: api.ImageFsInfoRequest, *, timeout_s: float | None = None
    ) -> api.ImageFsInfoResponse: ...


class SignalReader:
    """What could not be read is left out of an answer; `missing` says why, by what was asked."""

    def __init__(self, bus: Bus, cri: ImageFsInfo, root_dir: str) -> None:
        self._bus = bus
        self._cri = cri
        self._root_dir = root_dir
        self._image_path: str | None = None
        self.dedicated_imagefs = False
        """images and layers lie on another device than pods' volumes and logs"""
        self.missing: Mapping[str, str | None] = {}

    async def observe(self) -> dict[str, Observation]:
        """Every signal that can be read now. A peer that is away costs only its own signals."""
        missing: dict[str, str | None] = {"container_manager": None, "runtime": None}
        found: dict[str, Observation] = {}
        try:
            usage = await self._bus.call(USAGE, Usage(max_age_s=0.0, pods=False), timeout_s=USAGE_TIMEOUT_S)
        except OctoletError as error:
            missing["container_manager"] = f"ask container_manager for usage: {error}"
        else:
            found |= usage_signals(usage, time.time() - time.monotonic())
        if self._image_path is None:  # it does not move while a runtime runs
            try:
                self._image_path = await image_path(self._cri)
            except OctoletError as error:
                missing["runtime"] = f"ask the runtime where images lie: {error}"
        found |= await asyncio.to_thread(self._disks, self._image_path)
        self.missing = missing
        return found

    def _disks(self, image_path: str | None) -> dict[str, Observation]:
        node = read_filesystem(self._root_dir)
        images = read_filesystem(image_path) if image_path is not None else None
        now = time.monotonic()
        found: dict[str, Observation] = {}
        if node is not None:
            found |= disk_signals("nodefs", node, now)
        if images is not None:
            found |= disk_signals("imagefs", images, now)
            self.dedicated_imagefs = node is not None and node.device != images.device
        return found


async def image_path(cri: ImageFsInfo) -> str:
    """The mount point of the image file system, as the runtime says. Raises OctoletError."""
    reply = await cri.image_fs_info(api.ImageFsInfoRequest())
    for found in reply.image_filesystems:
        if found.fs_id.mountpoint:
            path: str = found.fs_id.mountpoint
            return path
    raise Transient("read image file system: the runtime names none")


def usage_signals(usage: UsageReply, wall_minus_mono: float) -> dict[str, Observation]:
    """Memory of node and pods, and processes. Capacity of memory is what is available and what is used, as upstream."""
    found = {}
    memory = {names.MEMORY_AVAILABLE: usage.node.memory, names.ALLOCATABLE_MEMORY_AVAILABLE: usage.pods_group.memory}
    for signal, use in memory.items():
        if use is not None and use.available_bytes is not None:
            found[signal] = _memory(use, use.available_bytes, wall_minus_mono)
    if usage.pids_max:
        left = usage.pids_max - usage.pids_current
        found[names.PID_AVAILABLE] = Observation(left, usage.pids_max, usage.at - wall_minus_mono)
    return found


def _memory(use: MemoryUsage, available: int, wall_minus_mono: float) -> Observation:
    return Observation(available, available + use.working_set_bytes, use.at - wall_minus_mono)


def disk_signals(which: str, filesystem: Filesystem, now_mono: float) -> dict[str, Observation]:
    """`<which>.available` and `<which>.inodesFree`. A file system without inodes (btrfs) has no such signal."""
    found = {
        f"{which}.available": Observation(filesystem.available_bytes, filesystem.capacity_bytes, now_mono),
    }
    if filesystem.inodes:
        found[f"{which}.inodesFree"] = Observation(filesystem.inodes_free, filesystem.inodes, now_mono)
    return found
