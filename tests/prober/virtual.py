"""An event loop whose time jumps to the next timer as soon as nothing else is left to do."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time begins at 1000 s and passes only by waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        this: Any = self
        timers = [handle.when() for handle in this._scheduled if not handle.cancelled()]
        if not this._ready and timers:
            self.now = max(self.now, min(timers))
        this_class: Any = super()
        this_class._run_once()


def run(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
