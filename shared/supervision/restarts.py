"""When an ended daemon is started again: pure, on a monotonic clock.

A daemon that lived long enough starts again at once. One that keeps ending gets three starts at once, then waits that
double from 0.1 s to 5 s, without end: a node with one daemon given up for good would be half dead.
"""

from dataclasses import dataclass
from typing import Final

AT_ONCE: Final = 3
"""restarts in a row without a delay: an isolated crash must cost nothing"""
FIRST_DELAY_S: Final = 0.1
LONGEST_DELAY_S: Final = 5.0
PROVEN_AFTER_S: Final = 10.0
"""seconds alive after which earlier exits are forgotten"""


@dataclass(frozen=True)
class Restarts:
    """`quick_exits`: exits in a row of which none lived `PROVEN_AFTER_S`."""

    quick_exits: int = 0


def exited(state: Restarts, lived_s: float) -> tuple[Restarts, float]:
    """The next state, and the seconds to wait before the next start, after a daemon that lived `lived_s` ended."""
    if lived_s >= PROVEN_AFTER_S:
        return Restarts(quick_exits=1), 0.0
    quick = state.quick_exits + 1
    if quick <= AT_ONCE:
        return Restarts(quick), 0.0
    doublings = min(quick - AT_ONCE - 1, 16)
    return Restarts(quick), min(FIRST_DELAY_S * 2.0**doublings, LONGEST_DELAY_S)
