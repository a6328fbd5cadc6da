"""The first document of a YAML text as plain data, read the way Kubernetes reads manifests.

Kubernetes turns YAML into JSON with a YAML 1.1 reader (`sigs.k8s.io/yaml`), whose scalars differ from PyYAML's: `y` and
`off` are booleans, `1e3` is a number, dates and `1:30` are strings, keys become strings, the last of two equal keys wins.

libyaml's events are built into data here instead of by PyYAML's composer, because that one recurses with the document:
nesting, size and the expansion of aliases are bounded before anything is built (`MAX_DEPTH`, `MAX_NODES`).
"""

import base64
import binascii
import math
import re
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 200
"""nesting that no pod comes near; what follows walks data recursively"""
MAX_NODES: Final = 100_000
"""scalars, lists and maps, counting an alias as everything it stands for; a large pod has a thousand"""

_STANDARD: Final = "tag:yaml.org,2002:"
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE: Final = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_NOT_FINITE: Final = frozenset({".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF"})
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL: Final = re.compile(r"([-+]?)0o?([0-7]+)")
_HEX: Final = re.compile(r"([-+]?)0[xX]([0-9a-fA-F]+)")
_BINARY: Final = re.compile(r"([-+]?)0[bB]([01]+)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER: Final = 400
"""digits; a longer scalar is text (turning it into an int would take quadratic time)"""


class InvalidYaml(ValueError):
    """Not YAML, or more of it than is reasonable. The message says where, when that is known."""


def read_first_document(text: str) -> Any:
    """The document as dicts with string keys, lists, strings, numbers, booleans and None.

    None for an empty text. Later documents are ignored. Raises `InvalidYaml`.
    """
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentEndEvent):
                break
            builder.feed(event)
    except yaml.YAMLError as error:
        raise InvalidYaml(" ".join(str(error).split())) from error
    return builder.result


@dataclass
class _Open:
    """A list or map that is not complete yet. `nodes` counts what is in it."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    nodes: int = 1
    key: str | None = None
    merging: bool = False
    explicit: set[str] = field(default_factory=set)


@dataclass
class _Builder:
    result: Any = None
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    total: int = 0

    def feed(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._complete(_scalar(event), 1, event.anchor, event)
            case yaml.AliasEvent():
                if event.anchor not in self.anchors:
                    raise InvalidYaml(f"alias *{event.anchor} has no anchor before it{_where(event)}")
                value, nodes = self.anchors[event.anchor]
                self._complete(value, nodes, None, event)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(self.stack) >= MAX_DEPTH:
                    raise InvalidYaml(f"nested deeper than {MAX_DEPTH} levels{_where(event)}")
                if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
                    raise InvalidYaml(f"a list or map cannot be a key{_where(event)}")
                empty: list[Any] | dict[str, Any] = [] if isinstance(event, yaml.SequenceStartEvent) else {}
                self.stack.append(_Open(empty, event.anchor))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                done = self.stack.pop()
                self._complete(done.value, done.nodes, done.anchor, event)

    def _complete(self, value: Any, nodes: int, anchor: str | None, event: Any) -> None:
        if not isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            self.total += nodes
        else:
            self.total += 1
        if self.total > MAX_NODES:
            raise InvalidYaml(f"more than {MAX_NODES} values, aliases included")
        if anchor is not None:
            self.anchors[anchor] = (value, nodes)
        if not self.stack:
            self.result = value
            return
        parent = self.stack[-1]
        parent.nodes += nodes
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.merging:
            self._merge(parent, parent.value, value, event)
        elif parent.key is None:
            parent.merging = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
            parent.key = "<<" if parent.merging else _key(value, event)
        else:
            parent.value[parent.key] = value
            parent.explicit.add(parent.key)
            parent.key = None

    def _merge(self, parent: _Open, into: dict[str, Any], value: Any, event: Any) -> None:
        parent.merging, parent.key = False, None
        maps = value if isinstance(value, list) else [value]
        for one in reversed(maps):
            if not isinstance(one, dict):
                raise InvalidYaml(f"<< merges only maps{_where(event)}")
            into.update((k, v) for k, v in one.items() if k not in parent.explicit)


def _key(value: Any, event: Any) -> str:
    match value:
        case str():
            return value
        case True:
            return "true"
        case False:
            return "false"
        case int() | float():
            return str(value)
        case _:
            raise InvalidYaml(f"a key must be a string{_where(event)}")


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    tag: str | None = event.tag
    plain = event.implicit[0]
    if tag is None or tag == "!":
        return _resolve(text) if plain and tag is None else text
    match tag.removeprefix(_STANDARD):
        case "str":
            return text
        case "binary":
            try:
                return base64.b64decode(text, validate=False).decode()
            except (binascii.Error, UnicodeDecodeError) as error:
                raise InvalidYaml(f"!!binary value is not base64 of UTF-8 text{_where(event)}") from error
        case "int" | "float" | "bool" | "null" as wanted:
            value = _resolve(text)
            kinds = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
            if not isinstance(value, kinds[wanted]):  # type: ignore[arg-type]
                raise InvalidYaml(f"cannot decode {text[:40]!r} as !!{wanted}{_where(event)}")
            return value
        case _:
            return text


def _resolve(text: str) -> Any:
    """What a scalar without quotes means."""
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text.lstrip("+-") in _NOT_FINITE:
        raise InvalidYaml(f"{text} has no form in JSON")
    if text[0] not in "+-.0123456789" or len(text) > _LONGEST_NUMBER:
        return text
    return _number(text)


def _number(text: str) -> int | float | str:
    digits = text.replace("_", "")
    if _DECIMAL.fullmatch(digits):
        return int(digits)
    for pattern, base in ((_OCTAL, 8), (_HEX, 16), (_BINARY, 2)):
        match = pattern.fullmatch(digits)
        if match:
            return int(match[1] + match[2], base)
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        if not math.isfinite(value):
            raise InvalidYaml(f"{text[:40]} has no form in JSON")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text


def _where(event: Any) -> str:
    mark = event.start_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
