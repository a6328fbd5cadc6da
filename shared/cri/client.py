"""A client of the container runtime: every rpc of CRI as a typed coroutine.

    async with RuntimeClient("unix:///run/containerd/containerd.sock") as cri:
        pods = await cri.list_pod_sandbox(api.ListPodSandboxRequest())

Each method takes and returns messages of `shared.cri.api`. Deadlines are upstream's (`cri-client`): the request
timeout, twice that for RunPodSandbox, the grace or command time added for StopContainer and ExecSync, none for
PullImage and the event stream. `timeout_s` replaces a call's deadline; `math.inf` is none.

Raises `shared.errors` classes that are `shared.rpc.errors.RpcError` too where there is a gRPC status: NotFound,
Conflict, Unsupported, Invalid, and Transient for the rest (runtime away, deadline, its own failures). Their text is
`rpc error: code = ... desc = ...` with the runtime's words. A reply that lacks what it must hold is Transient.
"""

from types import TracebackType
from typing import Self

from shared.cri.calls import Observer, ServiceCalls, ignore_call
from shared.cri.deadlines import REQUEST_TIMEOUT_S
from shared.cri.image_service import ImageService
from shared.cri.runtime_service import CommandTimedOut, RuntimeService

__all__ = ["REQUEST_TIMEOUT_S", "CommandTimedOut", "RuntimeClient"]


class RuntimeClient(RuntimeService, ImageService):
    """Pods, containers and images of one runtime. Use as `async with`; connects at the first call.

    `image_endpoint` is where ImageService lies when not at `endpoint`. With `stream_lists` the listings are fetched
    in parts (feature gate CRIListStreaming) from a runtime that can, which lifts the size limit of one message.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        image_endpoint: str = "",
        timeout_s: float = REQUEST_TIMEOUT_S,
        observer: Observer = ignore_call,
        stream_lists: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self.image_endpoint = image_endpoint or endpoint
        self._timeout_s = timeout_s
        self._observer = observer
        self._stream_lists = stream_lists

    async def __aenter__(self) -> Self:
        def calls(service: str, endpoint: str) -> ServiceCalls:
            return ServiceCalls(service, endpoint, self._observer, stream_lists=self._stream_lists)

        self._runtime = calls("RuntimeService", self.endpoint)
        self._image = calls("ImageService", self.image_endpoint)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runtime.close()
        await self._image.close()
