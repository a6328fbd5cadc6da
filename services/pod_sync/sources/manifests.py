"""Reads manifest files. A file whose bytes did not change is not decoded again."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from shared.errors import Invalid
from shared.kube.manifest import MAX_BYTES, decode_manifest
from shared.kube.types import Pod


@dataclass(frozen=True)
class _Read:
    digest: bytes
    pod: Pod | None


class ManifestReader:
    """Decodes files for one node. A file that is no sound manifest is logged once per fault, with file and field.

    Bytes are compared, not times: two edits within one tick of the kernel's clock have the same time of change.
    """

    def __init__(self, node_name: str, log: FilteringBoundLogger) -> None:
        self._node_name = node_name
        self._log = log
        self._read: dict[Path, _Read] = {}
        self._complaints: dict[Path, str] = {}

    def read(self, path: Path) -> Pod | None:
        """The file's pod; None when it is gone, no regular file, or no sound manifest. Blocks for the disk."""
        try:
            data = _content(path)
        except FileNotFoundError:
            self.forget(path)
            return None
        except (OSError, Invalid) as error:
            self._read.pop(path, None)
            self.complain(path, str(error) if isinstance(error, Invalid) else f"{path}: {error.strerror}")
            return None
        digest = hashlib.blake2b(data, digest_size=16).digest()
        known = self._read.get(path)
        if known is None or known.digest != digest:
            known = self._read[path] = _Read(digest, self._decode(path, data))
        return known.pod

    def forget(self, path: Path) -> None:
        """The file is gone."""
        self._read.pop(path, None)
        self._complaints.pop(path, None)

    def keep_only(self, paths: set[Path]) -> None:
        """Forget every file that is not among these."""
        for path in (self._read.keys() | self._complaints.keys()) - paths:
            self.forget(path)

    def _decode(self, path: Path, data: bytes) -> Pod | None:
        try:
            manifest = decode_manifest(data, str(path), self._node_name)
        except Invalid as error:
            self.complain(path, str(error))
            return None
        self._complaints.pop(path, None)
        if manifest.ignored:
            self._log.warning("manifest.fields_ignored", path=str(path), fields=", ".join(manifest.ignored))
        return manifest.pod

    def complain(self, path: Path, text: str) -> None:
        """Log that once, until it is another text or the path is sound or gone."""
        if self._complaints.get(path) != text:
            self._complaints[path] = text
            self._log.error("manifest.refused", path=str(path), error=text)


def _content(path: Path) -> bytes:
    """At most one byte more than a manifest may have. Raises OSError, and `Invalid` for what is no file."""
    # Without O_NONBLOCK the opening of a named pipe would wait for somebody to write into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise Invalid(f"{path}: is {'a directory' if stat.S_ISDIR(mode) else 'not a regular file'}, ignored")
    with open(descriptor, "rb") as file:  # noqa: PTH123
        return file.read(MAX_BYTES + 1)
