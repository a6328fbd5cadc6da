"""Texts in Go's form, and how a reserved name is recognised."""

import pytest

from services.pod_sync.runtime.go_text import listed, quoted
from services.pod_sync.runtime.reserved import is_name_reserved
from shared.rpc.errors import RpcConflict, RpcTransient


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", '""'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("a\tb\nc\r", '"a\\tb\\nc\\r"'),
        ("\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'),
        ("é漢", '"é漢"'),
        ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
    ],
)
def test_text_is_quoted_as_go_quotes_it(text: str, result: str) -> None:
    assert quoted(text) == result


def test_a_list_is_printed_as_go_prints_it() -> None:
    assert listed(["/bin/sh", "-c", "x y"]) == "[/bin/sh -c x y]"
    assert listed([]) == "[]"


@pytest.mark.parametrize(
    ("error", "reserved"),
    [
        (RpcTransient("Unknown", 'failed to reserve sandbox name "a": name "a" is reserved for "1"'), True),
        (RpcTransient("Unknown", 'the container name "a" is already in use by 1. You have to remove it'), True),
        (RpcConflict("AlreadyExists", "exists"), True),
        (RpcTransient("Unknown", "failed to create shim"), False),
        (RpcTransient("Unavailable", "connection refused"), False),
    ],
)
def test_a_reserved_name_is_told_from_other_failures(error: RpcTransient, reserved: bool) -> None:
    assert is_name_reserved(error) is reserved
