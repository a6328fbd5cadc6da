"""From command line and files to one `Config`, in upstream's order.

built-in defaults  <  --config FILE  <  --config-dir drop-ins  <  flags that were given
"""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from shared.config.arguments import Arguments, parse_arguments
from shared.config.defaults import apply_defaults, legacy_base, set_eviction_defaults
from shared.config.files import drop_in_files, load_config_file, merge_drop_in
from shared.config.flags import FLAGS, Standing
from shared.config.gates import effective_gates, settled_gates
from shared.config.model import Config, Origin, set_path, walk
from shared.config.validation import validate_configuration, validate_flags
from shared.errors import Invalid

_MAPS_MERGED_BY_KEY: Final = frozenset({"featureGates"})


def resolve(argv: Sequence[str], *, hostname: str | None = None) -> Config:
    """The configuration that these arguments mean. Raises Invalid with everything that is wrong with them.

    `hostname` replaces this machine's own name (for tests). The same arguments and files always give the same result.
    """
    return resolve_arguments(parse_arguments(argv), hostname=hostname)


def resolve_arguments(arguments: Arguments, *, hostname: str | None = None) -> Config:
    """The same for a command line that was parsed already."""
    flags = _all_flags(arguments)
    try:
        effective_gates(arguments.fields.get("featureGates", {}))
    except Invalid as error:
        raise Invalid(f"failed to set feature gates from initial flags-based config: {error}") from error
    validate_flags(flags)
    values, origins, warnings = _from_files(flags)
    values = apply_defaults(values)
    _apply_flags(values, origins, arguments)
    gates = effective_gates(values.get("featureGates", {}))
    _derive(values, origins)
    validate_configuration(values, gates, standalone=not flags["kubeconfig"])
    warnings += _flag_warnings(arguments)
    warnings += [
        f"setting GA or deprecated feature gate {name}: it will be removed in a future release"
        for name in settled_gates(values.get("featureGates", {}))
    ]
    return Config(
        values=values,
        flags=flags,
        gates=gates,
        node_name=_node_name(flags["hostname_override"], hostname),
        origins=origins | {name: f"flag --{name}" for name in arguments.given if not FLAGS[name].path},
        warnings=warnings,
    )


def _all_flags(arguments: Arguments) -> dict[str, Any]:
    defaults = {flag.attribute: flag.default for flag in FLAGS.values() if not flag.path}
    return defaults | arguments.flags


def _from_files(flags: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Origin], list[str]]:
    warnings: list[str] = []
    if flags["config"]:
        path = Path(flags["config"])
        values, warnings = load_config_file(path)
        origins: dict[str, Origin] = {name: f"file {path.absolute()}" for name, _ in walk(values)}
        set_eviction_defaults(values)
    else:
        values, origins = legacy_base()
    if flags["config_dir"]:
        for drop_in in drop_in_files(Path(flags["config_dir"])):
            values, set_here = merge_drop_in(values, drop_in)
            origins |= set_here
    return values, origins, warnings


def _apply_flags(values: dict[str, Any], origins: dict[str, Origin], arguments: Arguments) -> None:
    for name in arguments.given:
        path = FLAGS[name].path
        if not path:
            continue
        value = arguments.fields[path]
        if path in _MAPS_MERGED_BY_KEY:
            value = {**values.get(path, {}), **value}
        for stale in [key for key in origins if key.startswith(path + ".")]:
            if path not in _MAPS_MERGED_BY_KEY:
                del origins[stale]
        set_path(values, path, value)
        keys = [f"{path}.{key}" for key in arguments.fields[path]] if isinstance(value, dict) and value else [path]
        origins |= dict.fromkeys(keys, f"flag --{name}")
    if arguments.flags.get("seccomp_default"):
        values["seccompDefault"] = True
        origins["seccompDefault"] = "flag --seccomp-default"


def _derive(values: dict[str, Any], origins: dict[str, Origin]) -> None:
    """Values that follow from others when they are not set."""
    if values["cgroupsPerQOS"] and not values.get("cgroupRoot"):
        values["cgroupRoot"] = "/"
        origins["cgroupRoot"] = "derived"


def _node_name(override: str, hostname: str | None) -> str:
    name = (override or (socket.gethostname() if hostname is None else hostname)).strip().lower()
    if not name:
        raise Invalid("empty hostname is invalid")
    return name


def _flag_warnings(arguments: Arguments) -> list[str]:
    texts = {
        Standing.MOVED: "should be set in the file given by --config",
        Standing.DEPRECATED: "is deprecated and has no effect",
    }
    return [f"flag --{name} {texts[FLAGS[name].standing]}" for name in arguments.given if FLAGS[name].standing in texts]
