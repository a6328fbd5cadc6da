"""Notices of changes in one folder, from inotify, with a bound on each wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from asyncinotify import Event, Inotify, Mask

WRITTEN: Final = Mask.CLOSE_WRITE | Mask.MOVED_TO | Mask.ATTRIB
GONE: Final = Mask.DELETE | Mask.MOVED_FROM
SELF_GONE: Final = Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.IGNORED | Mask.UNMOUNT
_WATCHED: Final = WRITTEN | GONE | Mask.CREATE | Mask.DELETE_SELF | Mask.MOVE_SELF


@dataclass(frozen=True)
class Notice:
    """Something happened to the entry `name`, or, when that is empty, to the folder itself."""

    mask: Mask
    name: str


class Notices:
    """Of one watch; none ever come when there is none."""

    def __init__(self, notify: Inotify | None) -> None:
        self._notify = notify
        self._pending: asyncio.Task[Event] | None = None

    async def next(self, timeout_s: float) -> Notice | None:
        """The next notice, None when none came in time. A wait that is over goes on at the next call."""
        if self._notify is None:
            await asyncio.sleep(max(timeout_s, 0.0))
            return None
        if self._pending is None:
            self._pending = asyncio.create_task(self._notify.get())
        await asyncio.wait({self._pending}, timeout=max(timeout_s, 0.0))
        if not self._pending.done():
            return None
        event = self._pending.result()
        self._pending = None
        return Notice(event.mask, event.name.name if event.name is not None else "")

    async def close(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            await asyncio.gather(self._pending, return_exceptions=True)


@asynccontextmanager
async def watched(path: Path) -> AsyncIterator[Notices]:
    """The watch is there before the body runs, so what the body reads first misses no change.

    Where there is no watch to be had (the folder has just gone, or the machine has no watch left) there are simply no
    notices, and the periodic reading remains.
    """
    with ExitStack() as stack:
        notify: Inotify | None = None
        with suppress(OSError):
            notify = stack.enter_context(Inotify())
            notify.add_watch(path, _WATCHED)
        notices = Notices(notify)
        try:
            yield notices
        finally:
            await notices.close()
