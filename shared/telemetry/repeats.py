"""Tells news from what was just said, so that a fault that is tried again and again does not fill a log."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

REMEMBERED: Final = 1000
"""things remembered at most; the one said longest ago makes room"""


class Repeats:
    """Remembers for `period_s` what was said. Pure: `now` is monotonic seconds."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._said: OrderedDict[Hashable, float] = OrderedDict()

    def is_repeat(self, what: Hashable, now: float) -> bool:
        """Whether that was said within the period. If not, it counts as said now."""
        before = self._said.get(what)
        if before is not None and now - before < self._period_s:
            return True
        self._said[what] = now
        self._said.move_to_end(what)
        while len(self._said) > REMEMBERED:
            self._said.popitem(last=False)
        return False
