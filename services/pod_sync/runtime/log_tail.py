"""The end of a container's log in CRI's form: `<time> <stream> <P|F> <text>` per line."""

import os
from pathlib import Path
from typing import Final

_BLOCK: Final = 16 * 1024


def log_tail(path: str, *, lines: int, max_bytes: int) -> str:
    """The text of the last lines, of which the last bytes are kept. Raises OSError.

    Fragments of a long line (`P`) count as lines, and their texts run together (upstream `cri-client/pkg/logs`).
    """
    raw = _last_lines(path, lines)
    text = b"".join(_text(line) for line in raw)
    return text[-max_bytes:].decode(errors="replace")


def _last_lines(path: str, count: int) -> list[bytes]:
    """The last lines of a file without reading what is before them."""
    with Path(path).open("rb") as file:
        at = file.seek(0, os.SEEK_END)
        data = b""
        # One line more than wanted: the first one of a block may be cut.
        while at > 0 and data.count(b"\n") <= count:
            step = min(_BLOCK, at)
            at -= step
            file.seek(at)
            data = file.read(step) + data
    parts = data.splitlines(keepends=True)
    return parts[-count:]


def _text(line: bytes) -> bytes:
    """What the container wrote; nothing for a line that is not in CRI's form, as one that is just being written."""
    parts = line.split(b" ", 3)
    if len(parts) < 4 or parts[1] not in (b"stdout", b"stderr") or not line.endswith(b"\n"):
        return b""
    tags = parts[2].split(b":")
    return parts[3].removesuffix(b"\n") if tags[0] == b"P" else parts[3]
