"""One CRI service over one channel: deadlines, translated errors, observed calls."""

import math
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from shared.cri import api
from shared.rpc.channel import open_channel
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


def ignore_call(rpc: str, seconds: float, error: RpcError | None) -> None:
    """An observer that does nothing."""


class ServiceCalls:
    """`RuntimeService` or `ImageService` at one endpoint. Dials at the first call. Needs a running loop."""

    def __init__(self, service: str, endpoint: str, observer: Observer, *, stream_lists: bool = False) -> None:
        self._observer = observer
        self._stream_lists = stream_lists
        self._channel = open_channel(endpoint)
        methods = service_methods(api.DESCRIPTOR, service)
        self._unary: dict[str, Any] = {}
        self._streams: dict[str, Any] = {}
        for name, method in methods.items():
            make = self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
            calls = self._streams if method.server_streaming else self._unary
            calls[name] = make(
                method.path,
                request_serializer=method.request.SerializeToString,
                response_deserializer=method.reply.FromString,
            )
        for listing, streamed in STREAMED.items():
            if listing in methods:
                self._streams[listing] = self._channel.unary_stream(
                    methods[streamed].path,
                    request_serializer=methods[listing].request.SerializeToString,
                    response_deserializer=methods[listing].reply.FromString,
                )

    async def close(self) -> None:
        """End all calls that are running and close the socket."""
        await self._channel.close()

    async def unary(self, rpc: str, request: Message, reply: type[Reply], timeout_s: float) -> Reply:
        """The reply to one call. `timeout_s` may be infinite. Raises the classes of `shared.rpc.errors`."""
        started = time.monotonic()
        failure: RpcError | None = None
        try:
            answer = await self._unary[rpc](request, timeout=None if math.isinf(timeout_s) else timeout_s)
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
        call = self._streams[rpc](request, timeout=None if math.isinf(timeout_s) else timeout_s)
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
