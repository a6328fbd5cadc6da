"""API objects from JSON that an API server, or somebody else, has written.

The fast way is msgspec alone. Go programs write null for an empty list or map where a field is not marked as omitted when
empty; msgspec refuses that, so such a body is read a second time with nulls taken as absent.
"""

from typing import TypeVar

import msgspec

from shared.errors import Invalid
from shared.kube.shape import WrongShape, build
from shared.kube.types import ApiObject

T = TypeVar("T", bound=ApiObject)


def decode_json(data: bytes, kind: type[T]) -> T:
    """The object. Unknown fields are ignored. Raises `Invalid` that names the kind and, where there is one, the field."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        pass
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid(f"decode {kind.__name__}: {error}") from error
    try:
        return build(msgspec.json.decode(data), kind)[0]
    except WrongShape as error:
        raise Invalid(f"decode {kind.__name__}: {error}") from error
