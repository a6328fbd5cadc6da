"""The configuration file and the drop-in directory: reading, relative paths, merging.

A drop-in is merged as an RFC 7396 patch: maps and structs key by key, lists and scalars whole, null removes a key, which
then falls back to its default (upstream `cmd/kubelet/app`, `loadConfigFile` and `mergeKubeletConfigurations`).
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from shared.config.decode import Decoder
from shared.config.defaults import without_zeros
from shared.config.document import read_document
from shared.config.fields import API_VERSION, KIND
from shared.config.model import Origin, get_path, set_path, walk
from shared.errors import Invalid

RELATIVE_PATHS: Final = (
    "staticPodPath",
    "authentication.x509.clientCAFile",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "resolvConf",
    "volumePluginDir",
    "podLogsDir",
)
"""fields that, in a `--config` file, are relative to the folder of that file"""


def load_config_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The typed values of a `--config` file, and warnings. Raises Invalid."""
    path = path.absolute()
    try:
        values, offences = _load(path)
    except Invalid as error:
        name = path
        raise Invalid(
            f"failed to load kubelet config file, path: {name}, error: failed to load Kubelet config file {name}, "
            f"error {error}"
        ) from error
    for field in RELATIVE_PATHS:
        value = get_path(values, field)
        if value and not Path(value).is_absolute():
            set_path(values, field, os.path.normpath(path.parent / value))
    warnings = [f"{path}: {offence}; using lenient decoding as strict decoding failed" for offence in offences]
    return values, warnings


def _load(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"open {path}: {error.strerror.lower()}" if isinstance(error, OSError) and error.strerror else error
        raise Invalid(f'failed to read kubelet config file "{path}", error: {reason}') from error
    if not text.strip():
        raise Invalid(f'kubelet config file "{path}" was empty')
    document, duplicates = read_document(text)
    _check_type(document)
    decoder = Decoder()
    try:
        values = decoder.decode(document)
    except Invalid as error:
        raise Invalid(f"failed to decode: {error}") from error
    offences = [f'unknown field "{name}"' for name in decoder.unknown]
    offences += [f'key "{name}" already set in map' for name in duplicates]
    return values, offences


def _check_type(document: dict[str, Any]) -> None:
    version, kind = document.get("apiVersion"), document.get("kind")
    if not kind:
        raise Invalid(f"Object 'Kind' is missing in '{json.dumps(document)}'")
    if not version:
        raise Invalid(f"Object 'apiVersion' is missing in '{json.dumps(document)}'")
    if version != API_VERSION or kind != KIND:
        raise Invalid(f'no kind "{kind}" is registered for version "{version}"')


def drop_in_files(directory: Path) -> list[Path]:
    """The `.conf` files below a directory, in upstream's order. Linked directories are not entered.

    Raises Invalid when the directory cannot be read.
    """
    if not os.fspath(directory).endswith("/") and directory.is_symlink():
        return []
    try:
        return [path for path in _walk(directory) if path.suffix == ".conf"]
    except OSError as error:
        raise Invalid(
            f'failed to merge kubelet configs: failed to walk through kubelet dropin directory "{directory}": '
            f"{error.strerror}: {error.filename}"
        ) from error


def _walk(directory: Path) -> Iterator[Path]:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        elif entry.is_file():
            yield Path(entry.path)


def merge_drop_in(values: dict[str, Any], path: Path) -> tuple[dict[str, Any], dict[str, Origin]]:
    """A new object with the drop-in merged onto it, and the origins of what it set. Raises Invalid."""
    prefix = f"failed to merge kubelet configs: failed to load kubelet dropin file, path: {path}, error:"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{prefix} {error}") from error
    if not text.strip():
        raise Invalid(f'{prefix} kubelet config file "{path}" was empty')
    try:
        document, _ = read_document(text)
    except Invalid as error:
        raise Invalid(f"{prefix} {error}") from error
    for key, label in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if not document.get(key):
            raise Invalid(f"{prefix} Object '{label}' is missing in '{text}'")
    if (document["apiVersion"], document["kind"]) != (API_VERSION, KIND):
        raise Invalid(f"{prefix}, unknown apiVersion/kind: {document['apiVersion']}, {document['kind']}")
    patch = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
    merged = _patched(without_zeros(values), patch)
    try:
        typed = Decoder().decode(merged)  # unknown fields of drop-ins are ignored without a word, as upstream does
    except Invalid as error:
        raise Invalid(
            "failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: "
            f"{error} (after {path})"
        ) from error
    return typed, {name: f"drop-in {path}" for name, _ in walk(patch)}


def _patched(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _patched(result.get(key), value)
    return result
