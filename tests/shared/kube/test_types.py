import re
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from kubernetes.client import models

from shared.kube import types
from shared.kube.types import ApiObject

ROOTS = ["V1PodList", "V1NodeList", "CoreV1EventList", "V1LeaseList"]
RENAMED = {
    "CoreV1Event": "Event",
    "CoreV1EventList": "EventList",
    "CoreV1EventSeries": "EventSeries",
    "CoreV1ResourceClaim": "ResourceClaim",
}
NOT_IN_THE_CLIENT: dict[str, set[str]] = {}
"""wire fields that we have and the installed client lacks, by type"""
ONLY_IN_THE_CLIENT: dict[str, set[str]] = {}
"""wire fields of the installed client that API level 1.37 does not have, by type"""


def our_name(theirs: str) -> str:
    return RENAMED.get(theirs, theirs.removeprefix("V1"))


@cache
def client_types() -> dict[str, Any]:
    """Every type of the official client that the roots reach, by our name for it."""
    found: dict[str, Any] = {}
    todo = list(ROOTS)
    while todo:
        theirs = todo.pop()
        if our_name(theirs) in found:
            continue
        model = getattr(models, theirs)
        found[our_name(theirs)] = model
        for text in model.openapi_types.values():
            todo.extend(word for word in re.findall(r"[A-Z]\w+", text) if hasattr(models, word))
    return found


def wire_fields(kind: type[ApiObject]) -> set[str]:
    return {f.encode_name for f in msgspec.structs.fields(kind)}


def parts(kind: Any) -> tuple[str, str]:
    """Shape and element of one of our annotations, in the client's words."""
    if get_origin(kind) is Annotated:
        return parts(get_args(kind)[0])
    present = [a for a in get_args(kind) if a is not type(None)]
    if get_origin(kind) is list:
        return "list", parts(present[0])[1]
    if get_origin(kind) is dict:
        return "map", parts(present[1])[1]
    if len(present) == 2:
        return "one", "object"
    if present:
        return parts(present[0])
    return "one", kind.__name__


def their_parts(text: str) -> tuple[str, str]:
    shape, element = "one", text
    if match := re.fullmatch(r"List\[(.*)\]", text):
        shape, element = "list", match[1]
    elif match := re.fullmatch(r"Dict\[str, (.*)\]", text):
        shape, element = "map", match[1]
    element = {"datetime": "str"}.get(element.strip(), element.strip())
    return shape, our_name(element)


def test_every_type_of_the_official_client_exists_here_and_no_other() -> None:
    ours = {name for name in types.__all__ if isinstance(getattr(types, name), type)} - {"ApiObject"}
    assert ours == set(client_types())


@pytest.mark.parametrize("name", sorted(client_types()))
def test_fields_are_spelled_as_in_the_official_client_and_none_is_missing(name: str) -> None:
    theirs = set(client_types()[name].attribute_map.values())
    expected = theirs - ONLY_IN_THE_CLIENT.get(name, set()) | NOT_IN_THE_CLIENT.get(name, set())
    assert wire_fields(getattr(types, name)) == expected


@pytest.mark.parametrize("name", sorted(client_types()))
def test_fields_have_the_type_that_the_official_client_declares(name: str) -> None:
    model = client_types()[name]
    declared = {model.attribute_map[a]: their_parts(t) for a, t in model.openapi_types.items()}
    hints = get_type_hints(getattr(types, name), include_extras=True)
    ours = {f.encode_name: parts(hints[f.name]) for f in msgspec.structs.fields(getattr(types, name))}
    if name == "ManagedFieldsEntry":
        assert ours.pop("fieldsV1") == ("map", "Any")
        assert declared.pop("fieldsV1") == ("one", "object")
    assert ours == declared


def sample(kind: type[ApiObject], depth: int = 0) -> dict[str, Any]:
    """An instance as decoded JSON with every field set to something that is not its default."""
    hints = get_type_hints(kind, include_extras=True)

    def value(annotation: Any) -> Any:
        shape, element = parts(annotation)
        if element in {"str", "int", "bool", "object", "Any"}:
            one: Any = {"str": "some", "int": 7, "bool": True, "object": "named", "Any": "any"}[element]
        else:
            one = sample(getattr(types, element), depth + 1) if depth < 14 else {}
        return {"list": [one], "map": {"key": one}, "one": one}[shape]

    return {f.encode_name: value(hints[f.name]) for f in msgspec.structs.fields(kind)}


@pytest.mark.parametrize("kind", [types.Pod, types.Node, types.Event, types.Lease, types.PodList])
def test_an_object_with_every_field_set_survives_json_and_msgpack(kind: type[ApiObject]) -> None:
    raw = sample(kind)
    whole = msgspec.convert(raw, kind)
    assert msgspec.to_builtins(whole) == raw
    assert msgspec.json.decode(msgspec.json.encode(whole), type=kind) == whole
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(whole), type=kind) == whole


def test_what_the_api_server_always_writes_is_written_even_when_zero() -> None:
    assert msgspec.to_builtins(types.PodList()) == {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []}
    assert msgspec.to_builtins(types.ContainerStatus(name="web")) == {
        "name": "web",
        "image": "",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {},
        "lastState": {},
    }
    assert msgspec.to_builtins(types.ContainerStateTerminated()) == {"exitCode": 0}


def test_unknown_fields_are_ignored() -> None:
    pod = msgspec.json.decode(b'{"metadata":{"name":"web","colour":"red"},"spec":{"new":{"a":[1]}}}', type=types.Pod)
    assert pod.metadata.name == "web"


def test_ports_are_numbers_or_names() -> None:
    action = msgspec.json.decode(b'{"port":"http"}', type=types.HTTPGetAction)
    assert action.port == "http"
    assert msgspec.json.decode(b'{"port":80}', type=types.HTTPGetAction).port == 80
