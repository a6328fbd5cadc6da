"""A folder with one checkpoint file per pod UID."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Generic, TypeVar

import structlog

from shared.checkpoint import Checkpoint

T = TypeVar("T")

_SAFE_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
"""UIDs come from manifests too: one that is no plain file name is not kept"""


class RecordFolder(Generic[T]):
    """Values of type `kind` by UID. A write does not wait for the disk: a loss of power ends what it speaks of, too.

    A value that cannot be written is logged and lost at the next restart; it never stops the daemon.
    """

    def __init__(self, folder: Path, *, kind: type[T], version: int = 1) -> None:
        self._folder = folder
        self._kind = kind
        self._version = version
        self._kept: dict[str, T] = {}
        self._unwritten: set[str] = set()

    def load(self) -> dict[str, T]:
        """Everything that was kept. Damaged files are set aside."""
        self._kept = dict(self._read_all())
        return dict(self._kept)

    def get(self, uid: str) -> T | None:
        return self._kept.get(uid)

    def put(self, uid: str, value: T) -> None:
        """Keep the value; nothing is written when it is the one that is kept. What could not be written is tried again."""
        if self._kept.get(uid) == value and uid not in self._unwritten:
            return
        self._kept[uid] = value
        try:
            self._file(uid).save(value)
        except OSError as error:
            if uid not in self._unwritten:
                self._unwritten.add(uid)
                kind = self._kind.__name__
                structlog.get_logger().error("record.not_written", kind=kind, pod_uid=uid, error=str(error))
        else:
            self._unwritten.discard(uid)

    def delete(self, uid: str) -> None:
        """Keep nothing of that pod; nothing kept is success."""
        self._unwritten.discard(uid)
        if self._kept.pop(uid, None) is not None:
            self._path(uid).unlink(missing_ok=True)

    def __contains__(self, uid: str) -> bool:
        return uid in self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def _read_all(self) -> Iterator[tuple[str, T]]:
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.iterdir()):
            if path.suffix != ".record" or path.name.startswith("."):
                continue
            value = Checkpoint(path, self._version, kind=self._kind).load()
            if value is not None:
                yield path.name.removesuffix(".record"), value

    def _path(self, uid: str) -> Path:
        return self._folder / f"{uid}.record"

    def _file(self, uid: str) -> Checkpoint[T]:
        if not _SAFE_UID.fullmatch(uid):
            raise OSError(f"pod UID {uid!r} is no file name")
        return Checkpoint(self._path(uid), self._version, kind=self._kind, durable=False)
