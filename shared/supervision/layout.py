"""The names in and beside the run directory, in one place.

`<run>/<daemon>.lock`   held with flock by the running daemon; its pid is inside
`<run>/<daemon>.alive`  touched each second by the daemon's event loop
`<run>/settings/<daemon>.json`  the daemon's settings (0600)
`<run>/bus/`            the bus sockets
`<run>.sock`, `<run>.pid`  supervisord's own socket and pid. They lie beside the directory, because supervisord wants
                        their parent to exist before an extension of it can make the directory.
`<run>/supervisord.lock`   held with flock by the running supervisord
"""

from pathlib import Path
from typing import Final

DEFAULT_RUN_DIR: Final = Path("/run/octolet")


def lock_path(run_dir: Path, daemon: str) -> Path:
    """The file whose flock says that this daemon runs."""
    return run_dir / f"{daemon}.lock"


def alive_path(run_dir: Path, daemon: str) -> Path:
    """The file whose modification time says that this daemon's event loop turns."""
    return run_dir / f"{daemon}.alive"


def settings_path(run_dir: Path, daemon: str) -> Path:
    """The daemon's resolved settings."""
    return run_dir / "settings" / f"{daemon}.json"


def supervisor_socket(run_dir: Path) -> Path:
    """supervisord's XML-RPC socket."""
    return run_dir.with_name(run_dir.name + ".sock")


def supervisor_pid(run_dir: Path) -> Path:
    """supervisord's pid file."""
    return run_dir.with_name(run_dir.name + ".pid")


def supervisor_lock(run_dir: Path) -> Path:
    """The file whose flock says that a supervisord owns this run directory."""
    return run_dir / "supervisord.lock"
