"""Looks at the runtime and the disk, and removes what `core` says. Idempotent: what is gone already is success."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar

from structlog.typing import FilteringBoundLogger

from services.eviction.containers import core
from services.eviction.containers.folders import Folders
from services.eviction.containers.model import GONE, DeadContainer, PodFate, Policy, Sandbox
from services.eviction.metrics import EvictionMetrics
from shared.bus import TableView
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import NotFound, OctoletError, Transient
from shared.messages.pleg import RuntimePod
from shared.messages.pod_sync import PodEntry

T = TypeVar("T")

POD_UID_LABEL: Final = "io.kubernetes.pod.uid"
CONTAINER_NAME_LABEL: Final = "io.kubernetes.container.name"
UNKNOWN_AGE_S: Final = 60.0
"""what belongs to a pod that nobody knows must be this old: the pod may be so new that its row is still on its way"""
STOP_TIMEOUT_S: Final = 2
MAX_REMEMBERED: Final = 1000


class Collector:
    """Removes dead containers, sandboxes and log folders. One collection at a time."""

    def __init__(
        self,
        cri: RuntimeClient,
        pods: TableView[PodEntry],
        runtime: TableView[RuntimePod],
        folders: Folders,
        policy: Policy,
        *,
        observers: tuple[EvictionMetrics, FilteringBoundLogger],
    ) -> None:
        self._cri = cri
        self._pods = pods
        self._runtime = runtime
        self._folders = folders
        self._policy = policy
        self._metrics, self._log = observers
        self._lock = asyncio.Lock()
        self._removed: dict[str, None] = {}
        """ids that were removed lately, oldest first: pleg's table still shows them for a moment"""

    async def collect(self, *, all_stopped: bool = False) -> None:
        """One collection of everything. `all_stopped`: pods that will not run again lose their containers too.

        Nothing is removed while pod_sync does not vouch for its table. Raises Transient naming what failed; everything
        else was done.
        """
        async with self._lock:
            if not self._pods.complete:
                return
            containers, sandboxes = await asyncio.gather(
                self._cri.list_containers(api.ListContainersRequest()),
                self._cri.list_pod_sandbox(api.ListPodSandboxRequest()),
            )
            dead = dead_containers(containers.containers)
            fates = self.fates({c.pod_uid: c.created_at_ns for c in dead})
            plan = core.plan_containers(dead, fates, self._policy, time.time_ns(), all_stopped=all_stopped)
            errors = await self._each(plan, self._remove_container)
            removed = {c.id for c in plan} - {c.id for c, _ in errors}
            seen = all_sandboxes(
                sandboxes.items, (c.pod_sandbox_id for c in containers.containers if c.id not in removed)
            )
            fates = self.fates({s.pod_uid: s.created_at_ns for s in seen})
            bad = await self._each(core.plan_sandboxes(seen, fates, all_stopped=all_stopped), self._remove_sandbox)
            await self._collect_folders()
            texts = [str(error) for _, error in (*errors, *bad)]
            if texts:
                raise Transient(f"collect dead containers: {'; '.join(texts[:5])}")

    async def collect_pod(self, uid: str) -> None:
        """At once after a container of it died: what is beyond the newest of each name. From pleg's table, no listing.

        Raises Transient when something could not be removed; the next collection tries again.
        """
        row = self._runtime.get(uid)
        if row is None or not self._pods.complete:
            return
        async with self._lock:
            dead = [
                DeadContainer(c.id, uid, c.name, c.created_at_ns)
                for c in row.containers
                if c.state == "exited" and c.id not in self._removed
            ]
            fates = self.fates({uid: min((c.created_at_ns for c in dead), default=time.time_ns())})
            plan = core.plan_containers(dead, fates, self._policy, time.time_ns())
            if errors := await self._each(plan, self._remove_container):
                raise Transient(f"remove dead containers of pod {uid}: {errors[0][1]}")

    def fates(self, created_at_ns: Mapping[str, int]) -> dict[str, PodFate]:
        """What may be removed, by pod UID; a pod that is not in it is left alone.

        `created_at_ns` holds the youngest thing of each pod. A pod that pod_sync does not know is gone only when it
        vouches for its table.
        """
        known = {u: PodFate(e.content_removable, e.runtime_removable) for u, e in self._pods.items()}
        if not (self._pods.complete and self._pods.connected):
            return known
        limit = time.time_ns() - int(UNKNOWN_AGE_S * 1e9)
        gone = {uid: GONE for uid, created in created_at_ns.items() if uid not in known and created <= limit}
        return known | gone

    async def _collect_folders(self) -> None:
        found = await asyncio.to_thread(self._folders.list_logs)
        fates = self.fates({core.pod_uid_of_log_folder(name): at for name, at in found.items()})
        for name in core.plan_log_folders(found, fates):
            await asyncio.to_thread(self._folders.remove_logs, name)
            self._metrics.removed.labels("log_folder").inc()
            self._log.info("logs.removed", folder=name)
        for link in await asyncio.to_thread(self._folders.list_dangling_links):
            if not await self._is_rotating(core.container_id_of_link(link)):
                await asyncio.to_thread(self._folders.remove_link, link)

    async def _is_rotating(self, container_id: str) -> bool:
        """A link may dangle for a moment while the log of a container is rotated."""
        if not container_id:
            return False
        try:
            reply = await self._cri.container_status(api.ContainerStatusRequest(container_id=container_id))
        except NotFound:
            return False
        except OctoletError:
            return True  # not known: the next collection looks again
        return bool(reply.status.state != api.CONTAINER_EXITED)

    async def _each(self, items: Iterable[T], remove: Callable[[T], Awaitable[None]]) -> list[tuple[T, OctoletError]]:
        """One after the other: this is background work, and the runtime has pods to start."""
        errors: list[tuple[T, OctoletError]] = []
        for item in items:
            try:
                await remove(item)
            except OctoletError as error:
                errors.append((item, error))
        return errors

    async def _remove_container(self, container: DeadContainer) -> None:
        try:
            if container.is_unknown:
                request = api.StopContainerRequest(container_id=container.id, timeout=STOP_TIMEOUT_S)
                await self._cri.stop_container(request)
            await self._remove_log(container)
            await self._cri.remove_container(api.RemoveContainerRequest(container_id=container.id))
        except NotFound:
            pass
        except OctoletError as error:
            raise Transient(f"remove container {container.id} (pod {container.pod_uid}): {error}") from error
        self._removed[container.id] = None
        while len(self._removed) > MAX_REMEMBERED:
            del self._removed[next(iter(self._removed))]
        self._metrics.removed.labels("container").inc()
        # pleg tells people, with the pod's name, as soon as it no longer sees it.
        self._log.debug("container.removed", container_id=container.id, pod_uid=container.pod_uid, name=container.name)

    async def _remove_log(self, container: DeadContainer) -> None:
        """The log, what was rotated away of it, and the link to it. Raises NotFound when the container is gone."""
        row = self._runtime.get(container.pod_uid)
        path = next((c.log_path for c in row.containers if c.id == container.id), "") if row is not None else ""
        if not path:
            reply = await self._cri.container_status(api.ContainerStatusRequest(container_id=container.id))
            path = reply.status.log_path
        await asyncio.to_thread(self._folders.remove_log, path, container.id)

    async def _remove_sandbox(self, sandbox: Sandbox) -> None:
        try:
            await self._cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
            await self._cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))
        except NotFound:
            pass
        except OctoletError as error:
            raise Transient(f"remove sandbox {sandbox.id} (pod {sandbox.pod_uid}): {error}") from error
        self._metrics.removed.labels("sandbox").inc()
        self._log.info("sandbox.removed", sandbox_id=sandbox.id, pod_uid=sandbox.pod_uid)


def dead_containers(listed: Iterable[api.Container]) -> list[DeadContainer]:
    """Containers of pods that do not run. Others in the runtime are none of ours."""
    return [
        DeadContainer(
            id=c.id,
            pod_uid=c.labels[POD_UID_LABEL],
            name=c.labels.get(CONTAINER_NAME_LABEL, c.metadata.name),
            created_at_ns=c.created_at,
            is_unknown=c.state == api.CONTAINER_UNKNOWN,
        )
        for c in listed
        if c.state != api.CONTAINER_RUNNING and c.labels.get(POD_UID_LABEL)
    ]


def all_sandboxes(listed: Iterable[api.PodSandbox], used: Iterable[str]) -> list[Sandbox]:
    """Sandboxes of pods; `used` are ids of those that have a container."""
    in_use = set(used)
    return [
        Sandbox(
            id=s.id,
            pod_uid=s.labels.get(POD_UID_LABEL, s.metadata.uid),
            created_at_ns=s.created_at,
            in_use=s.state == api.SANDBOX_READY or s.id in in_use,
        )
        for s in listed
    ]
