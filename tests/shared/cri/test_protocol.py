"""The generated messages are the protocol's: compared with a table of every field, enum value and rpc of CRI v1."""

import json
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from shared.cri import api
from shared.cri.calls import STREAMED
from shared.cri.metrics import OPERATIONS
from shared.rpc.methods import service_methods

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("cri-v1.json").read_text())
FILE = api.DESCRIPTOR
TYPES = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def relative(name: str) -> str:
    return name.removeprefix(f"{TABLE['package']}.")


def type_of(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        if field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name
            return f"map<{type_of(entry['key'])},{type_of(entry['value'])}>"
        return relative(field.message_type.full_name)
    if field.enum_type is not None:
        return relative(field.enum_type.full_name)
    return TYPES[field.type]


def described(field: FieldDescriptor) -> dict[str, Any]:
    options = field.GetOptions()
    type_name = type_of(field)
    is_map = type_name.startswith("map<")
    return {
        "number": field.number,
        "type": type_name,
        "label": "map" if is_map else "repeated" if field.is_repeated else "singular",
        **({"deprecated": True} if options.deprecated else {}),
        **({"sensitive": True} if options.debug_redact else {}),
    }


def messages() -> dict[str, Descriptor]:
    found = dict(FILE.message_types_by_name)
    assert not any(n for m in found.values() for n in m.nested_types if not n.GetOptions().map_entry)
    return found


def enums() -> dict[str, EnumDescriptor]:
    nested = [e for message in messages().values() for e in message.enum_types]
    return {relative(e.full_name): e for e in [*FILE.enum_types_by_name.values(), *nested]}


def test_every_message_has_exactly_the_fields_of_the_table() -> None:
    ours = {name: {f.name: described(f) for f in message.fields} for name, message in messages().items()}
    assert ours == TABLE["messages"]


def test_no_field_tracks_presence_that_the_protocol_does_not_track() -> None:
    scalars = [f for m in messages().values() for f in m.fields if f.message_type is None and not f.is_repeated]
    assert not [f.full_name for f in scalars if f.has_presence or f.containing_oneof is not None]


def test_every_enum_has_exactly_the_values_of_the_table() -> None:
    ours = {name: {value.name: value.number for value in enum.values} for name, enum in enums().items()}
    assert ours == TABLE["enums"]


def test_every_rpc_has_the_path_types_and_streams_of_the_table() -> None:
    ours = {
        service: {
            method.name: {
                "request": relative(method.request.DESCRIPTOR.full_name),
                "response": relative(method.reply.DESCRIPTOR.full_name),
                "client_streaming": method.client_streaming,
                "server_streaming": method.server_streaming,
            }
            for method in service_methods(FILE, service).values()
        }
        for service in FILE.services_by_name
    }
    assert ours == TABLE["services"]
    assert sum(len(rpcs) for rpcs in ours.values()) == 43
    for service, rpcs in ours.items():
        paths = {method.path for method in service_methods(FILE, service).values()}
        assert paths == {f"/runtime.v1.{service}/{rpc}" for rpc in rpcs}


def test_a_listing_in_parts_is_alike_on_the_wire() -> None:
    methods = service_methods(FILE, "RuntimeService") | service_methods(FILE, "ImageService")
    for listing, streamed in STREAMED.items():
        plain, parts = methods[listing], methods[streamed]
        assert shape(plain.request.DESCRIPTOR) == shape(parts.request.DESCRIPTOR)
        assert shape(plain.reply.DESCRIPTOR) == shape(parts.reply.DESCRIPTOR)
    assert set(STREAMED.values()) == {m.name for m in methods.values() if m.server_streaming} - {"GetContainerEvents"}


def shape(message: Any) -> list[tuple[int, str, bool]]:
    return [(field.number, type_of(field), field.is_repeated) for field in message.fields]


def test_every_rpc_has_an_operation_type_for_metrics() -> None:
    assert OPERATIONS.keys() == {rpc for rpcs in TABLE["services"].values() for rpc in rpcs}
