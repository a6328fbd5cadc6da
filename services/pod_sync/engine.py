"""Joins the rooms: events go to workers, workers start runs, runs act, and every change is published."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from services.pod_sync.intake import Admission, Intake, IntakePorts
from services.pod_sync.records.allocations import Allocations
from services.pod_sync.records.decisions import Decisions
from services.pod_sync.rows import PodRows, Rejection
from services.pod_sync.runs.parts import Parts
from services.pod_sync.runs.sync import sync_pod
from services.pod_sync.runs.terminated import finish_pod
from services.pod_sync.runs.terminating import terminate_pod, terminate_runtime_pod
from services.pod_sync.runtime.model import WARNING
from services.pod_sync.status.deadline import deadline_left_s
from services.pod_sync.workers.core import RESYNC_S
from services.pod_sync.workers.dispatcher import Dispatcher, RunResult
from services.pod_sync.workers.model import Decision, StartRun, SyncAsked, Work, Worker
from services.pod_sync.workers.pool import Pool
from shared.kube.types import Pod
from shared.messages.pleg import RuntimePod
from shared.messages.pod_sync import PodEntry


class PodsTable(Protocol):
    """What is used of the owned table `pods`."""

    def put(self, key: str, value: PodEntry) -> None: ...

    def delete(self, key: str) -> None: ...


class StatusKeeper(Protocol):
    """What is used of statuses beside what runs use."""

    def uids(self) -> frozenset[str]: ...

    def reject(self, rejection: Rejection) -> None: ...

    def drop(self, uid: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Everything outside of the engine."""

    parts: Parts
    statuses: StatusKeeper
    pods: PodsTable
    decisions: Decisions
    allocations: Allocations
    admission: Admission
    runtime: Callable[[], Mapping[str, RuntimePod]]
    """the last listing, by pod UID"""
    start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    """starts a task whose unexpected failure ends the process"""
    in_thread: Callable[[Callable[[], None]], Awaitable[None]] = asyncio.to_thread
    """runs what blocks for the disk"""
    resync_s: float = RESYNC_S


class Engine:
    """One per process. `boot` first, then feed it through `intake` and the methods below."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._starting: dict[str, float] = {}
        """when pods that were not Running yet were first seen"""
        self._parts = around.parts
        now = around.parts.now
        pool = Pool(around.resync_s, since_mono=now())
        self.dispatcher = Dispatcher(pool, self, start=around.start, now=now)
        self.intake = Intake(
            self.dispatcher,
            PodRows(around.pods, around.allocations.allocated),
            IntakePorts(
                admission=around.admission,
                allocations=around.allocations,
                records=self,
                runtime=around.runtime,
                in_thread=around.in_thread,
                watch=around.parts.watch,
                now=now,
            ),
        )

    def boot(self) -> None:
        """Restore the ends that were decided. Before any source is heard."""
        self.dispatcher.recall(self._around.decisions.load())

    def sync(self, uid: str) -> None:
        """Something that the pod's run depends on changed."""
        if uid in self.dispatcher.pool.workers:
            self.dispatcher.feed(uid, SyncAsked())

    def runtime_changed(self, uid: str) -> None:
        """The runtime shows something else of the pod."""
        self.sync(uid)
        self.intake.look()

    def probes_changed(self, uid: str, *, acts: bool) -> None:
        """The outcome of a probe changed; `acts`: in a way by which a container may have to be started or ended.

        What a run does meanwhile can take long, so the status shows it at once.
        """
        if self.dispatcher.pool.get(uid) is not None:
            self._around.start(self._parts.statuses.refresh(uid))
            if acts:
                self.sync(uid)

    # What the dispatcher needs done (`workers.dispatcher.Ports`)

    async def run(self, uid: str, start: StartRun, cancel: asyncio.Event) -> RunResult:
        began = self._parts.now()
        if start.number == 1:
            self._note_first_run(uid, began)
        result = await self._run(uid, start, cancel)
        if start.work is Work.SYNC and start.pod is not None:
            self._set_deadline(uid, start.pod)
            self._note_running(uid)
        self._parts.watch.run_ended(_operation(start), self._parts.now() - began)
        self._parts.log.debug(
            "run.ended",
            pod_uid=uid,
            work=str(start.work),
            number=start.number,
            outcome=type(result.outcome).__name__,
            duration_s=round(self._parts.now() - began, 4),
        )
        return result

    def _note_first_run(self, uid: str, now: float) -> None:
        seen_at = self.intake.first_seen(uid)
        if seen_at is None:
            return
        self._parts.watch.worker_began(now - seen_at)
        status = self._parts.statuses.current(uid)
        if status is None or status.phase != "Running":
            self._starting[uid] = seen_at

    def _note_running(self, uid: str) -> None:
        status = self._parts.statuses.current(uid)
        if uid in self._starting and status is not None and status.phase == "Running":
            self._parts.watch.pod_running(self._parts.now() - self._starting.pop(uid))

    def _set_deadline(self, uid: str, pod: Pod) -> None:
        """Look at the pod again when its activeDeadlineSeconds are over."""
        if (old := self._deadlines.pop(uid, None)) is not None:
            old.cancel()
        left = deadline_left_s(pod, self._parts.statuses.current(uid), now=self._parts.wall())
        if left is not None and left > 0:
            self._deadlines[uid] = asyncio.get_running_loop().call_later(left, self.sync, uid)

    async def _run(self, uid: str, start: StartRun, cancel: asyncio.Event) -> RunResult:
        if start.pod is None:
            return await terminate_runtime_pod(self._parts, uid, grace_s=start.grace_s)
        pod = self._around.allocations.allocated(start.pod)
        match start.work:
            case Work.SYNC:
                return await sync_pod(self._parts, pod, cancel)
            case Work.TERMINATING:
                return await terminate_pod(self._parts, pod, grace_s=start.grace_s, override=start.override)
            case Work.TERMINATED:
                return await finish_pod(self._parts, pod)

    async def observe(self, uid: str, after_mono: float) -> float:
        return (await self._parts.observations.after(uid, after_mono)).as_of_mono

    def record(self, decision: Decision) -> None:
        self._around.decisions.put(decision)

    def changed(self, uid: str, worker: Worker | None) -> None:
        self.intake.show(uid)

    # What the intake needs remembered (`intake.Records`)

    def uids(self) -> frozenset[str]:
        return self._around.statuses.uids()

    def reject(self, rejection: Rejection) -> None:
        event = self._parts.events_of(rejection.pod)
        event(None, WARNING, rejection.reason, rejection.message)
        self._around.statuses.reject(rejection)

    def drop(self, uid: str) -> None:
        if (deadline := self._deadlines.pop(uid, None)) is not None:
            deadline.cancel()
        self._starting.pop(uid, None)
        self._around.statuses.drop(uid)
        self._around.decisions.delete(uid)
        self._parts.observations.forget(uid)


def _operation(start: StartRun) -> str:
    """What upstream's metric calls it."""
    if start.work is Work.TERMINATING:
        return "kill"
    return "create" if start.number == 1 else "sync"
