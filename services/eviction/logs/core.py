"""What rotating one log means for the files beside it. Pure. Source: upstream `logs` (containerLogManager).

At rest there are `0.log`, one `0.log.<time>` as it was, and older ones compressed: at most `max_files` together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

COMPRESSED: Final = ".gz"
TEMPORARY: Final = ".tmp"
TIME_FORMAT: Final = "%Y%m%d-%H%M%S"
"""local time, as upstream names rotated logs"""


@dataclass(frozen=True)
class Rotation:
    """File names beside the log: to be removed, and to be compressed afterwards."""

    remove: tuple[str, ...]
    compress: tuple[str, ...]


def plan_rotation(log: str, beside: Iterable[str], max_files: int) -> Rotation:
    """For the log of that name and all names in its folder. The log itself is renamed after this was carried out.

    Names sort by time. Two of `max_files` are for the log itself and the one that it becomes.
    """
    rotated = sorted(n for n in beside if n.startswith(f"{log}.") and n != log)
    compressed = {n for n in rotated if n.endswith(COMPRESSED)}
    unfinished = {n for n in rotated if n.endswith(TEMPORARY)}
    doubled = {n for n in rotated if n + COMPRESSED in compressed}
    whole = [n for n in rotated if n not in unfinished | doubled]
    keep = max(0, max_files - 2)
    surplus = whole[: max(0, len(whole) - keep)]
    left = whole[len(surplus) :]
    return Rotation(
        remove=tuple(sorted(unfinished | doubled | set(surplus))),
        compress=tuple(n for n in left if n not in compressed),
    )
