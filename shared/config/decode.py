"""Types of a configuration document: checked and brought into one form, with the errors that Go's JSON decoder gives.

The result holds only fields that were set to something other than null, durations in Go's canonical text. Unknown
fields are not errors: they are listed, as upstream's strict decoding lists them before the lenient one goes on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from shared.config.fields import ROOT, Field, Kind, Type
from shared.errors import Invalid
from shared.kube.duration import format_go_duration_ns, parse_go_duration_ns

_QUANTITY: Final = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1)}


@dataclass
class Decoder:
    """Decodes one document; `unknown` collects the paths of unknown fields."""

    unknown: list[str] = field(default_factory=list)

    def decode(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The typed values of a whole document; apiVersion and kind are left out. Raises Invalid."""
        body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
        return self._struct(ROOT, body, "")

    def _struct(self, parent: Field, value: Mapping[str, Any], where: str) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, inner in value.items():
            child = parent.children.get(name)
            path = f"{where}.{name}" if where else name
            if child is None:
                self.unknown.append(path)
            elif inner is not None:
                result[name] = self._field(child, inner, path, parent.type.go)
        return result

    def _field(self, child: Field, value: Any, path: str, owner: str) -> Any:
        place = _Place(owner.removeprefix("[]").removeprefix("logsapi."), path)
        if child.type.kind is Kind.STRUCT:
            place.expect(value, dict, child.type)
            return self._struct(child, value, path)
        if child.type.kind is Kind.LIST and child.children:
            place.expect(value, list, child.type)
            assert child.type.element is not None
            for item in value:
                place.expect(item, dict, child.type.element)
            return [self._struct(child, item, f"{path}[{index}]") for index, item in enumerate(value)]
        return decode_value(child.type, value, place)


@dataclass(frozen=True)
class _Place:
    """Where a value stands, for Go's error text."""

    struct: str
    path: str

    def wrong(self, value: Any, kind: Type) -> Invalid:
        what = _json_name(value)
        return Invalid(
            f"json: cannot unmarshal {what} into Go struct field {self.struct}.{self.path} of type {kind.go}"
        )

    def expect(self, value: Any, wanted: type, kind: Type) -> None:
        if not isinstance(value, wanted):
            raise self.wrong(value, kind)


def decode_value(kind: Type, value: Any, place: _Place) -> Any:
    """One scalar, list or map of that type. Raises Invalid."""
    match kind.kind:
        case Kind.LIST:
            place.expect(value, list, kind)
            assert kind.element is not None
            return [decode_value(kind.element, item, place) for item in value]
        case Kind.MAP:
            place.expect(value, dict, kind)
            assert kind.element is not None
            return {key: decode_value(kind.element, item, place) for key, item in value.items()}
        case Kind.BOOLEAN:
            place.expect(value, bool, kind)
            return value
        case Kind.STRING:
            place.expect(value, str, kind)
            return value
        case Kind.INTEGER:
            return _integer(kind, value, place)
        case Kind.NUMBER:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise place.wrong(value, kind)
            return float(value)
        case Kind.DURATION:
            return _duration(kind, value, place)
        case Kind.QUANTITY:
            return _quantity(value, place, kind)
        case Kind.STRUCT:
            raise AssertionError(f"struct {kind.go} has no fields in the table")


def _integer(kind: Type, value: Any, place: _Place) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    low, high = _RANGES[kind.go]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise place.wrong(value, kind)
    return value


def _duration(kind: Type, value: Any, place: _Place) -> str:
    if kind.go == "TimeOrMetaDuration" and isinstance(value, int) and not isinstance(value, bool):
        return format_go_duration_ns(value)
    if not isinstance(value, str):
        raise Invalid(f"json: cannot unmarshal {_json_name(value)} into Go value of type string ({place.path})")
    try:
        return format_go_duration_ns(parse_go_duration_ns(value))
    except ValueError as error:
        raise Invalid(f"{error} ({place.path})") from error


def _quantity(value: Any, place: _Place, kind: Type) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise place.wrong(value, kind)
    text = str(value)
    if not re.match(_QUANTITY, text):
        raise Invalid(f"quantities must match the regular expression '{_QUANTITY}' ({place.path})")
    return text


def _json_name(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {value}" if isinstance(value, float) or abs(value) > 2**31 else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
