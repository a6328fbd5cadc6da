"""What of a request or reply may be shown to people."""

from typing import Any, Final

import msgspec

from shared.messages.base import Message, Request

HIDDEN: Final = "(hidden)"


def hide(value: Any, secret_fields: frozenset[str]) -> Any:
    """The same value with every field of those names, at any depth, replaced by `HIDDEN`."""
    if isinstance(value, dict):
        return {k: HIDDEN if k in secret_fields else hide(v, secret_fields) for k, v in value.items()}
    if isinstance(value, list):
        return [hide(item, secret_fields) for item in value]
    return value


def shown(message: Message, request: Request[Any, Any]) -> bytes:
    """msgpack of a request or reply without what is marked secret; this alone is ever published."""
    plain = msgspec.to_builtins(message, builtin_types=(bytes, bytearray))
    return msgspec.msgpack.encode(hide(plain, request.secret_fields))
