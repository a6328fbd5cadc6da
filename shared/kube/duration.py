"""Durations as Go writes them (`1m20s`, `1.5ms`, `0s`): in flags, in configuration files and inside messages.

Upstream uses Go's `time.Duration` everywhere: an int64 count of nanoseconds. The texts below are those of
`time.Duration.String` and `time.ParseDuration`, errors included, because they reach users.
"""

import re
from typing import Final

_NS_PER_UNIT: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, micro sign
    "μs": 10**3,  # U+03BC, Greek letter mu
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LIMIT_NS: Final = 2**63
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


def format_go_duration(seconds: float) -> str:
    """That many seconds in Go's form, to the nearest nanosecond: `0s`, `350ms`, `1m0.5s`, `2h0m0s`."""
    return format_go_duration_ns(round(seconds * 10**9))


def format_go_duration_ns(ns: int) -> str:
    """That many nanoseconds in Go's form."""
    sign, rest = ("-", -ns) if ns < 0 else ("", ns)
    if rest == 0:
        return "0s"
    if rest < 10**3:
        return f"{sign}{rest}ns"
    if rest < 10**6:
        return f"{sign}{_decimal(rest, 10**3)}µs"
    if rest < 10**9:
        return f"{sign}{_decimal(rest, 10**6)}ms"
    minutes, below = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(below, 10**9)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(value: int, unit: int) -> str:
    whole, below = divmod(value, unit)
    digits = str(below).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def parse_go_duration(text: str) -> float:
    """Seconds meant by a Go duration. Raises ValueError with Go's own text for anything that Go refuses."""
    return parse_go_duration_ns(text) / 10**9


def parse_go_duration_ns(text: str) -> int:
    """Nanoseconds meant by a Go duration such as `1h30m`, `-1.5s`, `+5µs` or `0`; digits below one are cut off.

    Raises ValueError with Go's own text: `time: invalid duration "x"`, `time: missing unit in duration "x"`,
    `time: unknown unit "d" in duration "1d"`.
    """
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    total = 0
    while rest:
        ns, rest = _parse_part(rest, text)
        total += ns
        if total > _LIMIT_NS:
            raise ValueError(f'time: invalid duration "{text}"')
    if total == _LIMIT_NS and not negative:
        raise ValueError(f'time: invalid duration "{text}"')
    return -total if negative else total


def _parse_part(rest: str, text: str) -> tuple[int, str]:
    match = _PART.match(rest)
    assert match is not None  # every group may be empty
    whole, below, unit = match.group(1), match.group(2) or "", match.group(3)
    if not whole and not below:
        raise ValueError(f'time: invalid duration "{text}"')
    if not unit:
        raise ValueError(f'time: missing unit in duration "{text}"')
    factor = _NS_PER_UNIT.get(unit)
    if factor is None:
        raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
    ns = int(whole or "0") * factor
    if below:
        # In floating point and with as many digits as fit an int64, as Go does: the last nanosecond depends on it.
        digits = below[:19] if int(below[:19]) < _LIMIT_NS else below[:18]
        ns += int(float(int(digits)) * (factor / 10.0 ** len(digits)))
    return ns, rest[match.end() :]
