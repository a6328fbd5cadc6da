"""Lists images, watches what is used of them, and removes what `core` says."""

import asyncio
import time
from collections.abc import Iterable
from typing import Final

from structlog.typing import FilteringBoundLogger

from services.eviction.events import Events
from services.eviction.filesystems import read_filesystem
from services.eviction.images import core
from services.eviction.images.model import Filesystem, Image, Policy, Record
from services.eviction.metrics import EvictionMetrics
from services.eviction.pressure.observe import image_path
from shared.bus import OwnedTable, TableView
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import NotFound, OctoletError, Transient
from shared.messages.eviction import RemovedImage
from shared.messages.pod_sync import PodEntry

MAX_REMOVED_ROWS: Final = 500
"""rows kept in `removed_images`; the oldest make room"""
POD_UID_LABEL: Final = "io.kubernetes.pod.uid"


class ImageCollector:
    """One collection at a time."""

    def __init__(
        self,
        cri: RuntimeClient,
        pods: TableView[PodEntry],
        table: OwnedTable[RemovedImage],
        policy: Policy,
        *,
        observers: tuple[Events, EvictionMetrics, FilteringBoundLogger],
    ) -> None:
        self._cri = cri
        self._pods = pods
        self._table = table
        self._policy = policy
        self._events, self._metrics, self._log = observers
        self._records: dict[str, Record] = {}
        self._started_mono = time.monotonic()
        self._lock = asyncio.Lock()

    async def look(self) -> None:
        """Only list and remember: from now on the age of images counts. Raises OctoletError."""
        async with self._lock:
            await self._observe()

    async def collect(self) -> None:
        """The collection for age, then for space. Raises OctoletError when it could not do what it should."""
        async with self._lock:
            now, used = await self._observe()
            up_s = now - self._started_mono
            free = core.candidates(self._records, used)
            aged = core.plan_aged(free, self._policy, now, up_s=up_s)
            errors = await self._remove(aged, "age")
            filesystem = await self._filesystem()
            if filesystem.capacity_bytes == 0:
                self._events.node_warning("InvalidDiskCapacity", "invalid capacity 0 on image filesystem")
                raise Transient("invalid capacity 0 on image filesystem")
            wanted = core.bytes_to_free(filesystem, self._policy)
            if wanted > 0:
                await self._free(free, wanted, filesystem, now)
            if errors:
                raise Transient(f"collect images: {'; '.join(errors)}")

    async def collect_all(self) -> None:
        """Disk is short: every image that nothing uses and that is old enough. Raises OctoletError."""
        async with self._lock:
            now, used = await self._observe()
            free = core.candidates(self._records, used)
            errors = await self._remove(core.plan_space(free, self._policy, now, wanted_bytes=None), "space")
            if errors:
                raise Transient(f"collect images: {'; '.join(errors)}")

    async def _free(self, free: list[Record], wanted: int, filesystem: Filesystem, now: float) -> None:
        left = [r for r in free if r.image.id in self._records]
        plan = core.plan_space(left, self._policy, now, wanted_bytes=wanted)
        errors = await self._remove(plan, "space")
        freed = sum(r.image.size_bytes for r in plan if r.image.id not in self._records)
        if freed < wanted:
            message = core.not_enough_message(filesystem, freed)
            self._events.node_warning("FreeDiskSpaceFailed", message)
            raise Transient(message)
        if errors:
            raise Transient(f"collect images: {'; '.join(errors)}")

    async def _observe(self) -> tuple[float, frozenset[str]]:
        """(when, what is used): ids and names that containers and image volumes refer to."""
        listed, containers = await asyncio.gather(
            self._cri.list_images(api.ListImagesRequest()), self._cri.list_containers(api.ListContainersRequest())
        )
        used = frozenset(
            {*used_by_containers(containers.containers), *await self._used_by_volumes(containers.containers)}
        )
        now = time.monotonic()
        images = [Image(i.id, i.size, pinned=i.pinned, names=(*i.repo_tags, *i.repo_digests)) for i in listed.images]
        self._records = core.observe(self._records, images, used, now)
        return now, used

    async def _used_by_volumes(self, containers: Iterable[api.Container]) -> set[str]:
        """Images that are mounted as volumes, which only the status of a container tells. Raises OctoletError.

        A pod that names one counts from when it is known, so that an image that was pulled for it stays.
        """
        with_images = {uid: e for uid, e in self._pods.items() if any(v.image is not None for v in e.pod.spec.volumes)}
        found = {
            v.image.reference
            for e in with_images.values()
            if e.may_run
            for v in e.pod.spec.volumes
            if v.image is not None and v.image.reference
        }
        for container in containers:
            uid = container.labels.get(POD_UID_LABEL, "")
            if uid not in with_images and uid in self._pods:
                continue
            try:
                reply = await self._cri.container_status(api.ContainerStatusRequest(container_id=container.id))
            except NotFound:
                continue
            found |= {m.image.image for m in reply.status.mounts if m.image.image}
        return found

    async def _filesystem(self) -> Filesystem:
        path = await image_path(self._cri)
        found = await asyncio.to_thread(read_filesystem, path)
        if found is None:
            raise Transient(f"read image file system {path}: it cannot be read")
        return Filesystem(found.capacity_bytes, found.available_bytes)

    async def _remove(self, plan: Iterable[Record], reason: str) -> list[str]:
        """One after the other; a failure does not keep the next from being removed. Returns what failed."""
        errors = []
        for record in plan:
            image = record.image
            request = api.RemoveImageRequest(image=api.ImageSpec(image=image.id))
            try:
                await self._cri.remove_image(request)
            except NotFound:
                pass
            except OctoletError as error:
                errors.append(f"remove image {image.id}: {error}")
                continue
            self._records.pop(image.id, None)
            self._metrics.images_removed.labels(reason).inc()
            self._log.info(
                "image.removed", image=image.id, names=image.names[:2], size_bytes=image.size_bytes, reason=reason
            )
            self._table.put(image.id, RemovedImage(at=time.time(), size_bytes=image.size_bytes))
            while len(self._table) > MAX_REMOVED_ROWS:
                self._table.delete(next(iter(self._table.keys())))
        return errors


def used_by_containers(containers: Iterable[api.Container]) -> set[str]:
    """Ids and references of the images of all containers, running or dead."""
    return {name for c in containers for name in (c.image_id, c.image_ref, c.image.image) if name}
