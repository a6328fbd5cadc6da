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
        self._resumable: dict[str, float] = {}

    def load(self) -> None:
        self.loops = CrashLoops(self._file.load() or {})
        self._resumable = {key: entry.after for key, entry in self.loops.entries.items()}

    def resume(self, key: str, finished_at: float) -> bool:
        """Whether a former life of this process let the container start after that end, and did not get to it. Once."""
        return self._resumable.pop(key, None) == finished_at

    def update(self, loops: CrashLoops) -> None:
        """A value that cannot be written is logged and lost at the next restart."""
        if loops == self.loops:
            return
        self.loops = loops
        try:
            self._file.save(dict(loops.entries))
        except OSError as error:
            structlog.get_logger().error("record.not_written", kind="CrashLoops", error=str(error))
