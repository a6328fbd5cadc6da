"""The other daemons over the bus. Whoever is away is waited for; only `degraded` tells."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol, TypeVar

import structlog

from services.pod_sync.ports import Waited
from shared.bus import Bus, TableView
from shared.errors import Transient
from shared.kube.types import Pod
from shared.messages.base import Message
from shared.messages.container_manager import (
    ADMIT,
    POD_RESOURCES,
    PREPARE_CONTAINER,
    PREPARE_POD,
    UNPREPARE_POD,
    Admit,
    Admitted,
    ContainerExtras,
    PodCgroupPhase,
    PodResources,
    PrepareContainer,
    PreparePod,
    UnpreparePod,
)
from shared.messages.node_status import NODE
from shared.messages.pleg import RUNTIME_HEALTH
from shared.messages.prober import PROBE_RESULTS, ContainerProbes
from shared.messages.volume_manager import POD_VOLUMES, PodVolumes, VolumesPhase

V = TypeVar("V", bound=Message)
R = TypeVar("R")

CALL_TIMEOUT_S: Final = 30.0
RETRY_FIRST_S: Final = 0.1
RETRY_MAX_S: Final = 5.0
NODE_KEY: Final = "node"
RUNTIME_KEY: Final = "runtime"


class Degraded(Protocol):
    """Says that a dependency is away (a sentence), or back (None)."""

    def __call__(self, key: str, text: str | None) -> None: ...


class BusPeers:
    """Implements `ports.Peers`. Made inside the event loop, before the bus is entered or after."""

    def __init__(self, bus: Bus, degraded: Degraded) -> None:
        self._bus = bus
        self._degraded = degraded
        self.pod_resources = bus.follow(POD_RESOURCES)
        self.pod_volumes = bus.follow(POD_VOLUMES)
        self.probe_results = bus.follow(PROBE_RESULTS)
        self.health = bus.follow(RUNTIME_HEALTH)
        self.node = bus.follow(NODE)

    def resources(self, uid: str) -> PodResources | None:
        return self.pod_resources.get(uid)

    def volumes(self, uid: str) -> PodVolumes | None:
        return self.pod_volumes.get(uid)

    def probes(self) -> Mapping[str, ContainerProbes]:
        return dict(self.probe_results.items())

    def network_error(self) -> str | None:
        health = self.health.get(RUNTIME_KEY)
        for condition in health.conditions if health is not None else []:
            if condition.type == "NetworkReady" and not condition.status:
                said = f"NetworkReady=false reason:{condition.reason} message:{condition.message}"
                return f"container runtime network not ready: {said}"
        return None

    def node_ips(self) -> tuple[str, ...]:
        entry = self.node.get(NODE_KEY)
        addresses = entry.node.status.addresses if entry is not None else []
        return tuple(a.address for a in addresses if a.type == "InternalIP")

    async def wait_resources(self, uid: str, cancel: asyncio.Event) -> Waited:
        def settled(view: TableView[PodResources]) -> bool:
            row = view.get(uid)
            return row is not None and row.phase is not PodCgroupPhase.RELEASED

        return await wait_row(self.pod_resources, settled, cancel=cancel)

    async def wait_volumes(self, uid: str, cancel: asyncio.Event, timeout_s: float) -> Waited:
        def mounted(view: TableView[PodVolumes]) -> bool:
            row = view.get(uid)
            return row is not None and row.phase is VolumesPhase.MOUNTED

        return await wait_row(self.pod_volumes, mounted, cancel=cancel, timeout_s=timeout_s)

    async def wait_unmounted(self, uid: str) -> None:
        def unmounted(view: TableView[PodVolumes]) -> bool:
            row = view.get(uid)
            return view.complete if row is None else row.phase is VolumesPhase.UNMOUNTED

        await self.pod_volumes.wait(unmounted)

    async def wait_released(self, uid: str) -> None:
        def released(view: TableView[PodResources]) -> bool:
            row = view.get(uid)
            return view.complete if row is None else row.phase is PodCgroupPhase.RELEASED

        await self.pod_resources.wait(released)

    async def admit(self, pod: Pod, others: list[str]) -> Admitted:
        """Ask until there is an answer."""
        return await self._until_answered(
            "container_manager", lambda: self._bus.call(ADMIT, Admit(pod=pod, others=others), CALL_TIMEOUT_S)
        )

    async def prepare(self, pod: Pod) -> PodResources:
        """Have the pod's group made once more. Raises OctoletError."""
        return await self._bus.call(PREPARE_POD, PreparePod(pod=pod), CALL_TIMEOUT_S)

    async def prepare_container(self, uid: str, container: str) -> ContainerExtras:
        """What managers add to a container. Raises OctoletError: an end of the pod must not wait for this answer."""
        request = PrepareContainer(pod_uid=uid, container=container)
        return await self._bus.call(PREPARE_CONTAINER, request, CALL_TIMEOUT_S)

    async def unprepare(self, uid: str) -> None:
        request = UnpreparePod(pod_uid=uid)
        await self._until_answered("container_manager", lambda: self._bus.call(UNPREPARE_POD, request, CALL_TIMEOUT_S))

    def report(self) -> None:
        """Say which peers are away."""
        for view in (self.pod_resources, self.pod_volumes, self.probe_results, self.health):
            text = None if view.connected else f"{view.owner} is away; waiting for it"
            self._degraded(view.owner, text)

    async def _until_answered(self, peer: str, ask: Callable[[], Awaitable[R]]) -> R:
        """Ask again while the peer is away. Raises the answers that are errors of another class than Transient."""
        pause_s = RETRY_FIRST_S
        while True:
            try:
                return await ask()
            except Transient as error:
                structlog.get_logger().debug("request.failed", peer=peer, error=str(error))
                await asyncio.sleep(pause_s * (1.0 + random.random()))
                pause_s = min(pause_s * 2, RETRY_MAX_S)


async def wait_row(
    view: TableView[V],
    predicate: Callable[[TableView[V]], bool],
    *,
    cancel: asyncio.Event,
    timeout_s: float | None = None,
) -> Waited:
    """Wait until the table shows it, the wait is cancelled, or the time is over."""
    if predicate(view):
        return Waited.DONE
    shown = asyncio.create_task(view.wait(predicate, timeout_s))
    cancelled = asyncio.create_task(cancel.wait())
    try:
        await asyncio.wait({shown, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        if shown.done():
            return Waited.DONE if shown.result() else Waited.TIMED_OUT
        return Waited.CANCELLED
    finally:
        shown.cancel()
        cancelled.cancel()
