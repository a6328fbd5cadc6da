"""The kubelet's command line, read as Go's pflag reads it.

`--name value`, `--name=value`, booleans as `--name` or `--name=false`, `-v2`, `-v 2` and `-h`. Underscores in names count
as dashes. Maps and lists: the first use replaces, repeated uses add.
"""

import csv
import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shared.config.flags import FLAGS, SHORTHANDS, Flag, Form
from shared.errors import Invalid
from shared.kube.duration import format_go_duration_ns, parse_go_duration_ns

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_ADDING: Final = frozenset(
    {Form.STRINGS, Form.MAP_STRING, Form.MAP_BOOL, Form.PAIR, Form.THRESHOLDS, Form.HEADERS, Form.RESERVED_MEMORY}
)


@dataclass
class Arguments:
    """What the command line said. `fields` is by dotted configuration path, `flags` by attribute name."""

    fields: dict[str, Any] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    """names of the flags used, in order, each once"""


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Read the words after `octolet run`. Raises Invalid in upstream's words."""
    arguments = Arguments()
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--" or not word.startswith("-") or word == "-":
            rest = words if word == "--" else [word]
            if not rest:
                break
            raise Invalid(f"unknown command {rest[0]}")
        name, text = _split(word)
        flag = FLAGS.get(name)
        if flag is None:
            raise Invalid(f"failed to parse kubelet flag: unknown flag: {word.partition('=')[0]}")
        if text is None:
            text = _implied(flag)
        if text is None:
            if not words:
                raise Invalid(f"failed to parse kubelet flag: flag needs an argument: --{name}")
            text = words.pop(0)
        _set(arguments, flag, text)
    return arguments


def _split(word: str) -> tuple[str, str | None]:
    """The flag's name and the value that is joined to it, if any."""
    if word.startswith("--"):
        name, equals, text = word[2:].partition("=")
        return name.replace("_", "-"), text if equals else None
    name = SHORTHANDS.get(word[1], word[1:])
    rest = word[2:]
    return name, rest.removeprefix("=") if rest else None


def _implied(flag: Flag) -> str | None:
    return {Form.BOOL: "true", Form.VERSION: "true"}.get(flag.form)


def _set(arguments: Arguments, flag: Flag, text: str) -> None:
    try:
        value = _READERS[flag.form](text)
    except ValueError as error:
        raise Invalid(
            f'failed to parse kubelet flag: invalid argument "{text}" for "--{flag.name}" flag: {error}'
        ) from error
    store, key = (arguments.fields, flag.path) if flag.path else (arguments.flags, flag.attribute)
    if flag.name in arguments.given and flag.form in _ADDING:
        value = store[key] + value if isinstance(value, list) else _merged(store[key], value)
    if flag.name not in arguments.given:
        arguments.given.append(flag.name)
    store[key] = value


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in new.items():
        merged[key] = old[key] + value if isinstance(value, list) and key in old else value
    return merged


def _bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def _integer(bits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]*|0[bB][01]+|[1-9][0-9]*)", text):
            raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        octal = re.sub(r"^([-+]?)0([0-7]+)$", r"\g<1>0o\2", text)
        value = int(octal, 0)
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f'strconv.ParseInt: parsing "{text}": value out of range')
        return value

    return read


def _ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip()))
    except ValueError as error:
        raise ValueError(f'failed to parse IP: "{text}"') from error


def _strings(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True)) if text else []
    except (csv.Error, StopIteration) as error:
        raise ValueError(f'parsing "{text}": {error}') from error


def _pairs(text: str, separator: str, wanted: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(",") if text else []:
        key, found, value = part.partition(separator)
        if not found:
            raise ValueError(f"malformed pair, expect {wanted}")
        pairs.append((key.strip(), value.strip()))
    return pairs


def _map(text: str) -> dict[str, str]:
    return dict(_pairs(text, "=", "string=string"))


def _pair(text: str) -> dict[str, str]:
    key, found, value = text.partition("=")
    if not found:
        raise ValueError("malformed pair, expect string=string")
    return {key.strip(): value.strip()}


def _bools(text: str) -> dict[str, bool]:
    result = {}
    for key, value in _pairs(text, "=", "string=bool"):
        try:
            result[key] = _bool(value)
        except ValueError as error:
            raise ValueError(f"invalid value of {key}: {value}, err: {error}") from error
    return result


def _headers(text: str) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for key, value in _pairs(text, ":", "string:string"):
        headers.setdefault(key, []).append(value)
    return headers


def _taints(text: str) -> list[dict[str, str]]:
    taints = []
    for part in text.split(",") if text else []:
        match = re.fullmatch(r"([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)", part)
        if match is None:
            raise ValueError(f"invalid taint spec: {part}")
        key, value, effect = match.groups()
        taints.append({"key": key, **({"value": value} if value else {}), "effect": effect})
    return taints


def _reserved_memory(text: str) -> list[dict[str, Any]]:
    nodes = []
    for part in text.split(";") if text else []:
        node, found, limits = part.partition(":")
        if not found or not node.strip().isdigit():
            raise ValueError(f"the reserved memory has incorrect format {part!r}")
        nodes.append({"numaNode": int(node), "limits": _map(limits)})
    return nodes


def _vmodule(text: str) -> list[dict[str, Any]]:
    items = []
    for part in text.split(",") if text else []:
        pattern, found, level = part.rpartition("=")
        if not found or not level.isdigit():
            raise ValueError(f'"{part}" does not have the pattern=N format')
        items.append({"filePattern": pattern, "verbosity": int(level)})
    return items


def _duration(text: str) -> str:
    return format_go_duration_ns(parse_go_duration_ns(text))


_READERS: Final[dict[Form, Callable[[str], Any]]] = {
    Form.STRING: str,
    Form.BOOL: _bool,
    Form.INT32: _integer(32),
    Form.INT64: _integer(64),
    Form.DURATION: _duration,
    Form.QUANTITY: str,
    Form.IP: _ip,
    Form.STRINGS: _strings,
    Form.MAP_STRING: _map,
    Form.MAP_BOOL: _bools,
    Form.PAIR: _pair,
    Form.THRESHOLDS: lambda text: dict(_pairs(text, "<", "string<string")),
    Form.HEADERS: _headers,
    Form.TAINTS: _taints,
    Form.RESERVED_MEMORY: _reserved_memory,
    Form.VMODULE: _vmodule,
    Form.VERSION: str,
}
