"""A small node for the shell's tests: what the runtime holds, and a stand-in for the room that acts on it.

The world outlives the process under test. Each act takes time, with its effect in the middle, so that a crash may fall
before or after it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from services.pod_sync.environment.metadata import HASH, container_hash, find_container
from services.pod_sync.environment.model import PodContext
from services.pod_sync.runtime.grace import grace_of, stop_timeout
from services.pod_sync.runtime.model import EventSink, KillOrder, KillTarget, Sandbox, StartError
from services.pod_sync.runtime.ordering import TerminationOrder
from shared.errors import Transient
from shared.kube.types import Pod
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState
from shared.messages.pod_sync import PodEntry, PodPhase


@dataclass
class World:
    """Sandboxes and containers by id, with the UID and the name of their pod; `rows` is the `pods` table as published."""

    now: Callable[[], float]
    act_s: float = 0.1
    """how long one call to the runtime takes"""
    exit_s: float = 1.0
    """how long a container takes to end after TERM"""
    sandboxes: dict[str, tuple[str, SandboxState]] = field(default_factory=dict)
    containers: dict[str, tuple[str, ContainerState]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    rows: dict[str, PodEntry] = field(default_factory=dict)
    fail_start: dict[str, StartError] = field(default_factory=dict)
    """what starting the container of that name raises"""
    down: bool = False
    starts: list[tuple[str, str, int]] = field(default_factory=list)
    """(uid, container, attempt) of every start"""
    exits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """how often a container that ran has ended, by uid and name"""
    starting: set[str] = field(default_factory=set)
    """ids of containers whose start is under way, or was given up by its caller a moment ago"""

    def pod(self, uid: str) -> RuntimePod | None:
        """As a listing shows it."""
        boxes = sorted((s for owner, s in self.sandboxes.values() if owner == uid), key=lambda s: -s.attempt)
        states = sorted((c for owner, c in self.containers.values() if owner == uid), key=lambda c: -c.created_at_ns)
        if not boxes and not states:
            return None
        return RuntimePod(
            name=self.names[uid], namespace="default", listed_at_mono=0.0, sandboxes=boxes, containers=states
        )

    def uids(self) -> set[str]:
        return {uid for uid, _ in (*self.sandboxes.values(), *self.containers.values())}

    def running(self) -> list[tuple[str, str]]:
        """(uid, container name) of everything that runs."""
        return sorted((uid, c.name) for uid, c in self.containers.values() if c.state == "running")

    def newest(self, uid: str, name: str) -> ContainerState | None:
        states = [c for owner, c in self.containers.values() if owner == uid and c.name == name]
        return max(states, key=lambda c: c.attempt, default=None)

    def end(self, container_id: str, code: int) -> None:
        """The container exits."""
        uid, state = self.containers[container_id]
        if state.state == "running":
            self.exits[uid, state.name] += 1
            ended = replace(state, state="exited", exit_code=code, finished_at_ns=int(self.now() * 1e9))
            self.containers[container_id] = (uid, ended)

    def cut_off(self, container_id: str) -> None:
        """The runtime notices that the caller of a start has died, and undoes it."""
        self.starting.discard(container_id)
        uid, state = self.containers[container_id]
        text = "failed to create containerd task: failed to start shim: signal: killed: unknown"
        ended = replace(state, state="exited", exit_code=128, reason="StartError", message=text)
        self.containers[container_id] = (uid, ended)

    def live(self, uid: str) -> Iterator[str]:
        """Ids of the pod's containers that run."""
        yield from [cid for cid, (owner, c) in self.containers.items() if owner == uid and c.state == "running"]


