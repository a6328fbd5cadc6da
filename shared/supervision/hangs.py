"""Which daemon hangs: pure, from the modification times of the `.alive` files.

A modification time is wall time and may jump, so only its change is looked at, and how long ago that was is counted on
the monotonic clock. A pause of the observer itself (a stopped machine) proves nothing about the observed.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

HANG_AFTER_S: Final = 30.0
"""seconds without a turn of the event loop; the loop touches its file each second"""
DUMP_TIME_S: Final = 1.0
"""seconds between SIGABRT, on which Python writes where each thread stands, and SIGKILL"""
OBSERVER_PAUSE_S: Final = 5.0
"""a longer gap between two looks means that the observer was stopped, and the count starts anew"""


class Verdict(StrEnum):
    """What to do with the daemon now."""

    FINE = "fine"
    ABORT = "abort"
    KILL = "kill"


@dataclass(frozen=True)
class Watch:
    """One run of one daemon. Times are monotonic seconds; `stamp` is the last modification time seen, if any."""

    moved_mono: float
    looked_mono: float
    stamp: int | None = None
    aborted_mono: float | None = field(default=None)


def started(now: float) -> Watch:
    """A daemon was started: whatever its file says is from the run before."""
    return Watch(moved_mono=now, looked_mono=now)


def look(watch: Watch, stamp: int | None, now: float, *, limit_s: float = HANG_AFTER_S) -> tuple[Watch, Verdict]:
    """One look at the file's modification time (None: no file). Call it about once per second."""
    if watch.aborted_mono is not None:
        late = now - watch.aborted_mono >= DUMP_TIME_S
        return replace(watch, looked_mono=now), Verdict.KILL if late else Verdict.FINE
    paused = now - watch.looked_mono > OBSERVER_PAUSE_S
    if stamp != watch.stamp or paused:
        return Watch(moved_mono=now, looked_mono=now, stamp=stamp), Verdict.FINE
    if now - watch.moved_mono < limit_s:
        return replace(watch, looked_mono=now), Verdict.FINE
    return replace(watch, looked_mono=now, aborted_mono=now), Verdict.ABORT
