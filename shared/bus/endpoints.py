"""Where a service's sockets are, and how its lives are told apart."""

import secrets
import time
from enum import StrEnum
from pathlib import Path
from typing import Final

from shared.errors import Invalid

MAX_PATH_BYTES: Final = 106
"""Linux `sun_path` holds 108 bytes with its final NUL (unix(7)); one is kept in reserve"""


class Socket(StrEnum):
    """The two sockets that each service binds; the value is the file name's suffix."""

    PUBLISH = "pub"
    REQUEST = "req"


def bus_dir(run_dir: Path) -> Path:
    """The folder of all sockets, mode 0700."""
    return run_dir / "bus"


def endpoint(run_dir: Path, service: str, socket: Socket) -> str:
    """The ZeroMQ address of one socket of a service. Raises Invalid when the path is too long for a Unix socket."""
    path = bus_dir(run_dir) / f"{service}.{socket}"
    length = len(str(path).encode())
    if length > MAX_PATH_BYTES:
        raise Invalid(
            f"use run folder {run_dir}: the socket path {path} has {length} bytes, "
            f"a Unix socket path may have {MAX_PATH_BYTES}; choose a shorter run folder"
        )
    return f"ipc://{path}"


def new_generation() -> str:
    """A name for one life of a service: later lives have greater names (until a reboot, which also empties the run folder).

    20 hexadecimal digits: CLOCK_MONOTONIC nanoseconds, which all processes share, then four of chance.
    """
    return f"{time.monotonic_ns():016x}{secrets.token_hex(2)}"
