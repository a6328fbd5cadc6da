"""`PodLogOptions` from a query string, with upstream's answers to what cannot be read or makes no sense."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

UNDECODABLE = '{"message": "Unable to decode query."}'
INVALID = '{"message": "Invalid request."}'


class UndecodableQuery(ValueError):
    """Answered with 400 and `UNDECODABLE`."""


class InvalidOptions(ValueError):
    """Answered with 422 and `INVALID`."""


@dataclass(frozen=True)
class LogOptions:
    """What to read. `since` is nanoseconds since the epoch; None means no limit everywhere."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_ns: int | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: str = "All"


def parse_options(query: Sequence[tuple[str, str]], now_ns: int) -> LogOptions:
    """Raises UndecodableQuery and InvalidOptions. The first value of a repeated key counts."""
    given: dict[str, str] = {}
    for key, value in query:
        given.setdefault(key, value)
    tail = _tail(given)
    limit = _integer(given, "limitBytes")
    since_s = _integer(given, "sinceSeconds")
    since_time = _time(given.get("sinceTime"))
    stream = given.get("stream") or "All"
    if (
        (tail is not None and tail < 0)
        or (limit is not None and limit < 1)
        or (since_s is not None and (since_s < 1 or since_time is not None))
        or stream not in ("All", "Stdout", "Stderr")
        or (tail is not None and stream != "All")
    ):
        raise InvalidOptions
    return LogOptions(
        follow=_flag(given, "follow"),
        previous=_flag(given, "previous"),
        timestamps=_flag(given, "timestamps"),
        since_ns=now_ns - since_s * 1_000_000_000 if since_s is not None else since_time,
        tail_lines=tail,
        limit_bytes=limit,
        stream=stream,
    )


def _flag(given: dict[str, str], key: str) -> bool:
    """Kubernetes' query booleans: absent, `false` in any case and `0` are false, all else is true."""
    return key in given and given[key].lower() not in ("false", "0")


def _tail(given: dict[str, str]) -> int | None:
    """`tailLines`, else the older `tail` (`all`: no limit)."""
    if "tailLines" in given or given.get("tail") in (None, "", "all"):
        return _integer(given, "tailLines")
    return _integer(given, "tail")


def _integer(given: dict[str, str], key: str) -> int | None:
    text = given.get(key)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError as error:
        raise UndecodableQuery(key) from error


def _time(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return rfc3339_ns(text)
    except ValueError as error:
        raise UndecodableQuery("sinceTime") from error


def rfc3339_ns(text: str) -> int:
    """Nanoseconds since the epoch of an RFC3339 time with up to nine decimals. Raises ValueError."""
    zone_at = next((i for i in range(19, len(text)) if text[i] in "Zz+-"), None)
    if zone_at is None or text[10] not in "Tt":
        raise ValueError(text)
    zone = "+00:00" if text[zone_at] in "Zz" else text[zone_at:]
    fraction = text[19:zone_at]
    if fraction and (fraction[0] != "." or not fraction[1:].isdigit() or len(fraction) > 10):
        raise ValueError(text)
    seconds = datetime.fromisoformat(text[:19] + zone).astimezone(UTC)
    return int(seconds.timestamp()) * 1_000_000_000 + int((fraction[1:] or "0").ljust(9, "0"))
