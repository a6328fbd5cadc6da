"""What resolving gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT = "default"

Origin = str
"""Where a value comes from: `default`, `file PATH`, `drop-in PATH`, `flag --NAME` or `derived`"""


@dataclass(frozen=True)
class Config:
    """The one resolved configuration.

    `values` is the effective KubeletConfiguration as nested JSON without apiVersion and kind; `flags` holds every flag
    without a field (attribute names, defaults filled in); `origins` says where each dotted path or flag came from.
    """

    values: dict[str, Any]
    flags: dict[str, Any]
    gates: dict[str, bool]
    node_name: str
    origins: dict[str, Origin] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def standalone(self) -> bool:
        """No API server: static pods only."""
        return not self.flags["kubeconfig"]

    def get(self, path: str) -> Any:
        """The value at a dotted path; None when it is unset."""
        return get_path(self.values, path)

    def origin(self, path: str) -> Origin:
        """Where the value at this path comes from. A struct or a map answers for its parts, if they agree."""
        below = {origin for key, origin in self.origins.items() if key == path or key.startswith(path + ".")}
        if not below:
            return DEFAULT
        return below.pop() if len(below) == 1 else ", ".join(sorted(below))


def get_path(values: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of struct fields; None when any part is missing."""
    found: Any = values
    for part in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def set_path(values: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path of struct fields, making the structs on the way."""
    *above, name = path.split(".")
    for part in above:
        inner = values.get(part)
        if not isinstance(inner, dict):
            inner = values[part] = {}
        values = inner
    values[name] = value


def walk(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every dotted path with a value that is not a map, and every empty map."""
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            yield from walk(value, path + ".")
        else:
            yield path, value
