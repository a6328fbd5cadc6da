"""gRPC status codes as `shared.errors`, with the peer's own words.

The text is what users of Kubernetes know from events: `rpc error: code = NotFound desc = ...` (Go's status text).
"""

import re
from typing import Final

import grpc
import grpc.aio

from shared.errors import Conflict, Invalid, NotFound, OctoletError, Transient, Unsupported


class RpcError(OctoletError):
    """Mixed into each error that came as a gRPC status. `code` is Go's name of it, `details` the peer's bare words."""

    def __init__(self, code: str, details: str, text: str | None = None) -> None:
        super().__init__(f"rpc error: code = {code} desc = {details}" if text is None else text)
        self.code = code
        self.details = details


class RpcNotFound(RpcError, NotFound):
    """NOT_FOUND."""


class RpcConflict(RpcError, Conflict):
    """ALREADY_EXISTS, FAILED_PRECONDITION: the object is in another state than the caller thought."""


class RpcUnsupported(RpcError, Unsupported):
    """UNIMPLEMENTED."""


class RpcInvalid(RpcError, Invalid):
    """The peer says that the request itself is wrong, or not allowed."""


class RpcTransient(RpcError, Transient):
    """Everything else. UNKNOWN is among them: runtimes answer it for whatever failed on their side."""


_CANNOT_DIAL: Final = re.compile(
    r"failed to connect to all addresses.*addr: unix:(?P<path>\S+) error: (?P<why>.+)", re.DOTALL
)

_CLASSES: dict[grpc.StatusCode, type[RpcError]] = {
    grpc.StatusCode.NOT_FOUND: RpcNotFound,
    grpc.StatusCode.ALREADY_EXISTS: RpcConflict,
    grpc.StatusCode.FAILED_PRECONDITION: RpcConflict,
    grpc.StatusCode.UNIMPLEMENTED: RpcUnsupported,
    grpc.StatusCode.INVALID_ARGUMENT: RpcInvalid,
    grpc.StatusCode.OUT_OF_RANGE: RpcInvalid,
    grpc.StatusCode.PERMISSION_DENIED: RpcInvalid,
    grpc.StatusCode.UNAUTHENTICATED: RpcInvalid,
}


def code_name(code: grpc.StatusCode) -> str:
    """Go's name of a status code: `NotFound`, `Canceled`, `OK`."""
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "OK" if code is grpc.StatusCode.OK else code.name.title().replace("_", "")


def from_status(code: grpc.StatusCode, details: str) -> RpcError:
    """The error for that status."""
    if code is grpc.StatusCode.DEADLINE_EXCEEDED and "Deadline Exceeded" in details:
        details = "context deadline exceeded"  # the library's words for our own deadline; these are Go's
    if dial := _CANNOT_DIAL.match(details):  # in the words of Go's library, which end with what is wrong
        where, why = dial["path"], dial["why"].lower()
        details = f'connection error: desc = "transport: Error while dialing: dial unix {where}: connect: {why}"'
    return _CLASSES.get(code, RpcTransient)(code_name(code), details)


def translate(error: grpc.aio.AioRpcError) -> RpcError:
    """The error to raise from a failed call of ours."""
    return from_status(error.code(), error.details() or "")
