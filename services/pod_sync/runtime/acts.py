"""The room's face: everything pod_sync does to the runtime, in one object."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from services.pod_sync.environment.metadata import pod_log_dir
from services.pod_sync.environment.model import (
    CONTAINER_NAME_LABEL,
    POD_NAME_LABEL,
    POD_NAMESPACE_LABEL,
    ConfigError,
    PodContext,
)
from services.pod_sync.images.manager import ImageManager
from services.pod_sync.images.model import ImageRequest, ImageService
from services.pod_sync.images.names import default_pull_policy
from services.pod_sync.runtime.creation import ContainerCreation
from services.pod_sync.runtime.hooks import HookRunner
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.kill import Kills
from services.pod_sync.runtime.model import EventSink, KillOrder, KillTarget, Sandbox, StartError
from services.pod_sync.runtime.ordering import TerminationOrder
from services.pod_sync.runtime.ports import Ports, RuntimeService
from services.pod_sync.runtime.sandboxes import Sandboxes
from services.pod_sync.runtime.start import Starts
from services.pod_sync.runtime.subpaths import Subpaths
from services.pod_sync.runtime.termination import termination_message
from shared.cri import api
from shared.errors import Transient
from shared.kube.types import Pod
from shared.messages.pleg import ContainerState


class Cri(RuntimeService, ImageService, Protocol):
    """The runtime client: both CRI services."""


class Runtime:
    """See the package's docstring for the whole interface. One per process; needs no running loop to be made."""

    def __init__(
        self,
        cri: Cri,
        images: ImageManager,
        *,
        ports: Ports,
        host: HostFiles,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        hooks = HookRunner(cri)
        self._cri = cri
        self._ports = ports
        self._host = host
        self._images = images
        self._sandboxes = Sandboxes(cri, ports, host)
        self._kills = Kills(cri, hooks, now)
        self._creation = ContainerCreation(cri)
        self._starts = Starts(
            ports=ports,
            host=host,
            images=images,
            sandboxes=self._sandboxes,
            creation=self._creation,
            subpaths=Subpaths(),
            hooks=hooks,
            kills=self._kills,
        )

    async def create_sandbox(self, pod: PodContext, attempt: int, *, event: EventSink) -> Sandbox:
        """The pod's sandbox of that attempt, made or found. Raises StartError; its events are emitted."""
        return await self._sandboxes.create(pod, attempt, event)

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Stop a sandbox and all in it. Idempotent."""
        await self._sandboxes.stop(sandbox_id)

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Stop and remove a sandbox. Idempotent."""
        await self._sandboxes.remove(sandbox_id)

    def next_attempt(self, pod: Pod, name: str, newest: ContainerState | None) -> int:
        """The restart count of the instance to start now, which is also its CRI attempt and its log file's number.

        One more than the newest instance's; with none left in the runtime, what the log files say. Raises Transient.
        """
        if newest is not None:
            return newest.attempt + 1
        meta = pod.metadata
        folder = pod_log_dir(self._ports.node().pod_logs_dir, meta.namespace, meta.name, meta.uid)
        try:
            return self._host.next_attempt(f"{folder}/{name}")
        except OSError as error:
            raise Transient(f"read log folder of container {name}: {error}") from error

    async def start_container(
        self, pod: PodContext, name: str, *, sandbox: Sandbox, attempt: int, event: EventSink
    ) -> str:
        """Start that container, of whatever kind; the id. Raises StartError, Transient, ConfigError (no such name)."""
        return await self._starts.start(pod, name, sandbox=sandbox, attempt=attempt, event=event)

    async def pull_image_volumes(self, pod: PodContext, *, sandbox: Sandbox, event: EventSink) -> PodContext:
        """The pod with the images of its image volumes, or why they could not be had. Once before the first start."""
        wanted = {volume.name: volume.image for volume in pod.pod.spec.volumes if volume.image is not None}
        if not wanted:
            return pod
        refs: dict[str, str] = {}
        failures: dict[str, tuple[str, str]] = {}
        try:
            sandbox_config = self._sandboxes.plan(pod, sandbox.attempt).config
        except ConfigError:
            return pod  # every container of the pod fails of the same, in its own start
        for name, source in wanted.items():
            image = source.reference or ""
            request = ImageRequest(
                pod=pod.pod,
                image=image,
                policy=source.pull_policy or default_pull_policy(image),
                sandbox_config=sandbox_config,
                credentials=await self._ports.credentials(pod.pod, image),
            )
            try:
                refs[name] = (await self._images.ensure(request, event)).ref
            except StartError as error:
                failures[name] = (error.reason, error.message)
        return replace(pod, image_volumes=refs, image_volume_failures=failures)

    async def kill_container(
        self, target: KillTarget, order: KillOrder, *, event: EventSink, turns: TerminationOrder | None = None
    ) -> None:
        """Stop one container within its grace. Idempotent."""
        await self._kills.kill(target, order, event, turns=turns)

    async def kill_containers(
        self,
        targets: Sequence[KillTarget],
        order: KillOrder,
        *,
        event: EventSink,
        turns: TerminationOrder | None = None,
    ) -> None:
        """Stop containers of one pod at the same time, in the order of `turns`. Idempotent."""
        await self._kills.kill_all(targets, order, event, turns=turns)

    async def remove_container(self, state: ContainerState, *, keep_logs: bool = False) -> None:
        """Remove a container that has ended, with its log unless that is to be kept. Idempotent. Raises OctoletError."""
        if not keep_logs:
            try:
                await asyncio.to_thread(
                    self._host.remove_logs,
                    state.log_path,
                    pod_name=state.labels.get(POD_NAME_LABEL, ""),
                    namespace=state.labels.get(POD_NAMESPACE_LABEL, ""),
                    container=state.labels.get(CONTAINER_NAME_LABEL, state.name),
                    container_id=state.id,
                )
            except OSError as error:
                raise Transient(f"remove logs of container {state.name} ({state.id}): {error}") from error
        await self._creation.remove(state.id)

    async def termination_message(self, state: ContainerState) -> str:
        """The message of an exited container's `state.terminated`."""
        return await asyncio.to_thread(termination_message, state)

    async def update_container_resources(self, container_id: str, resources: api.LinuxContainerResources) -> None:
        """Change the limits of a running container. Raises what the runtime answered."""
        await self._cri.update_container_resources(
            api.UpdateContainerResourcesRequest(container_id=container_id, linux=resources)
        )
