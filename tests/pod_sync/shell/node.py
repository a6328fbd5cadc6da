"""One life of pod_sync on a fake node, which can be killed at any moment and started again."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import structlog

from services.pod_sync.engine import Engine, Surroundings
from services.pod_sync.observations import Observations
from services.pod_sync.records.allocations import Allocations
from services.pod_sync.records.backoff import BackoffFile
from services.pod_sync.records.decisions import Decisions
from services.pod_sync.records.progress import Progress
from services.pod_sync.runs.parts import Parts
from services.pod_sync.runtime.model import EventSink
from services.pod_sync.watch import Watch
from services.pod_sync.workers.model import KillAsked, StatusOverride
from shared.kube.types import Container, ObjectMeta, Pod, PodSpec
from tests.pod_sync.shell.peers import FakePeers, FakePleg, FakeStatuses
from tests.pod_sync.shell.world import FakeRuntime, World

SOURCE = "kubernetes.io/config.source"


def static_pod(uid: str, name: str = "web", *, policy: str = "Always", grace_s: int = 30, containers: int = 1) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default", uid=uid, annotations={SOURCE: "file"}),
        spec=PodSpec(
            restart_policy=policy,
            termination_grace_period_seconds=grace_s,
            containers=[Container(name=f"c{number}", image="busybox:1") for number in range(containers)],
        ),
    )


class Node:
    """World, peers and manifests stay; `life` is the process. Make it inside the running loop."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.get_running_loop()
        self.world = World(now=self.loop.time)
        self.pleg = FakePleg(self.world)
        self.peers = FakePeers(self.world)
        self.folder = folder
        self.manifests: dict[str, Pod] = {}
        self.events: list[tuple[str, str | None, str, str]] = []
        self.watch = Watch()
        self.all_read = True
        """whether every other source was read, too"""
        self.failures: list[BaseException] = []
        self._outside = [self.loop.create_task(self.pleg.list_for_ever())]
        self.life = self._boot()

    def _boot(self) -> "Life":
        self.peers.new_generation()
        life = Life(self)
        life.engine.boot()
        life.begin()
        life.engine.intake.added(self.manifests.values(), first_list=True)
        return life

    def crash(self) -> None:
        """SIGKILL: nothing of the process runs on, not even a `finally`."""
        self.life.kill()

    def restart(self) -> None:
        self.life = self._boot()

    def restart_with(self, watch: Watch) -> None:
        """A restart after which `watch` is told what happens."""
        self.watch = watch
        self.crash()
        self.restart()

    def write(self, pod: Pod) -> None:
        """A manifest is written."""
        self.manifests[pod.metadata.uid] = pod
        if self.life.alive:
            self.life.engine.intake.added([pod])

    def unlink(self, uid: str) -> None:
        """A manifest is removed."""
        pod = self.manifests.pop(uid)
        if self.life.alive:
            self.life.engine.intake.removed([pod], all_read=True)

    def evict(self, uid: str, grace_s: int | None = 1) -> bool:
        """What `kill_pod` does. False: no such pod."""
        worker = self.life.engine.dispatcher.pool.get(uid)
        if not self.life.alive or worker is None or worker.pod is None:
            return False
        override = StatusOverride("Failed", "Evicted", "too much")
        self.life.engine.dispatcher.feed(uid, KillAsked(grace_s=grace_s, evict=True, override=override))
        return True

    def check(self) -> None:
        """Raise what went wrong in a task."""
        if self.failures:
            raise self.failures[0]

    async def close(self) -> None:
        self.life.kill()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class Life:
    """One process of pod_sync."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.alive = True
        self.tasks: set[asyncio.Task[None]] = set()
        self.progress = Progress(node.folder / "progress")
        self.progress.load()
        backoff = BackoffFile(node.folder / "backoff.record")
        backoff.load()
        allocations = Allocations(node.folder / "allocated_pods_state")
        allocations.load()
        self.statuses = FakeStatuses(self.progress)
        self.parts = Parts(
            observations=Observations(node.pleg, node.pleg.relist, lambda text: None, self.progress.begun),
            runtime=FakeRuntime(node.world),
            peers=node.peers,
            statuses=self.statuses,
            backoff=backoff,
            progress=self.progress,
            events_of=self._events_of,
            log=structlog.get_logger(),
            now=node.loop.time,
            wall=node.loop.time,
            born_mono=node.loop.time(),
            watch=node.watch,
        )
        self.engine = Engine(
            Surroundings(
                parts=self.parts,
                statuses=self.statuses,
                pods=node.peers,
                decisions=Decisions(node.folder / "decisions"),
                allocations=allocations,
                admission=node.peers,
                runtime=lambda: node.pleg.rows,
                start=self.start,
                in_thread=_at_once,
            )
        )

    def begin(self) -> None:
        self._node.pleg.on_row = self.engine.runtime_changed
        self.start(self.engine.intake.admit_for_ever())
        self.start(self.engine.intake.keep_house_for_ever(self._is_synced, self._node.peers.complete))

    def _is_synced(self) -> bool:
        return self._node.all_read and self._node.pleg.as_of_mono > 0

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._node.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def kill(self) -> None:
        self.alive = False
        self._node.pleg.on_row = lambda uid: None
        self.engine.dispatcher.close()
        for task in self.tasks:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._node.failures.append(task.exception() or RuntimeError())

    def _events_of(self, pod: Pod) -> EventSink:
        def event(container: str | None, type: str, reason: str, message: str) -> None:
            self._node.events.append((pod.metadata.uid, container, reason, message))

        return event


async def _at_once(work: Callable[[], None]) -> None:
    work()
