"""YAML or JSON text of one configuration object, read as upstream reads it.

Upstream turns YAML into JSON first: keys are strings, timestamps stay text, and a key given twice is an offence that
strict decoding names and lenient decoding forgives (the last one wins).
"""

import re
from typing import Any

import yaml

from shared.errors import Invalid

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Scalars as Kubernetes' YAML reader resolves them, plus a list of duplicate keys."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = _key(self.construct_object(key_node, deep=True))
            if key in mapping:
                self.duplicates.append(key)
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


def _construct_map(loader: _Loader, node: yaml.MappingNode) -> Any:
    mapping: dict[Any, Any] = {}
    yield mapping
    mapping.update(loader.construct_mapping(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_map)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":int", ":float"))]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}
_INT = re.compile(r"^[-+]?(0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "")
    digits = text.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        text = text.replace("0", "0o", 1)
    return int(text, 0)


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return str(key)


def read_document(text: str) -> tuple[dict[str, Any], list[str]]:
    """The object in that text, and the keys given twice. Raises Invalid when it is not YAML or not one object."""
    loader = _Loader(text)
    try:
        value = loader.get_single_data()
    except yaml.YAMLError as error:
        raise Invalid(f"error converting YAML to JSON: yaml: {_one_line(error)}") from error
    finally:
        loader.dispose()
    if not isinstance(value, dict):
        raise Invalid("couldn't get version/kind; json parse error: json: cannot unmarshal into an object")
    return value, loader.duplicates


def _one_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f"line {mark.line + 1}: " if mark is not None else ""
    return where + " ".join(str(problem).split())
