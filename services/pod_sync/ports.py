"""What runs need of the other daemons and of this daemon's own rooms, as they see it. Adapters: `peers`, `statuses`."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from services.pod_sync.environment.model import PodContext
from services.pod_sync.records.progress import WaitingReason
from services.pod_sync.runtime.model import EventSink, KillOrder, KillTarget, Sandbox
from services.pod_sync.runtime.ordering import TerminationOrder
from services.pod_sync.workers.model import StatusOverride
from shared.kube.types import Pod, PodStatus
from shared.messages.container_manager import PodResources
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.prober import ContainerProbes
from shared.messages.volume_manager import PodVolumes


class Waited(StrEnum):
    """How a wait ended."""

    DONE = "done"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"


class Peers(Protocol):
    """The other daemons. One that is away is waited for; it never shows as an error on a pod."""

    async def wait_resources(self, uid: str, cancel: asyncio.Event) -> Waited:
        """Wait until container_manager has made, or could not make, the pod's group."""
        ...

    async def prepare(self, pod: Pod) -> PodResources:
        """Have the pod's group made once more. Raises OctoletError."""
        ...

    async def wait_volumes(self, uid: str, cancel: asyncio.Event, timeout_s: float) -> Waited:
        """Wait until all volumes of the pod are mounted."""
        ...

    async def wait_unmounted(self, uid: str) -> None:
        """Wait until volume_manager says that nothing of the pod is mounted."""
        ...

    async def wait_released(self, uid: str) -> None:
        """Wait until container_manager says that the pod's group is gone."""
        ...

    async def unprepare(self, uid: str) -> None:
        """Have the pod's devices and claims freed. Raises OctoletError."""
        ...

    def resources(self, uid: str) -> PodResources | None: ...

    def volumes(self, uid: str) -> PodVolumes | None: ...

    def probes(self) -> Mapping[str, ContainerProbes]:
        """Outcomes by container id."""
        ...

    def network_error(self) -> str | None:
        """Why pods cannot get a network now, as the runtime says; None: they can."""
        ...

    def node_ips(self) -> tuple[str, ...]:
        """Addresses that pods in the host's network have, the primary first."""
        ...


class Acts(Protocol):
    """The room `runtime`, see its docstring."""

    async def create_sandbox(self, pod: PodContext, attempt: int, *, event: EventSink) -> Sandbox: ...

    async def stop_sandbox(self, sandbox_id: str) -> None: ...

    def next_attempt(self, pod: Pod, name: str, newest: ContainerState | None) -> int: ...

    async def start_container(
        self, pod: PodContext, name: str, *, sandbox: Sandbox, attempt: int, event: EventSink
    ) -> str: ...

    async def pull_image_volumes(self, pod: PodContext, *, sandbox: Sandbox, event: EventSink) -> PodContext: ...

    async def kill_container(self, target: KillTarget, order: KillOrder, *, event: EventSink) -> None: ...

    async def kill_containers(
        self,
        targets: Sequence[KillTarget],
        order: KillOrder,
        *,
        event: EventSink,
        turns: TerminationOrder | None = None,
    ) -> None: ...

    async def remove_container(self, state: ContainerState, *, keep_logs: bool = False) -> None: ...

    async def termination_message(self, state: ContainerState) -> str: ...


@dataclass(frozen=True, kw_only=True)
class StatusInputs:
    """What a status is computed from beside what is remembered of the pod.

    `stopped`: the worker has seen to it that no container runs or will run. `override`: what is said of an end for the
    node's sake.
    """

    pod: Pod
    seen: RuntimePod | None
    stopped: bool = False
    override: StatusOverride | None = None


class Statuses(Protocol):
    """Computes, keeps and publishes statuses."""

    def current(self, uid: str) -> PodStatus | None: ...

    async def update(self, uid: str, inputs: StatusInputs) -> PodStatus:
        """Compute the status; store and publish it if it changed."""
        ...

    async def refresh(self, uid: str) -> None:
        """Compute the status again from what it was computed from last, with the probe outcomes of now."""
        ...

    def finish(self, uid: str, pod: Pod) -> None:
        """Nothing of the pod runs or is held any more: its last status, with every container terminated."""
        ...

    def set_reasons(self, uid: str, changed: Mapping[str, WaitingReason | None]) -> None:
        """Why containers wait, after attempts to start them (None: it started)."""
        ...
