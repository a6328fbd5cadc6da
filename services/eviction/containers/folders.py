"""Log folders of pods, logs of containers, and the links to them. Blocks: call from a thread.

What is gone already is success; what cannot be removed is left for the next collection.
"""

import contextlib
import glob
import shutil
from pathlib import Path


class Folders:
    """`logs` holds a folder per pod, `links` a link per container log."""

    def __init__(self, logs: str, links: str) -> None:
        self._logs = Path(logs)
        self._links = Path(links)

    def list_logs(self) -> dict[str, int]:
        """Names of the pods' log folders with their time of last change (wall ns)."""
        found = {}
        with contextlib.suppress(OSError):
            for path in self._logs.iterdir():
                with contextlib.suppress(OSError):
                    if path.is_dir() and not path.is_symlink():
                        found[path.name] = path.stat().st_mtime_ns
        return found

    def remove_logs(self, name: str) -> None:
        """One pod's folder with all in it."""
        shutil.rmtree(self._logs / name, ignore_errors=True)

    def remove_log(self, path: str, container_id: str) -> None:
        """A container's log, its rotated parts, and the link to it. Only below the log folder."""
        log = Path(path) if path else None
        if log is not None and self._logs in log.parents:
            for found in (log, *log.parent.glob(f"{glob.escape(log.name)}.*")):
                with contextlib.suppress(OSError):
                    found.unlink()
        for link in self._links.glob(f"*-{glob.escape(container_id)}.log"):
            with contextlib.suppress(OSError):
                link.unlink()

    def list_dangling_links(self) -> list[str]:
        """Names of links whose log is not there."""
        found = []
        with contextlib.suppress(OSError):
            found = [p.name for p in self._links.glob("*.log") if p.is_symlink() and not p.exists()]
        return found

    def remove_link(self, name: str) -> None:
        with contextlib.suppress(OSError):
            (self._links / name).unlink()
