"""Kernel settings that pods rely on. Source: upstream `cm` (setupKernelTunables).

They are the machine's, so they are written only by an agent that has the machine for itself: one with a `cgroupRoot` of
its own lives beside others and leaves them as they are.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from shared.errors import Fatal, Transient

WANTED: Final[Mapping[str, int]] = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}


def protect(folder: Path = Path("/proc/sys")) -> None:
    """`protectKernelDefaults`: nothing is written. Raises Fatal for the first setting that is not as wanted."""
    for name, value in WANTED.items():
        actual = _read(folder, name)
        if actual != str(value):
            raise Fatal(f"invalid kernel flag: {name}, expected value: {value}, actual value: {actual}")


def tune(folder: Path = Path("/proc/sys")) -> None:
    """Write what is not as wanted. Raises Transient naming everything that could not be written; the rest is."""
    failed = []
    for name, value in WANTED.items():
        try:
            if _read(folder, name) != str(value):
                (folder / name).write_text(str(value))
        except OSError as error:
            failed.append(f"{name}: {error.strerror}")
    if failed:
        raise Transient(f"set kernel flags: {', '.join(failed)}")


def _read(folder: Path, name: str) -> str:
    return (folder / name).read_text().strip()
