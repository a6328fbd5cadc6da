"""From plain data to an API object, saying exactly which field is wrong.

msgspec alone would do, but manifests are written by people: an explicit `null` means absent, a quantity may be a bare
number, unknown fields are worth a warning that names them, and an error has to name the field as the API would
(`spec.containers[0].ports[1].containerPort`).
"""

from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from shared.kube import quantity
from shared.kube.types import ApiObject

T = TypeVar("T", bound=ApiObject)
_INT64: Final = range(-(2**63), 2**63)
_QUOTED: Final = 60
"""characters of a wrong value that are shown"""


class WrongShape(ValueError):
    """A value that its field cannot hold. The message begins with the field."""


@dataclass(frozen=True)
class _Kind:
    """What a field holds: `shape` is one, list or map; `element` a Struct, a scalar type, or a word for special ones."""

    shape: str
    element: Any


def build(raw: Any, kind: type[T]) -> tuple[T, list[str]]:
    """The object, and the paths of fields that its type does not have. Raises `WrongShape`."""
    unknown: list[str] = []
    made = _object(raw, kind, "", unknown)
    assert isinstance(made, kind)
    return made, unknown


@cache
def _kinds(struct: type[ApiObject]) -> dict[str, tuple[str, _Kind]]:
    hints = get_type_hints(struct, include_extras=True)
    return {f.encode_name: (f.name, _kind(hints[f.name])) for f in msgspec.structs.fields(struct)}


def _kind(hint: Any) -> _Kind:
    origin = get_origin(hint)
    if origin is Annotated:
        return _Kind("one", "quantity")
    if origin in (Union, UnionType):
        present = [a for a in get_args(hint) if a is not NoneType]
        return _kind(present[0]) if len(present) == 1 else _Kind("one", "number or name")
    if origin is list:
        return _Kind("list", _kind(get_args(hint)[0]).element)
    if origin is dict:
        return _Kind("map", _kind(get_args(hint)[1]).element)
    return _Kind("one", hint)


def _object(raw: Any, struct: type[ApiObject], path: str, unknown: list[str]) -> ApiObject:
    if not isinstance(raw, dict):
        raise _wrong(path, "an object", raw)
    kinds = _kinds(struct)
    values: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{path}.{name}" if path else name
        if name not in kinds:
            unknown.append(where)
        elif value is not None:
            attribute, kind = kinds[name]
            values[attribute] = _field(value, kind, where, unknown)
    return struct(**values)


def _field(raw: Any, kind: _Kind, path: str, unknown: list[str]) -> Any:
    if kind.shape == "list":
        if not isinstance(raw, list):
            raise _wrong(path, "a list", raw)
        return [_element(v, kind.element, f"{path}[{i}]", unknown) for i, v in enumerate(raw)]
    if kind.shape == "map":
        if not isinstance(raw, dict):
            raise _wrong(path, "a map", raw)
        return {k: _element(v, kind.element, f"{path}[{k}]", unknown) for k, v in raw.items()}
    return _element(raw, kind.element, path, unknown)


def _element(raw: Any, element: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(element, type) and issubclass(element, ApiObject):
        return _object({} if raw is None else raw, element, path, unknown)
    if element is Any:
        return raw
    if element == "quantity":
        return _quantity(raw, path)
    if element is str:
        if raw is None:
            return ""
        if not isinstance(raw, str):
            raise _wrong(path, "a string", raw)
        return raw
    if element is bool:
        if not isinstance(raw, bool):
            raise _wrong(path, "true or false", raw)
        return raw
    if element == "number or name" and isinstance(raw, str):
        return raw
    if isinstance(raw, bool) or not isinstance(raw, int) or raw not in _INT64:
        raise _wrong(path, "a whole number" if element is int else "a whole number or a name", raw)
    return raw


def _quantity(raw: Any, path: str) -> str:
    text = str(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else raw
    if not isinstance(text, str):
        raise _wrong(path, "a quantity", raw)
    try:
        quantity.parse(text)
    except quantity.InvalidQuantity as error:
        raise WrongShape(f"{path}: {error}, got {_shown(raw)}") from error
    return text


def _wrong(path: str, wanted: str, raw: Any) -> WrongShape:
    return WrongShape(f"{path or 'the document'}: expected {wanted}, got {_shown(raw)}")


def _shown(raw: Any) -> str:
    match raw:
        case None:
            return "nothing"
        case bool():
            return "true" if raw else "false"
        case str():
            return f'"{raw[:_QUOTED]}"'
        case int() | float():
            return (
                f"the number {str(raw)[:_QUOTED]}"
                if not isinstance(raw, int) or abs(raw) < 10**_QUOTED
                else "a huge number"
            )
        case list():
            return "a list"
        case _:
            return "an object"
