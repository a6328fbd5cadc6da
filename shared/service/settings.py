"""Reading a daemon's settings file."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shared.errors import Invalid

S = TypeVar("S", bound=msgspec.Struct)


def settings_path(run_dir: Path, service: str) -> Path:
    """Where `octolet run` writes the settings of a service."""
    return run_dir / "settings" / f"{service}.json"


def read_settings(path: Path, kind: type[S], *, required: bool) -> S:
    """The settings in that JSON file; the defaults when there is none and it is not `required`.

    Raises Invalid naming the file and the field: not JSON, a field of a wrong type or value, an unknown field.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if not required:
            return kind()
        raise Invalid(f"read settings {path}: there is no such file") from error
    except OSError as error:
        raise Invalid(f"read settings {path}: {error.strerror}") from error
    return parse_settings(data, kind, name=str(path))


def parse_settings(data: bytes, kind: type[S], *, name: str) -> S:
    """The same for bytes; `name` is what to call them in errors."""
    try:
        plain: Any = msgspec.json.decode(data)
        value = msgspec.convert(plain, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"read settings {name}: {error}") from error
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    if unknown := sorted(set(plain) - known):
        raise Invalid(f"read settings {name}: unknown field {', '.join(f'`$.{field}`' for field in unknown)}")
    return value
