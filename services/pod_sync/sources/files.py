"""The file source: a folder of manifests, or one file, watched and read anew now and then.

Source: upstream `kubelet/config` (file.go, file_linux.go). In a folder, an edit that breaks a manifest leaves its pod as it is
until the next whole reading, which ends it; a single file that cannot be read changes nothing at all.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from asyncinotify import Mask
from structlog.typing import FilteringBoundLogger

from services.pod_sync.sources.manifests import ManifestReader
from services.pod_sync.sources.notices import GONE, SELF_GONE, WRITTEN, Notice, watched
from shared.kube.types import Pod

Deliver = Callable[[Sequence[Pod]], None]

MISSING_PERIOD_S: Final = 1.0
"""upstream: a path that is not there is looked for this often"""


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """`path` is `staticPodPath`, `period_s` is `fileCheckFrequency`."""

    path: Path
    node_name: str
    period_s: float = 20.0


async def watch_files(settings: FileSettings, deliver: Deliver, log: FilteringBoundLogger) -> None:
    """Deliver the whole list at every change and every period, for ever. A missing path is an empty list.

    `deliver` is called in the loop; disk and decoding are kept out of it.
    """
    reader = ManifestReader(settings.node_name, log)
    told = False
    while True:
        if settings.path.is_dir():
            told = False
            await _Folder(settings, reader, deliver).watch()
        elif settings.path.exists():
            told = False
            await _SingleFile(settings, reader, deliver).watch()
        else:
            if not told:
                log.warning("manifests.not_found", path=str(settings.path), text="path does not exist, ignoring")
                told = True
            deliver([])
            await asyncio.sleep(MISSING_PERIOD_S)


def _is_link(path: Path) -> bool:
    """A link is whole as soon as it is there, and nobody closes it."""
    try:
        return path.is_symlink() or path.lstat().st_nlink > 1
    except OSError:
        return False


def _is_whole(notice: Notice, path: Path) -> bool:
    """Whether the file can be read now: one that is still being written is read when its writer closes it."""
    return bool(notice.mask & WRITTEN) or _is_link(path)


class _Folder:
    """The manifests of one folder. `store` is keyed by namespace/name: of two files with one pod the last in order wins."""

    def __init__(self, settings: FileSettings, reader: ManifestReader, deliver: Deliver) -> None:
        self._path = settings.path
        self._period_s = settings.period_s
        self._reader = reader
        self._deliver = deliver
        self._store: dict[str, Pod] = {}
        self._keys: dict[str, str] = {}
        """store key by file name"""

    async def watch(self) -> None:
        """Returns when the folder is gone or is another one."""
        identity = _identity(self._path)
        async with watched(self._path) as notices:
            await self._read_all()
            due = time.monotonic() + self._period_s
            while True:
                notice = await notices.next(due - time.monotonic())
                if notice is None:
                    if not self._path.is_dir() or _identity(self._path) != identity:
                        return
                    await self._read_all()
                    due = time.monotonic() + self._period_s
                elif notice.mask & SELF_GONE:
                    return
                elif notice.mask & Mask.Q_OVERFLOW:
                    await self._read_all()
                elif notice.name and not notice.name.startswith("."):
                    await self._changed(notice)

    async def _read_all(self) -> None:
        read = await asyncio.to_thread(self._read_folder)
        if read is None:
            return
        self._store, self._keys = {}, {}
        for name, pod in read:
            self._put(name, pod)
        self._deliver(list(self._store.values()))

    def _read_folder(self) -> list[tuple[str, Pod]] | None:
        """Sound manifests by file name. None: the folder cannot be read, which says nothing about what is in it."""
        try:
            names = sorted(name for name in os.listdir(self._path) if not name.startswith("."))  # noqa: PTH208
        except OSError as error:
            self._reader.complain(self._path, f"{self._path}: {error.strerror}")
            return None
        self._reader.keep_only({self._path / name for name in names})
        read = ((name, self._reader.read(self._path / name)) for name in names)
        return [(name, pod) for name, pod in read if pod is not None]

    def _put(self, name: str, pod: Pod) -> None:
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        before = self._keys.get(name)
        if before is not None and before != key:
            self._store.pop(before, None)
        self._keys[name] = key
        self._store[key] = pod

    async def _changed(self, notice: Notice) -> None:
        name, path = notice.name, self._path / notice.name
        if notice.mask & GONE:
            self._reader.forget(path)
            key = self._keys.pop(name, None)
            if key is None or key in self._keys.values():
                return  # never read, or another file has that pod too (the next whole reading finds which one counts)
            self._store.pop(key, None)
        elif _is_whole(notice, path):
            pod = await asyncio.to_thread(self._reader.read, path)
            if pod is None:
                return
            self._put(name, pod)
        else:
            return
        self._deliver(list(self._store.values()))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _SingleFile:
    """One manifest file, watched through its folder so that a replaced file is noticed."""

    def __init__(self, settings: FileSettings, reader: ManifestReader, deliver: Deliver) -> None:
        self._path = settings.path
        self._period_s = settings.period_s
        self._reader = reader
        self._deliver = deliver

    async def watch(self) -> None:
        """Returns when the file is gone or became a folder."""
        async with watched(self._path.parent) as notices:
            due = 0.0
            while self._path.exists() and not self._path.is_dir():
                notice = await notices.next(due - time.monotonic())
                if notice is not None and not (notice.name == self._path.name and _is_whole(notice, self._path)):
                    continue
                pod = await asyncio.to_thread(self._reader.read, self._path)
                if pod is not None:
                    self._deliver([pod])
                due = time.monotonic() + self._period_s
