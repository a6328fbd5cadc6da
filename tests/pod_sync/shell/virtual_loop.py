"""An event loop whose time passes only when nothing is left to do: a minute of waiting takes no time at all."""

import asyncio
import selectors
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """Not for sockets or threads: it never waits for the outside world."""

    def __init__(self, start: float = 1000.0) -> None:
        super().__init__(_NeverWaits())
        self._virtual_now = start

    def time(self) -> float:
        return self._virtual_now

    def _run_once(self) -> None:
        ready: Any = self._ready  # type: ignore[attr-defined]
        scheduled: Any = self._scheduled  # type: ignore[attr-defined]
        if not ready and scheduled:
            self._virtual_now = max(self._virtual_now, min(handle.when() for handle in scheduled))
        super()._run_once()  # type: ignore[misc]


class _NeverWaits(selectors.SelectSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(0)
