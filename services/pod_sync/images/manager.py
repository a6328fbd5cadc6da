"""Makes sure that an image is on the node: looks, pulls, waits its turn, remembers failures."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace

from services.pod_sync.images import model
from services.pod_sync.images.backoff import PullBackoff, backoff_key
from services.pod_sync.images.model import EnsuredImage, ImageRequest, ImageService, PullSettings
from services.pod_sync.images.names import apply_default_tag
from services.pod_sync.images.pull import (
    PULL_LIMIT_TEXT,
    joined_errors,
    present_message,
    pulled_message,
    waiting_cause,
)
from services.pod_sync.images.rate import PullRate
from services.pod_sync.runtime.model import CREATE_CONTAINER_CONFIG, NORMAL, WARNING, EventSink, StartError
from shared.cri import api
from shared.errors import Invalid, NotFound, OctoletError


class ImageManager:
    """See the package's docstring. One per process; `now` is monotonic seconds."""

    def __init__(self, cri: ImageService, settings: PullSettings, *, now: Callable[[], float] = time.monotonic) -> None:
        self._cri = cri
        self._now = now
        at_a_time = settings.pulls_at_a_time
        self._turns = asyncio.Semaphore(at_a_time) if at_a_time is not None else None
        self._backoff = PullBackoff()
        self._rate = PullRate.full(per_second=settings.registry_qps, burst=settings.registry_burst, now=now())

    async def ensure(self, request: ImageRequest, event: EventSink) -> EnsuredImage:
        """The image, pulled if the policy asks for it. Emits the events of upstream's image manager.

        Raises StartError with the container's waiting reason and message. Cancelling it ends a pull that is under way.
        """
        spec = self._spec(request, event)
        if request.policy in (model.IF_NOT_PRESENT, model.NEVER):
            present = await self._look(request, spec, event)
            if present is not None:
                event(request.container, NORMAL, "Pulled", present_message(request.image))
                return present
        if request.policy == model.NEVER:
            text = f'Container image "{request.image}" is not present with pull policy of Never'
            event(request.container, WARNING, "ErrImageNeverPull", text)
            raise StartError(model.NEVER_PULL, text)
        return await self._pull(request, spec, event)

    def forget_expired(self) -> None:
        """Drop back-offs that no longer mean anything; call it now and then."""
        self._backoff = self._backoff.without_expired(self._now())

    def _spec(self, request: ImageRequest, event: EventSink) -> api.ImageSpec:
        try:
            image = apply_default_tag(request.image)
        except Invalid as error:
            text = f'Failed to apply default image tag "{request.image}": {error}'
            event(request.container, WARNING, "InspectFailed", text)
            raise StartError(model.INVALID_NAME, text) from error
        return api.ImageSpec(image=image, annotations=request.pod.metadata.annotations)

    async def _look(self, request: ImageRequest, spec: api.ImageSpec, event: EventSink) -> EnsuredImage | None:
        try:
            return await self._inspect(spec)
        except OctoletError as error:
            # The quoted name is empty: upstream prints a result that it does not have yet, and users know the text so.
            text = f'Failed to inspect image "": {error}'
            event(request.container, WARNING, "InspectFailed", text)
            raise StartError(model.INSPECT, text) from error

    async def _inspect(self, spec: api.ImageSpec) -> EnsuredImage | None:
        """What the runtime has under that name, None when it has nothing."""
        try:
            reply = await self._cri.image_status(api.ImageStatusRequest(image=spec))
        except NotFound:
            return None
        if not reply.HasField("image"):
            return None
        image = reply.image
        if image.HasField("uid"):
            return EnsuredImage(image.id, image.size, uid=image.uid.value)
        if image.username:
            return EnsuredImage(image.id, image.size, uid=None, username=image.username)
        return EnsuredImage(image.id, image.size)

    async def _pull(self, request: ImageRequest, spec: api.ImageSpec, event: EventSink) -> EnsuredImage:
        key = backoff_key(request.pod.metadata.uid, request.image)
        waiting = self._backoff.waiting(key, self._now())
        if waiting is not None:
            text = f'Back-off pulling image "{request.image}"'
            event(request.container, NORMAL, "BackOff", text)
            raise StartError(model.BACK_OFF, f"{text}: {waiting.reason}: {waiting.message}")
        event(request.container, NORMAL, "Pulling", f'Pulling image "{request.image}"')
        queued = self._now()
        try:
            async with self._turn():
                started = self._now()
                ref = await self._pull_with_any(request, spec)
                ended = self._now()
        except OctoletError as error:
            event(request.container, WARNING, "Failed", f'Failed to pull image "{request.image}": {error}')
            reason, message = waiting_cause(request.image, str(error))
            self._backoff = self._backoff.failed(key, self._now(), reason=reason, message=message)
            raise StartError(reason, message) from error
        image, trouble = await self._inspect_pulled(ref, spec)
        text = pulled_message(
            request.image, pull_s=ended - started, total_s=ended - queued, size_bytes=image.size_bytes
        )
        event(request.container, NORMAL, "Pulled", text)
        if trouble is not None:
            raise StartError(CREATE_CONTAINER_CONFIG, str(trouble)) from trouble
        return image

    def _turn(self) -> AbstractAsyncContextManager[None]:
        return self._turns if self._turns is not None else nullcontext()

    async def _pull_with_any(self, request: ImageRequest, spec: api.ImageSpec) -> str:
        """Try each credential in turn, none at all when there is none. Raises OctoletError with all their texts."""
        self._rate, allowed = self._rate.take(self._now())
        if not allowed:
            raise OctoletError(PULL_LIMIT_TEXT)
        errors: list[OctoletError] = []
        for auth in request.credentials or (None,):
            call = api.PullImageRequest(image=spec, auth=auth, sandbox_config=request.sandbox_config)
            try:
                return (await self._cri.pull_image(call)).image_ref
            except OctoletError as error:
                errors.append(error)
        raise OctoletError(joined_errors([str(error) for error in errors])) from errors[-1]

    async def _inspect_pulled(self, ref: str, spec: api.ImageSpec) -> tuple[EnsuredImage, OctoletError | None]:
        """Size and user of what was just pulled; what went wrong if they cannot be told."""
        pulled = api.ImageSpec(image=ref, annotations=spec.annotations)
        try:
            image = await self._inspect(pulled)
        except OctoletError as error:
            return EnsuredImage(ref), error
        return (replace(image, ref=ref) if image is not None else EnsuredImage(ref)), None
