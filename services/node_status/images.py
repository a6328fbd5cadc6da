"""The runtime's images, listed now and then for `status.images`."""

import asyncio
from collections.abc import Callable
from typing import Final

from services.node_status.node.model import Image
from services.node_status.settings import NodeStatusSettings
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import OctoletError
from shared.service import Context

RETRY_S: Final = 2.0
"""after a listing that failed: a runtime that is back should not be called away for a whole period"""


class ImageList:
    """`latest` is what the last good listing saw; a runtime that is away leaves it as it was."""

    def __init__(self, ctx: Context[NodeStatusSettings], on_change: Callable[[], None]) -> None:
        self.ctx = ctx
        self.on_change = on_change
        self.latest: tuple[Image, ...] = ()

    async def keep(self) -> None:
        """Lists every `image_list_period_s` until cancelled."""
        settings = self.ctx.settings
        async with RuntimeClient(settings.image_service_endpoint or settings.runtime_endpoint) as cri:
            while True:
                is_listed = await self._list(cri)
                await asyncio.sleep(settings.image_list_period_s if is_listed else RETRY_S)

    async def _list(self, cri: RuntimeClient) -> bool:
        try:
            answer = await cri.list_images(api.ListImagesRequest())
        except OctoletError as error:
            self.ctx.degraded("images", f"list images: {error}")
            return False
        self.ctx.degraded("images", None)
        seen = tuple(Image(id=i.id, names=(*i.repo_digests, *i.repo_tags), size_bytes=i.size) for i in answer.images)
        if set(seen) != set(self.latest):
            self.latest = seen
            self.on_change()
        return True
