"""One CRI service over one channel: deadlines, translated errors, observed calls."""

import math
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from shared.cri import api
from shared.rpc.channel import open_channel, socket_path
from shared.rpc.errors import RpcError, RpcUnsupported, translate
from shared.rpc.methods import service_methods

Reply = TypeVar("Reply", bound=Message)
Observer = Callable[[str, float, RpcError | None], None]
"""Told of each call that ended: rpc name, seconds, error (see `shared.cri.metrics`)."""

STREAMED = {
    "ListPodSandbox": "StreamPodSandboxes",
    "ListContainers": "StreamContainers",
    "ListContainerStats": "StreamContainerStats",
    "ListPodSandboxStats": "StreamPodSandboxStats",
    "ListPodSandboxMetrics": "StreamPodSandboxMetrics",
    "ListImages": "StreamImages",
}
"""Each listing and the rpc that sends the same in parts. The messages of both are alike on the wire: a filter goes
out, field 1 of each answer is the list."""

_METHODS = {name: service_methods(api.DESCRIPTOR, name) for name in ("RuntimeService", "ImageService")}


def ignore_call(rpc: str, seconds: float, error: RpcError | None) -> None:
    """An observer that does nothing."""


class ServiceCalls:
    """`RuntimeService` or `ImageService` at one endpoint. Opens its channel and dials at the first call."""

    def __init__(self, service: str, endpoint: str, observer: Observer, *, stream_lists: bool = False) -> None:
        socket_path(endpoint)  # raises Invalid here, not at the first call
        self._service = service
        self._endpoint = endpoint
        self._observer = observer
        self._stream_lists = stream_lists
        self._channel: grpc.aio.Channel | None = None
        self._closed = False
        self._unary: dict[str, Any] = {}
        self._streams: dict[str, Any] = {}

    async def close(self) -> None:
        """End all calls that are running and close the socket."""
        self._closed = True
        if self._channel is not None:
            await self._channel.close()

    def _open(self) -> grpc.aio.Channel:
        """The channel, made when it is needed: gRPC's threads and buffers are 3 MiB in each process."""
        if self._channel is None:
            if self._closed:
                raise RuntimeError(f"{self._service} at {self._endpoint}: closed")
            self._channel = open_channel(self._endpoint)
        return self._channel

    def _unary_call(self, rpc: str) -> Any:
        if rpc not in self._unary:
            method = _METHODS[self._service][rpc]
            self._unary[rpc] = self._open().unary_unary(
                method.path,
                request_serializer=method.request.SerializeToString,
                response_deserializer=method.reply.FromString,
            )
        return self._unary[rpc]

    def _stream_call(self, rpc: str) -> Any:
        """Of a streaming rpc, or of the one that sends a listing in parts."""
        if rpc not in self._streams:
            methods = _METHODS[self._service]
            method = methods[rpc]
            self._streams[rpc] = self._open().unary_stream(
                methods[STREAMED.get(rpc, rpc)].path,
                request_serializer=method.request.SerializeToString,
                response_deserializer=method.reply.FromString,
            )
        return self._streams[rpc]

    async def unary(self, rpc: str, request: Message, reply: type[Reply], timeout_s: float) -> Reply:
        """The reply to one call. `timeout_s` may be infinite. Raises the classes of `shared.rpc.errors`."""
        started = time.monotonic()
        failure: RpcError | None = None
        try:
            answer = await self._unary_call(rpc)(request, timeout=None if math.isinf(timeout_s) else timeout_s)
            assert isinstance(answer, reply)
            return answer
        except grpc.aio.AioRpcError as error:
            failure = translate(error)
            raise failure from error
        finally:
            self._observer(rpc, time.monotonic() - started, failure)

    async def stream(
        self, rpc: str, request: Message, reply: type[Reply], timeout_s: float
    ) -> AsyncGenerator[Reply, None]:
        """Each message of a reply in parts. Raises like `unary`, also after the first part."""
        started = time.monotonic()
        failure: RpcError | None = None
        call = self._stream_call(rpc)(request, timeout=None if math.isinf(timeout_s) else timeout_s)
        try:
            async for part in call:
                assert isinstance(part, reply)
                yield part
        except grpc.aio.AioRpcError as error:
            failure = translate(error)
            raise failure from error
        finally:
            call.cancel()
            self._observer(rpc, time.monotonic() - started, failure)

    async def listing(self, rpc: str, request: Message, reply: type[Reply], timeout_s: float) -> Reply:
        """A listing, in parts where asked for and known to the runtime.

        As upstream: only UNIMPLEMENTED turns this client back to the plain rpc, for good; any other failure in the
        middle fails the call and drops what had come.
        """
        if self._stream_lists:
            whole = reply()
            try:
                async for part in self.stream(rpc, request, reply, timeout_s):
                    whole.MergeFrom(part)
                return whole
            except RpcUnsupported:
                self._stream_lists = False
        return await self.unary(rpc, request, reply, timeout_s)
