"""Crash-loop back-off, kept in one file."""

from pathlib import Path

import structlog

from services.pod_sync.containers.backoff import CrashLoops, Entry
from shared.checkpoint import Checkpoint


class BackoffFile:
    """The one holder of `CrashLoops`; every change is written before `update` returns."""

    def __init__(self, path: Path) -> None:
        self._file: Checkpoint[dict[str, Entry]] = Checkpoint(path, kind=dict[str, Entry], durable=False)
        self.loops = CrashLoops({})

    def load(self) -> None:
        self.loops = CrashLoops(self._file.load() or {})

    def update(self, loops: CrashLoops) -> None:
        """A value that cannot be written is logged and lost at the next restart."""
        if loops == self.loops:
            return
        self.loops = loops
        try:
            self._file.save(dict(loops.entries))
        except OSError as error:
            structlog.get_logger().error("record.not_written", kind="CrashLoops", error=str(error))
