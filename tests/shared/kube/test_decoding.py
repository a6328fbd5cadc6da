import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import Invalid
from shared.kube.decoding import decode_json
from shared.kube.types import Pod, PodList, PodStatus


def test_an_object_is_read_as_it_was_written() -> None:
    assert decode_json(b'{"metadata":{"name":"web"},"other":1}', Pod).metadata.name == "web"


def test_nulls_of_go_programs_mean_absent() -> None:
    pods = decode_json(b'{"items":[{"metadata":{"name":"web","labels":null},"spec":{"containers":null}}]}', PodList)
    assert pods.items[0].metadata.name == "web"
    assert decode_json(b'{"items":null,"metadata":{"resourceVersion":"1"}}', PodList).items == []
    assert decode_json(b'{"conditions":null,"phase":null}', PodStatus) == PodStatus()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"metadata":{"name":3}}', "decode Pod: metadata.name: expected a string, got the number 3"),
        (b"[]", "decode Pod: the document: expected an object, got a list"),
        (b"{", "decode Pod: Input data was truncated"),
        (b"", "decode Pod: Input data was truncated"),
    ],
)
def test_what_is_no_such_object_is_refused_by_field(data: bytes, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        decode_json(data, Pod)
    assert str(caught.value) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_an_object_or_invalid(data: bytes) -> None:
    with pytest.raises(Invalid):
        decode_json(b"\x00" + data, Pod)
    with pytest.raises(Invalid):
        decode_json(b'{"spec":' * 2000 + data, Pod)
