"""All messages: named once, owned by their module, asked only downhill, and the same after a journey over the bus."""

import inspect
from typing import Any

import msgpack  # type: ignore[import-untyped]
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect as shapes

from shared.messages.base import ANY_OWNER, Message, Request, Service, Table, decode, encode
from shared.messages.registry import MODULES, RANK, REQUESTS, TABLES

DECLARED = [
    (owner, value)
    for owner, module in MODULES.items()
    for value in vars(module).values()
    if isinstance(value, Table | Request)
]
MESSAGES = sorted(
    {
        value
        for module in MODULES.values()
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Message) and value.__module__ == module.__name__
    },
    key=lambda kind: (kind.__module__, kind.__name__),
)
DEPTH = 3
"""below this, optional fields keep their defaults: a Pod is deep"""


def values_of(shape: shapes.Type, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of one declared shape."""
    match shape:
        case shapes.Metadata(type=inner):
            return values_of(inner, depth)
        case shapes.BoolType():
            return st.booleans()
        case shapes.IntType():
            return st.integers(min_value=-(2**63), max_value=2**63 - 1)
        case shapes.FloatType():
            return st.floats(allow_nan=False)
        case shapes.StrType():
            return st.text(max_size=8)
        case shapes.BytesType():
            return st.binary(max_size=8)
        case shapes.NoneType():
            return st.none()
        case shapes.EnumType(cls=cls):
            return st.sampled_from(cls)
        case shapes.LiteralType(values=values):
            return st.sampled_from(values)
        case shapes.ListType(item_type=item) | shapes.CollectionType(item_type=item):
            return st.lists(values_of(item, depth + 1), max_size=2)
        case shapes.VarTupleType(item_type=item):
            return st.lists(values_of(item, depth + 1), max_size=2).map(tuple)
        case shapes.TupleType(item_types=items):
            return st.tuples(*(values_of(item, depth + 1) for item in items))
        case shapes.DictType(key_type=key, value_type=value):
            return st.dictionaries(values_of(key, depth + 1), values_of(value, depth + 1), max_size=2)
        case shapes.UnionType(types=types):
            return st.one_of([values_of(one, depth + 1) for one in types])
        case shapes.StructType(cls=cls):
            return st.deferred(lambda: structs_of(cls, depth + 1))
        case shapes.AnyType():
            return st.dictionaries(st.text(max_size=3), st.integers(0, 9) | st.text(max_size=3), max_size=2)
    raise NotImplementedError(shape)


def structs_of(kind: type[msgspec.Struct], depth: int = 0) -> st.SearchStrategy[Any]:
    """Structs of that class, with some of their optional fields set."""
    info = shapes.type_info(kind)
    assert isinstance(info, shapes.StructType)
    required = {field.name: values_of(field.type, depth) for field in info.fields if field.required}
    optional = (
        {}
        if depth >= DEPTH
        else {field.name: values_of(field.type, depth) for field in info.fields if not field.required}
    )
    return st.fixed_dictionaries(required, optional=optional).map(lambda fields: kind(**fields))


def test_every_name_is_used_once() -> None:
    names = [value.name for _, value in DECLARED]
    assert sorted(names) == sorted({*TABLES, *REQUESTS})
    assert len(names) == len(set(names))


def test_every_table_and_request_is_declared_by_its_owner() -> None:
    for owner, value in DECLARED:
        assert value.owner == (ANY_OWNER if owner == "daemon" else owner), value.name


def test_every_daemon_has_a_module_and_a_rank() -> None:
    assert set(MODULES) == {*Service, "daemon"}
    assert set(RANK) == set(Service)


def test_requests_go_from_a_greater_rank_to_a_smaller_one_so_that_no_two_daemons_can_wait_for_each_other() -> None:
    for request in REQUESTS.values():
        assert request.callers, f"{request.name} has no caller"
        for caller in request.callers:
            owners = set(Service) - {caller} if request.owner == ANY_OWNER else {request.owner}
            for owner in owners:
                assert RANK[caller] > RANK[owner], f"{caller} may not ask {owner} ({request.name})"


def test_every_declared_message_is_a_message_of_its_own_module_or_of_the_base() -> None:
    for _, value in DECLARED:
        kinds = [value.value] if isinstance(value, Table) else [value.request, value.reply]
        for kind in kinds:
            assert issubclass(kind, Message), value.name


def test_secret_fields_are_fields_of_their_reply() -> None:
    for request in REQUESTS.values():
        names = {field.name for field in msgspec.structs.fields(request.reply)}
        assert request.secret_fields <= names, request.name


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
def test_a_message_is_the_same_after_its_journey_and_newer_fields_are_ignored(kind: type[Message]) -> None:
    @given(message=structs_of(kind))
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def journey(message: Message) -> None:
        sent = encode(message)
        assert decode(sent, kind) == message
        plain = msgpack.unpackb(sent, strict_map_key=False)
        assert decode(msgpack.packb(plain | {"field_of_a_later_version": [1, {"a": None}]}), kind) == message

    journey()


def test_messages_are_frozen_and_tolerate_unknown_fields() -> None:
    for kind in MESSAGES:
        assert kind.__struct_config__.frozen, kind
        assert not kind.__struct_config__.forbid_unknown_fields, kind
