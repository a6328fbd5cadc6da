"""Eviction thresholds as KubeletConfiguration writes them. Pure. Source: upstream `eviction` (ParseThresholdConfig).

Two daemons read them: eviction acts on them, container_manager takes hard ones off the node's allocatable.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.errors import Invalid
from shared.kube.quantity import InvalidQuantity, value

MEMORY_AVAILABLE: Final = "memory.available"
ALLOCATABLE_MEMORY_AVAILABLE: Final = "allocatableMemory.available"
NODEFS_AVAILABLE: Final = "nodefs.available"
NODEFS_INODES_FREE: Final = "nodefs.inodesFree"
IMAGEFS_AVAILABLE: Final = "imagefs.available"
IMAGEFS_INODES_FREE: Final = "imagefs.inodesFree"
CONTAINERFS_AVAILABLE: Final = "containerfs.available"
CONTAINERFS_INODES_FREE: Final = "containerfs.inodesFree"
PID_AVAILABLE: Final = "pid.available"

SIGNALS: Final = (
    MEMORY_AVAILABLE,
    ALLOCATABLE_MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES_FREE,
    IMAGEFS_AVAILABLE,
    IMAGEFS_INODES_FREE,
    CONTAINERFS_AVAILABLE,
    CONTAINERFS_INODES_FREE,
    PID_AVAILABLE,
)
DEFAULT_HARD: Final[Mapping[str, str]] = {
    MEMORY_AVAILABLE: "100Mi",
    NODEFS_AVAILABLE: "10%",
    NODEFS_INODES_FREE: "5%",
    IMAGEFS_AVAILABLE: "15%",
    IMAGEFS_INODES_FREE: "5%",
}
"""upstream `eviction` (DefaultEvictionHard for Linux)"""
_DISABLED: Final = ("0%", "100%")


@dataclass(frozen=True)
class Amount:
    """A number of bytes (or inodes, or pids), or a part of the capacity. `text` is how it was written."""

    text: str
    absolute: int | None = None
    ratio: float = 0.0

    def of(self, capacity: int) -> int:
        """The amount for that capacity."""
        return self.absolute if self.absolute is not None else int(capacity * self.ratio)


@dataclass(frozen=True)
class Threshold:
    """Met while less than `value` is available. `grace_s` 0 is a hard one."""

    signal: str
    value: Amount
    grace_s: float = 0.0
    min_reclaim: Amount | None = None

    @property
    def is_hard(self) -> bool:
        return self.grace_s == 0


def merged_hard(hard: Mapping[str, str], *, merge_defaults: bool) -> dict[str, str]:
    """`evictionHard` with what `mergeDefaultEvictionSettings` adds."""
    return {**DEFAULT_HARD, **hard} if merge_defaults else dict(hard)


def parse_thresholds(
    hard: Mapping[str, str],
    soft: Mapping[str, str] | None = None,
    *,
    soft_grace_s: Mapping[str, float] | None = None,
    min_reclaim: Mapping[str, str] | None = None,
) -> list[Threshold]:
    """All thresholds, hard ones first. Raises Invalid with upstream's text."""
    reclaim = {s: _min_reclaim(s, text) for s, text in (min_reclaim or {}).items()}
    grace = _graces(soft_grace_s or {})
    found = []
    for signal, text in hard.items():
        if (amount := _value(signal, text)) is not None:
            found.append(Threshold(signal, amount, 0.0, reclaim.get(signal)))
    for signal, text in (soft or {}).items():
        if (amount := _value(signal, text)) is None:
            continue
        if signal not in grace:
            raise Invalid(f"grace period must be specified for the soft eviction threshold {signal}")
        found.append(Threshold(signal, amount, grace[signal], reclaim.get(signal)))
    return found


def _graces(texts: Mapping[str, float]) -> dict[str, float]:
    for signal, seconds in texts.items():
        _check_signal(signal)
        if seconds < 0:
            raise Invalid(f"invalid eviction grace period specified: {seconds}s, must be a positive value")
    return dict(texts)


def _check_signal(signal: str) -> None:
    if signal not in SIGNALS:
        raise Invalid(f"unsupported eviction signal {signal}")


def _value(signal: str, text: str) -> Amount | None:
    """None: that signal is switched off."""
    _check_signal(signal)
    if text.endswith("%"):
        if text in _DISABLED:
            return None
        percent = _percent(signal, text)
        if percent < 0:
            raise Invalid(f"eviction percentage threshold {signal} must be >= 0%: {text}")
        if percent > 100:
            raise Invalid(f"eviction percentage threshold {signal} must be <= 100%: {text}")
        return Amount(text, ratio=_ratio(percent))
    amount = _quantity(signal, text)
    if amount <= 0:
        raise Invalid(f"eviction threshold {signal} must be positive: {text}")
    return Amount(text, absolute=amount)


def _min_reclaim(signal: str, text: str) -> Amount:
    _check_signal(signal)
    if text.endswith("%"):
        percent = _percent(signal, text)
        if percent <= 0:
            raise Invalid(f"eviction percentage minimum reclaim {signal} must be positive: {text}")
        return Amount(text, ratio=_ratio(percent))
    amount = _quantity(signal, text)
    if amount < 0:
        raise Invalid(f"negative eviction minimum reclaim specified for {signal}")
    return Amount(text, absolute=amount)


def _percent(signal: str, text: str) -> float:
    try:
        return float(text.rstrip("%"))
    except ValueError as error:
        raise Invalid(f"eviction threshold {signal}: {text!r} is not a percentage") from error


def _ratio(percent: float) -> float:
    """A hundredth, in single precision: upstream computes so, and the bytes of the node's allocatable show it."""
    return _single(_single(percent) / 100)


def _single(number: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def _quantity(signal: str, text: str) -> int:
    try:
        return value(text)
    except InvalidQuantity as error:
        raise Invalid(f"eviction threshold {signal}: {text!r}: {error}") from error
