"""A container runtime for whole nodes: the in-memory one, served from a thread of the test."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared.cri import api
from tests.shared.cri.fake_runtime import FakeRuntime


class NodeRuntime(FakeRuntime):
    """With the images that a node asks about: those that were pulled."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._images: dict[str, api.Image] = {}

    async def pull_image(self, request: api.PullImageRequest, context: Any) -> api.PullImageResponse:
        reply = await super().pull_image(request, context)
        self._images[request.image.image] = api.Image(
            id=reply.image_ref, repo_tags=[request.image.image], size=1000, spec=request.image
        )
        return reply

    async def image_status(self, request: api.ImageStatusRequest, context: Any) -> api.ImageStatusResponse:
        found = [i for tag, i in self._images.items() if request.image.image in (tag, i.id)]
        return api.ImageStatusResponse(image=found[0] if found else None)

    async def list_images(self, request: api.ListImagesRequest, context: Any) -> api.ListImagesResponse:
        return api.ListImagesResponse(images=self._images.values())

    async def image_fs_info(self, request: api.ImageFsInfoRequest, context: Any) -> api.ImageFsInfoResponse:
        usage = api.FilesystemUsage(
            timestamp=time.time_ns(),
            fs_id=api.FilesystemIdentifier(mountpoint=str(self._folder)),
            used_bytes=api.UInt64Value(value=1000),
            inodes_used=api.UInt64Value(value=1),
        )
        return api.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])


@contextmanager
def served_runtime(socket: Path) -> Iterator[FakeRuntime]:
    """A runtime at that socket until the block ends. Its state may be read from the test's own thread."""
    runtime, loop = NodeRuntime(socket.parent), asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with runtime.served(socket):
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="runtime")
    thread.start()
    try:
        assert started.wait(10), "the in-memory runtime did not start"
        yield runtime
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()
