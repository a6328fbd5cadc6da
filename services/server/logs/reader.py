"""Reads one container's log file, and follows it across rotation without losing or doubling a line."""

import asyncio
import contextlib
import functools
import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from asyncinotify import Inotify, Mask

from services.server.logs.lines import LineFilter, UnknownFormat, tail_offset
from services.server.logs.options import LogOptions

CHUNK_BYTES = 1 << 17
"""read and sent at a time: memory stays flat in the size of a log"""
FOLLOW_WAKE_S = 1.0
"""upstream `kuberuntime/logs`: a follower looks again at least this often, should a notice be missed"""
_WATCHED = Mask.MODIFY | Mask.CREATE | Mask.MOVED_TO | Mask.MOVED_FROM | Mask.DELETE


async def read_log(path: Path, options: LogOptions, is_running: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
    """Pieces of output. The first is empty, so that headers leave before anything is waited for.

    `is_running` is asked before each wait while following: when it says no, the file is read to its end once more and the
    stream ends. Errors after the first piece become text of the stream, as upstream appends them to a 200.
    """
    yield b""
    try:
        real = path.resolve(strict=True)
    except OSError as error:
        yield f'failed to try resolving symlinks in path "{path}": {error.strerror}'.encode()
        return
    try:
        async with contextlib.aclosing(_LogFile(real, options).pieces(is_running)) as pieces:
            async for piece in pieces:
                yield piece
    except UnknownFormat as error:
        yield f"failed to get parse function: {error}".encode()
    except OSError as error:
        yield f"failed to open log file {str(real)!r}: {error.strerror}".encode()


class _LogFile:
    """The open file of one reader, its filter, and where it is."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self.path = path
        self.options = options
        self.filter = LineFilter(options)
        self.fd = -1

    async def pieces(self, is_running: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
        self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(self.fd).st_size
            if self.options.tail_lines is not None:
                start = tail_offset(functools.partial(os.pread, self.fd), size, self.options.tail_lines)
                os.lseek(self.fd, start, os.SEEK_SET)
            if not self.options.follow:
                # What is written after the request began belongs to the next request.
                async for piece in self._to_offset(size):
                    yield piece
                return
            async with contextlib.aclosing(self._follow(is_running)) as followed:
                async for piece in followed:
                    yield piece
        finally:
            os.close(self.fd)

    async def _to_offset(self, end: int | None) -> AsyncGenerator[bytes, None]:
        """Everything up to `end`, or to the end of the file as it is now."""
        while not self.filter.done:
            here = os.lseek(self.fd, 0, os.SEEK_CUR)
            wanted = CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - here)
            data = os.read(self.fd, wanted) if wanted > 0 else b""
            if not data:
                return
            piece = self.filter.feed(data)
            if piece:
                yield piece
            else:
                await asyncio.sleep(0)  # lines of no interest: let other requests have the loop

    async def _follow(self, is_running: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
        with Inotify() as notify:
            notify.add_watch(self.path.parent, _WATCHED)
            while True:
                alive = is_running()
                async for piece in self._to_offset(None):
                    yield piece
                if self.filter.done or (not alive and not self._rotated()):
                    return
                if self._rotated():
                    # The runtime writes to the old file until it has opened the new one: its rest comes first.
                    async for piece in self._to_offset(None):
                        yield piece
                    self._reopen()
                    continue
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(FOLLOW_WAKE_S):
                        await self._noticed(notify)

    async def _noticed(self, notify: Inotify) -> None:
        async for event in notify:
            if event.name is not None and event.name.name == self.path.name:
                return

    def _rotated(self) -> bool:
        """Whether another file has taken the name. A name that is free for a moment is no rotation yet."""
        try:
            there = self.path.stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self.fd)
        return (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino)

    def _reopen(self) -> None:
        fresh = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        os.close(self.fd)
        self.fd = fresh
        self.filter.restart()
