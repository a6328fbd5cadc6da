"""Turns the CRI log format into what a client asked for. Pure: bytes in, bytes out.

A line is `<RFC3339Nano> <stdout|stderr> <tags> <content>`; the first tag is P when the next line goes on with the same
output line, F when it is full. Docker's JSON lines are read too. Source: upstream `kuberuntime/logs`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from services.server.logs.options import LogOptions, rfc3339_ns

_WIDE = len("2006-01-02T15:04:05.")


class UnknownFormat(ValueError):
    """The first line is neither CRI nor Docker JSON."""


@dataclass
class LineFilter:
    """Feed it file bytes in order; it keeps an unfinished line until the rest comes. `done` once the byte limit is reached."""

    options: LogOptions
    remaining: int | None = None
    skipped: int = 0
    """lines that could not be read"""
    done: bool = False
    _rest: bytes = b""
    _inside: bool = False
    """the last line was partial: the next one goes on with it"""
    _docker: bool | None = field(default=None)

    def __post_init__(self) -> None:
        self.remaining = self.options.limit_bytes

    @property
    def pending(self) -> bytes:
        """Bytes of a line whose end has not been seen."""
        return self._rest

    def feed(self, chunk: bytes) -> bytes:
        """The output of all lines that this chunk completes. Raises UnknownFormat on a foreign first line."""
        if self.done:
            return b""
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        out: list[bytes] = []
        for line in lines:
            self._line(line, out)
        joined = b"".join(out)
        if self.remaining is not None:
            joined = joined[: self.remaining]
            self.remaining -= len(joined)
            self.done = self.remaining <= 0
        return joined

    def restart(self) -> None:
        """The file was rotated: what follows is another file's beginning."""
        self._rest = b""

    def _line(self, line: bytes, out: list[bytes]) -> None:
        if self._docker is None:
            self._docker = line.startswith(b"{")
            first = True
        else:
            first = False
        parsed = _docker_line(line) if self._docker else _cri_line(line)
        if parsed is None:
            if first:
                raise UnknownFormat(f"unsupported log format: {line[:80]!r}")
            self.skipped += 1
            return
        time, stream, content, partial = parsed
        continued, self._inside = self._inside, partial
        options = self.options
        if options.stream != "All" and stream != options.stream.lower().encode():
            return
        if options.since_ns is not None and _since(time) < options.since_ns:
            return
        if options.timestamps and not continued:
            out.append(_fixed_width(time) + b" ")
        out.append(content if partial else content + b"\n")


def _cri_line(line: bytes) -> tuple[bytes, bytes, bytes, bool] | None:
    parts = line.split(b" ", 3)
    if len(parts) < 3 or parts[1] not in (b"stdout", b"stderr"):
        return None
    content = parts[3] if len(parts) == 4 else b""
    return parts[0], parts[1], content, parts[2].split(b":", 1)[0] == b"P"


def _docker_line(line: bytes) -> tuple[bytes, bytes, bytes, bool] | None:
    try:
        record = json.loads(line)
        content = record["log"].encode()
        return (
            record["time"].encode(),
            record["stream"].encode(),
            content.removesuffix(b"\n"),
            not content.endswith(b"\n"),
        )
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def _since(time: bytes) -> int:
    """Nanoseconds of a line's time; a time that cannot be read is older than any limit."""
    try:
        return rfc3339_ns(time.decode())
    except (ValueError, IndexError):
        return -1


def _fixed_width(time: bytes) -> bytes:
    """The same time with exactly nine decimals, its offset as found."""
    if len(time) < _WIDE:
        return time
    zone_at = next((i for i in range(_WIDE - 1, len(time)) if time[i : i + 1] in (b"Z", b"+", b"-")), len(time))
    fraction = time[_WIDE - 1 : zone_at].lstrip(b".")
    return time[: _WIDE - 1] + b"." + fraction.ljust(9, b"0") + time[zone_at:]


BLOCK_BYTES = 1 << 16


def tail_offset(read_at: Callable[[int, int], bytes], size: int, lines: int) -> int:
    """Where the last `lines` whole lines of a file of `size` bytes begin; an unterminated last line does not count.

    `read_at(length, offset)` reads the file (as `os.pread` does, without its descriptor), from its end backwards.
    """
    if lines <= 0:
        return size
    newlines_left = lines + 1
    end = size
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        block = read_at(end - start, start)
        at = len(block)
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            newlines_left -= 1
            if newlines_left == 0:
                return start + at + 1
        end = start
    return 0
