"""Each daemon's settings: the fields that its settings class declares, filled from the one `Config`.

A class declares `sync_frequency_s` and gets `syncFrequency` in seconds, `eviction_hard` and gets that map, `root_dir` and
gets the flag `--root-dir`. What it declares and no configuration field is called is its own affair and keeps its default.
"""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from shared.checkpoint import write_atomic
from shared.config.defaults import external_form
from shared.config.fields import Field, Kind, leaves, snake_case
from shared.config.model import Config, get_path
from shared.errors import Invalid
from shared.kube.duration import parse_go_duration
from shared.messages.base import Service

_ALIASES: Final = {"runtime_endpoint": "container_runtime_endpoint"}
_EMPTY: Final = {Kind.MAP: dict, Kind.LIST: list}
"""an unset map or list is an empty one; only unset scalars leave the daemon's own default"""
_WHOLE: Final = "kubelet_configuration"
"""the name under which a daemon gets the whole effective object, as upstream shows it at `/configz`"""
_USED_BY_RUN: Final = frozenset(
    {
        "failCgroupV1",
        "failSwapOn",
        "maxOpenFiles",
        "oomScoreAdj",
        "featureGates",
        "mergeDefaultEvictionSettings",
        "logging.format",
        "logging.verbosity",
    }
)
"""fields that `octolet run` itself acts on"""
_NEVER_USED: Final = frozenset(
    {
        "hairpinMode",
        "iptablesDropBit",
        "iptablesMasqueradeBit",
        "runOnce",
        "streamingConnectionIdleTimeout",
        "logging.flushFrequency",
        "contentType",
    }
)
"""fields that have no effect upstream either, or whose subject is not there: nobody misses anything"""
_FLAGS_USED_BY_RUN: Final = frozenset(
    {
        "config",
        "config_dir",
        "kubeconfig",
        "hostname_override",
        "lock_file",
        "version",
        "help",
    }
)


@dataclass(frozen=True)
class Name:
    """What a settings field may be called, and what it then holds. `path` is the configuration field or the flag."""

    path: str
    value: Any


def settings_class(daemon: str) -> type[msgspec.Struct]:
    """The settings class of that daemon: `PodSyncSettings` in `services.pod_sync.settings`."""
    module = importlib.import_module(f"services.{daemon}.settings")
    name = "".join(part.capitalize() for part in daemon.split("_")) + "Settings"
    kind = getattr(module, name)
    assert isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return kind


def names(config: Config) -> dict[str, Name]:
    """Every settings name that the configuration can fill."""
    found: dict[str, Name] = {}
    for field in leaves():
        value = config.get(field.path)
        for name, converted in _field_names(field, value):
            found.setdefault(name, Name(field.path, converted))
    for path in _structs():
        found.setdefault(_flat(path), Name(path, config.get(path)))
    found |= {attribute: Name(f"--{attribute}", value) for attribute, value in config.flags.items()}
    found["node_name"] = Name("--hostname_override", config.node_name)
    found["feature_gates"] = Name("featureGates", config.gates)
    found["standalone"] = Name("--kubeconfig", config.standalone)
    found[_WHOLE] = Name("", external_form(config.values, config.flags["cert_dir"]))
    found |= {alias: found[name] for alias, name in _ALIASES.items()}
    return found


def _flat(path: str) -> str:
    return snake_case(path.replace(".", "_"))


def _structs() -> set[str]:
    return {path for field in leaves() for path in _above(field.path)}


def _above(path: str) -> list[str]:
    parts = path.split(".")[:-1]
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _field_names(field: Field, value: Any) -> Iterable[tuple[str, Any]]:
    stems = [_flat(field.path)]
    if "." in field.path:
        stems.append(snake_case(field.name))
    for stem in stems:
        if value is None and field.type.kind in _EMPTY:
            yield stem, _EMPTY[field.type.kind]()
        elif field.type.kind is Kind.DURATION:
            yield f"{stem}_s", None if value is None else parse_go_duration(value)
        else:
            yield stem, value


def derive(config: Config, daemon: str) -> msgspec.Struct:
    """That daemon's settings. Raises Invalid when a value does not fit the declared type."""
    kind = settings_class(daemon)
    known = names(config)
    given: dict[str, Any] = {}
    for declared in msgspec.structs.fields(kind):
        entry = known.get(declared.name)
        if entry is None or entry.value is None:
            continue
        try:
            given[declared.name] = msgspec.convert(entry.value, type=declared.type, strict=True)
        except msgspec.ValidationError as error:
            raise Invalid(f"{entry.path} for {daemon} ({declared.name}): {error}") from error
    return kind(**given)


def write_settings(config: Config, run_dir: Path, daemons: Iterable[str] = tuple(Service)) -> None:
    """Write RUN/settings/NAME.json (0600) for each daemon, each file atomically. Raises Invalid or OSError."""
    folder = run_dir / "settings"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for daemon in daemons:
        data = msgspec.json.format(msgspec.json.encode(derive(config, daemon)), indent=1)
        write_atomic(folder / f"{daemon}.json", data + b"\n")


def unused(config: Config, daemons: Iterable[str] = tuple(Service)) -> list[str]:
    """Fields and flags that the user set and that no daemon acts on, sorted: for one start-up warning."""
    known = names(config)
    used = set(_USED_BY_RUN | _NEVER_USED) | {f"--{flag}" for flag in _FLAGS_USED_BY_RUN}
    for daemon in daemons:
        for declared in msgspec.structs.fields(settings_class(daemon)):
            entry = known.get(declared.name)
            if entry is not None and declared.name != _WHOLE:
                used |= {entry.path}
    return sorted(path for path in _chosen(config) if not _is_used(path, used))


def _chosen(config: Config) -> set[str]:
    """The configuration fields and flags that were set to something other than their default."""
    chosen: set[str] = set()
    fields = {field.path: field for field in leaves()}
    for key, origin in config.origins.items():
        if not origin.startswith(("file ", "drop-in ", "flag ")):
            continue
        path = next((path for path in fields if key == path or key.startswith((path + ".", path + "["))), None)
        if path is None:
            if key in config.origins and origin == f"flag --{key}":
                chosen.add(f"--{key.replace('-', '_')}")
        elif get_path(config.values, path) != fields[path].default:
            chosen.add(path)
    return chosen


def _is_used(path: str, used: set[str]) -> bool:
    return path in used or any(above in used for above in _above(path))
