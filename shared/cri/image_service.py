"""The 6 rpcs of ImageService as typed coroutines. What each does is said in `protos/runtime/v1/api.proto`."""

import math
from collections.abc import AsyncGenerator

from shared.cri import api, checks
from shared.cri.calls import ServiceCalls
from shared.cri.deadlines import Deadlines
from shared.rpc.errors import RpcError, RpcTransient


class ImageService(Deadlines):
    """Images. Docstrings only where a method does more than its rpc."""

    _image: ServiceCalls

    async def list_images(
        self, request: api.ListImagesRequest, *, timeout_s: float | None = None
    ) -> api.ListImagesResponse:
        return await self._image.listing("ListImages", request, api.ListImagesResponse, self._deadline(timeout_s))

    def stream_images(
        self, request: api.StreamImagesRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[api.StreamImagesResponse, None]:
        return self._image.stream("StreamImages", request, api.StreamImagesResponse, self._deadline(timeout_s))

    async def image_status(
        self, request: api.ImageStatusRequest, *, timeout_s: float | None = None
    ) -> api.ImageStatusResponse:
        """One image; `image` is absent in the reply when it is not on the node."""
        deadline = self._deadline(timeout_s)
        reply = await self._image.unary("ImageStatus", request, api.ImageStatusResponse, deadline)
        return checks.checked_image(reply, request.image.image)

    async def pull_image(
        self, request: api.PullImageRequest, *, timeout_s: float | None = None
    ) -> api.PullImageResponse:
        """Fetches an image, without a deadline: the runtime watches the progress.

        As upstream, a failure of no other kind is told in the runtime's bare words: they end up in the pod's status.
        """
        deadline = math.inf if timeout_s is None else timeout_s
        try:
            return await self._image.unary("PullImage", request, api.PullImageResponse, deadline)
        except RpcError as error:
            if error.code != "Unknown":
                raise
            raise RpcTransient(error.code, error.details, text=error.details) from error

    async def remove_image(
        self, request: api.RemoveImageRequest, *, timeout_s: float | None = None
    ) -> api.RemoveImageResponse:
        return await self._image.unary("RemoveImage", request, api.RemoveImageResponse, self._deadline(timeout_s))

    async def image_fs_info(
        self, request: api.ImageFsInfoRequest, *, timeout_s: float | None = None
    ) -> api.ImageFsInfoResponse:
        return await self._image.unary("ImageFsInfo", request, api.ImageFsInfoResponse, self._deadline(timeout_s))
