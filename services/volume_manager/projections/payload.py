"""What a projected volume is to hold, and the rules for its paths. Pure (upstream `volume/util/atomic_writer`)."""

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.errors import Invalid

DEFAULT_MODE: Final = 0o644
"""the API's default for `defaultMode`"""
MAX_NAME_BYTES: Final = 255
MAX_PATH_BYTES: Final = 4096


@dataclass(frozen=True)
class ProjectedFile:
    """Content, permission bits, and the owner if it is not to be root."""

    data: bytes
    mode: int = DEFAULT_MODE
    uid: int | None = None


Payload = Mapping[str, ProjectedFile]
"""Files by clean relative path."""


def validated(payload: Payload) -> dict[str, ProjectedFile]:
    """The payload with its paths cleaned. Raises Invalid with upstream's text for a path that is not allowed."""
    clean: dict[str, ProjectedFile] = {}
    for path, file in payload.items():
        _check(path)
        clean[posixpath.normpath(path)] = file
    return clean


def _check(path: str) -> None:
    if path == "":
        raise Invalid('invalid path: must not be empty: ""')
    if path.startswith("/"):
        raise Invalid(f"invalid path: must be relative path: {path}")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise Invalid(f"invalid path: must be less than or equal to {MAX_PATH_BYTES} characters")
    parts = path.split("/")
    if ".." in parts:
        raise Invalid(f"invalid path: must not contain '..': {path}")
    if any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        raise Invalid(f"invalid path: filenames must be less than or equal to {MAX_NAME_BYTES} characters")
    if parts[0].startswith(".."):
        raise Invalid(f"invalid path: must not start with '..': {path}")


def top_level(paths: Iterable[str]) -> set[str]:
    """The first elements: what a reader sees in the volume's root."""
    return {path.partition("/")[0] for path in paths}


def joined(errors: list[str]) -> str:
    """Several errors as one text (Go's `errors.Aggregate`)."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
