"""Facts about a pod as files: what a downwardAPI volume, or such a part of a projected one, holds. Pure.

Upstream `volume/downwardapi`, `fieldpath`, `api/v1/resource`.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from services.volume_manager.projections.payload import DEFAULT_MODE, ProjectedFile, joined
from shared.errors import Invalid
from shared.kube import quantity
from shared.kube.types import Container, DownwardAPIVolumeFile, Pod, ResourceFieldSelector

Allocatable = Callable[[str], str]
"""The node's allocatable quantity of a resource. May raise when it is not known yet."""

_SUBSCRIPT: Final = re.compile(r"^(metadata\.(?:labels|annotations))\['(.*)'\]$", re.DOTALL)
_FROM_NODE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""resources whose missing or zero limit is the node's allocatable"""
_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def collect(
    items: Iterable[DownwardAPIVolumeFile], default_mode: int | None, pod: Pod, allocatable: Allocatable
) -> dict[str, ProjectedFile]:
    """All items as files. Raises Invalid with the texts of all that are wrong."""
    found: dict[str, ProjectedFile] = {}
    errors: list[str] = []
    for item in items:
        mode = item.mode if item.mode is not None else default_mode
        try:
            text = _value(item, pod, allocatable)
        except Invalid as e:
            errors.append(str(e))
            continue
        found[item.path or ""] = ProjectedFile(text.encode(), DEFAULT_MODE if mode is None else mode)
    if errors:
        raise Invalid(joined(errors))
    return found


def _value(item: DownwardAPIVolumeFile, pod: Pod, allocatable: Allocatable) -> str:
    if item.field_ref is not None:
        return field_value(item.field_ref.field_path or "", pod)
    if item.resource_field_ref is not None:
        return resource_value(item.resource_field_ref, pod, allocatable)
    return ""


def field_value(path: str, pod: Pod) -> str:
    """A field of the pod's metadata; one label or annotation that is absent is empty. Raises Invalid."""
    meta = pod.metadata
    subscript = _SUBSCRIPT.match(path)
    if subscript is not None:
        entries = meta.labels if subscript[1] == "metadata.labels" else meta.annotations
        return entries.get(subscript[2], "")
    match path:
        case "metadata.name":
            return meta.name
        case "metadata.namespace":
            return meta.namespace
        case "metadata.uid":
            return meta.uid
        case "metadata.labels":
            return format_map(meta.labels)
        case "metadata.annotations":
            return format_map(meta.annotations)
    raise Invalid(f"unsupported fieldPath: {path}")


def format_map(entries: Mapping[str, str]) -> str:
    """`key="value"` lines, sorted, the last without a line end (upstream `fieldpath.FormatMap`)."""
    return "\n".join(f"{key}={go_quote(value)}" for key, value in sorted(entries.items()))


def go_quote(text: str) -> str:
    """A string as Go's `strconv.Quote` writes it."""
    return '"' + "".join(_ESCAPES.get(char) or _escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def resource_value(selector: ResourceFieldSelector, pod: Pod, allocatable: Allocatable) -> str:
    """What a container asks for or is limited to, in units of the divisor, rounded up. Raises Invalid.

    Limits of the pod as a whole are not looked at here, unlike for environment variables.
    """
    name = selector.container_name or ""
    container = next((c for c in [*pod.spec.containers, *pod.spec.init_containers] if c.name == name), None)
    if container is None:
        raise Invalid(f"container {name} not found")
    side, _, resource = (selector.resource or "").partition(".")
    if side not in ("limits", "requests") or not (resource in _FROM_NODE or resource.startswith("hugepages-")):
        raise Invalid(f"unsupported container resource : {selector.resource}")
    try:
        amount = quantity.parse(_amount(container, side, resource, allocatable))
        divisor = quantity.parse(selector.divisor or "0") or 1
    except quantity.InvalidQuantity as e:
        raise Invalid(f"{selector.resource} of container {name}: {e}") from e
    unit = 1000 if resource == "cpu" else 1
    return str(-(-math.ceil(amount * unit) // math.ceil(divisor * unit)))


def _amount(container: Container, side: str, resource: str, allocatable: Allocatable) -> str:
    resources = container.resources
    of_side: Mapping[str, str] = {}
    if resources is not None:
        of_side = resources.limits if side == "limits" else resources.requests
    text = of_side.get(resource, "0")
    if side == "limits" and resource in _FROM_NODE and quantity.parse(text) == 0:
        return allocatable(resource)
    return text