class FakeRuntime:
    """`ports.Acts` on a world. It checks on its side what must never be asked of a runtime."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def create_sandbox(self, pod: PodContext, attempt: int, *, event: EventSink) -> Sandbox:
        meta = pod.pod.metadata
        sandbox_id = f"{meta.uid}/{attempt}"
        await self._half()
        if sandbox_id not in self._world.sandboxes:
            assert self._may_start(meta.uid), "a sandbox for a pod that ends"
            state = SandboxState(
                id=sandbox_id,
                name=meta.name,
                namespace=meta.namespace,
                attempt=attempt,
                ready=True,
                created_at_ns=int(self._world.now() * 1e9),
                ips=["10.0.0.9"],
                annotations=dict(meta.annotations),
            )
            self._world.names[meta.uid] = meta.name
            self._world.sandboxes[sandbox_id] = (meta.uid, state)
        await self._half()
        return Sandbox(sandbox_id, attempt, ("10.0.0.9",))

    async def stop_sandbox(self, sandbox_id: str) -> None:
        await self._half()
        uid, state = self._world.sandboxes[sandbox_id]
        self._world.sandboxes[sandbox_id] = (uid, replace(state, ready=False))
        for container_id in self._world.live(uid):
            if self._world.containers[container_id][1].sandbox_id == sandbox_id:
                self._world.end(container_id, 137)
        await self._half()

    def next_attempt(self, pod: Pod, name: str, newest: ContainerState | None) -> int:
        if newest is not None:
            return newest.attempt + 1
        logs = [a for uid, of, a in self._world.starts if (uid, of) == (pod.metadata.uid, name)]
        return max(logs, default=-1) + 1

    async def start_container(
        self, pod: PodContext, name: str, *, sandbox: Sandbox, attempt: int, event: EventSink
    ) -> str:
        uid, world = pod.pod.metadata.uid, self._world
        container_id = f"{uid}/{name}/{attempt}"
        await self._half()
        if name in world.fail_start:
            raise world.fail_start[name]
        former = world.containers.get(container_id)
        if former is not None and former[1].state != "created":
            return container_id
        assert self._may_start(uid), "a container for a pod that ends"
        image = find_container(pod.pod, name).image
        made = ContainerState(
            id=container_id,
            name=name,
            attempt=attempt,
            sandbox_id=sandbox.id,
            state="created",
            created_at_ns=int(world.now() * 1e9),
            annotations={HASH: format(container_hash(name, image), "x")},
        )
        world.containers[container_id] = (uid, made)
        world.starting.add(container_id)
        try:
            await self._half()
        except (asyncio.CancelledError, Transient):
            asyncio.get_running_loop().call_later(0.4, world.cut_off, container_id)
            raise
        world.starting.discard(container_id)
        world.containers[container_id] = (uid, replace(made, state="running", started_at_ns=made.created_at_ns))
        world.starts.append((uid, name, attempt))
        await self._half()
        return container_id

    async def pull_image_volumes(self, pod: PodContext, *, sandbox: Sandbox, event: EventSink) -> PodContext:
        return pod

    async def kill_container(self, target: KillTarget, order: KillOrder, *, event: EventSink) -> None:
        await self._half()
        await asyncio.sleep(min(self._world.exit_s, stop_timeout(grace_of(target, order.reason, order.grace_s))))
        if target.container_id in self._world.containers:
            self._world.end(target.container_id, 143)
        await self._half()

    async def kill_containers(
        self,
        targets: Sequence[KillTarget],
        order: KillOrder,
        *,
        event: EventSink,
        turns: TerminationOrder | None = None,
    ) -> None:
        await asyncio.gather(*(self.kill_container(target, order, event=event) for target in targets))

    async def remove_container(self, state: ContainerState, *, keep_logs: bool = False) -> None:
        await self._half()
        if state.id in self._world.starting:
            raise Transient(f"container {state.id} is in starting state, can't be removed")
        self._world.containers.pop(state.id, None)

    async def termination_message(self, state: ContainerState) -> str:
        return ""

    async def _half(self) -> None:
        if self._world.down:
            raise Transient("runtime is away")
        await asyncio.sleep(self._world.act_s / 2)

    def _may_start(self, uid: str) -> bool:
        row = self._world.rows.get(uid)
        return row is not None and row.admitted and row.phase is PodPhase.SYNC
