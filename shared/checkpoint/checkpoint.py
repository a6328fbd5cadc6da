"""One value kept in one file, with version and checksum.

The file is two parts: a JSON line `{"format":"octolet","kind":...,"version":...,"sha256":...}`, and the value as JSON,
whose bytes the checksum covers.
"""

import hashlib
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
import structlog

from shared.checkpoint.atomic import sync_folder, write_atomic

T = TypeVar("T")

FORMAT: Final = "octolet"
MAX_SET_ASIDE: Final = 10
"""damaged files kept for people to look at; the last is then overwritten"""


class _Header(msgspec.Struct, frozen=True):
    format: str
    kind: str
    version: int
    sha256: str


class _Unusable(Exception):
    """Why a file is not a checkpoint of ours."""


class Checkpoint(Generic[T]):
    """A value of type `kind` at `path`. No I/O until asked; the calls block for the disk.

    `version` counts changes of meaning; a file of another version is foreign. Fields may be added with defaults
    without a new version. `durable` false: see `write_atomic`.
    """

    def __init__(self, path: Path, version: int = 1, *, kind: type[T], durable: bool = True) -> None:
        self.path = path
        self._durable = durable
        self._version = version
        self._kind: Any = kind
        self._name = getattr(kind, "__name__", str(kind))

    def save(self, value: T) -> None:
        """Replace the file. Makes its folder (0700) if needed. Raises OSError, and then the old value is kept."""
        body = msgspec.json.encode(value)
        header = _Header(FORMAT, self._name, self._version, hashlib.sha256(body).hexdigest())
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(self.path, msgspec.json.encode(header) + b"\n" + body + b"\n", durable=self._durable)

    def load(self) -> T | None:
        """The value that was saved last; None when there is none.

        A torn or foreign file is renamed to `<name>.corrupt-<n>` with a warning, and counts as none: the state is then
        rebuilt from the world. Never raises for the file's content; raises OSError when the file cannot be read at all.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return self._parse(data)
        except _Unusable as error:
            aside = self._set_aside()
            structlog.get_logger().warning(
                "checkpoint.set_aside", path=str(self.path), kind=self._name, renamed_to=str(aside), error=str(error)
            )
            return None

    def remove(self) -> None:
        """Remove the file; no file is success."""
        self.path.unlink(missing_ok=True)
        if self.path.parent.is_dir():
            sync_folder(self.path.parent)

    def _parse(self, data: bytes) -> T:
        first, newline, body = data.partition(b"\n")
        body = body.removesuffix(b"\n")
        try:
            header = msgspec.json.decode(first, type=_Header)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _Unusable(f"its first line is no header: {error}") from error
        if not newline or header.format != FORMAT or header.kind != self._name:
            raise _Unusable(f"it holds {header.format} {header.kind}, not {FORMAT} {self._name}")
        if header.version != self._version:
            raise _Unusable(f"it has version {header.version}, not {self._version}")
        if hashlib.sha256(body).hexdigest() != header.sha256:
            raise _Unusable("its checksum is wrong")
        try:
            value: T = msgspec.json.decode(body, type=self._kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _Unusable(str(error)) from error
        return value

    def _set_aside(self) -> Path:
        names = [self.path.with_name(f"{self.path.name}.corrupt-{n}") for n in range(1, MAX_SET_ASIDE + 1)]
        aside = next((name for name in names if not name.exists()), names[-1])
        self.path.replace(aside)
        return aside
