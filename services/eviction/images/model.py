"""What is known of images. Times are CLOCK_MONOTONIC seconds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """One image as the runtime lists it. `names` are its tags and digests."""

    id: str
    size_bytes: int
    pinned: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """One image over time. `last_used_mono` None: never seen in use in this life of the daemon."""

    image: Image
    first_seen_mono: float
    last_used_mono: float | None = None


@dataclass(frozen=True)
class Filesystem:
    """Where images lie."""

    capacity_bytes: int
    available_bytes: int


@dataclass(frozen=True)
class Policy:
    """`imageGCHighThresholdPercent` and its sisters. `max_age_s` 0: no limit."""

    high_percent: int = 85
    low_percent: int = 80
    min_age_s: float = 120.0
    max_age_s: float = 0.0
