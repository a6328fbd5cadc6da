"""Which pods belong here: takes in what the sources say, has pods admitted, and keeps house.

One task admits pods, oldest first, so that each is judged beside those before it; updates and removals never wait for
it. Source: upstream `kubelet` (HandlePodAdditions, -Updates, -Removes, -Cleanups).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from services.pod_sync.records.allocations import Allocations
from services.pod_sync.rows import PodRows, Rejection
from services.pod_sync.watch import Watch
from services.pod_sync.workers.answers import may_run
from services.pod_sync.workers.dispatcher import Dispatcher
from services.pod_sync.workers.housekeeping import (
    Create,
    DropRecords,
    Forget,
    Known,
    NoteOrphan,
    Task,
    TerminateRuntimePod,
    is_running,
    plan_housekeeping,
    predecessors,
)
from services.pod_sync.workers.model import (
    FoundInRuntime,
    KillAsked,
    Orphaned,
    PodSeen,
    SeenAs,
)
from shared.kube.pods import all_containers, is_static, pod_full_name
from shared.kube.types import Pod
from shared.messages.container_manager import Admitted
from shared.messages.pleg import RuntimePod

HOUSEKEEPING_S: Final = 2.0
"""upstream `housekeepingPeriod`; here most is done at once, this finds what no event told"""
TERMINAL: Final = frozenset({"Failed", "Succeeded"})


class Admission(Protocol):
    """Says whether a pod may run beside `others` (UIDs). Waits until that is known."""

    async def admit(self, pod: Pod, others: list[str]) -> Admitted: ...


class Records(Protocol):
    """What is remembered of single pods."""

    def uids(self) -> frozenset[str]: ...

    def reject(self, rejection: Rejection) -> None:
        """Say so in the pod's status and with an event."""
        ...

    def drop(self, uid: str) -> None:
        """Forget status, reasons, decision."""
        ...


@dataclass(frozen=True, kw_only=True)
class IntakePorts:
    """What the intake needs done. `runtime` gives the last listing; `in_thread` runs what blocks for the disk."""

    admission: Admission
    allocations: Allocations
    records: Records
    runtime: Callable[[], Mapping[str, RuntimePod]]
    in_thread: Callable[[Callable[[], None]], Awaitable[None]] = asyncio.to_thread
    watch: Watch = field(default_factory=Watch)
    now: Callable[[], float] = time.monotonic


class Intake:
    """One per process; runs two tasks, `admit_for_ever` and `keep_house_for_ever`."""

    def __init__(self, dispatcher: Dispatcher, rows: PodRows, ports: IntakePorts) -> None:
        self._dispatcher = dispatcher
        self._rows = rows
        self._admission = ports.admission
        self._allocations = ports.allocations
        self._records = ports.records
        self._runtime = ports.runtime
        self._in_thread = ports.in_thread
        self._watch = ports.watch
        self._now = ports.now
        self._desired: dict[str, Pod] = {}
        self._seen_at: dict[str, float] = {}
        self._rejected: dict[str, Rejection] = {}
        self._to_admit: list[str] = []
        self._pending: set[str] = set()
        """queued or being admitted"""
        self._more = asyncio.Event()
        self._look = asyncio.Event()

    @property
    def desired(self) -> Mapping[str, Pod]:
        """Every pod that a source has, admitted or not."""
        return self._desired

    def first_seen(self, uid: str) -> float | None:
        """When a source first had the pod (monotonic); None: none has it."""
        return self._seen_at.get(uid)

    # What sources say

    def added(self, pods: Iterable[Pod], *, first_list: bool = False) -> None:
        """New pods. They are admitted oldest first. `first_list`: see `workers.model.PodSeen`."""
        for pod in sorted(pods, key=lambda p: p.metadata.creation_timestamp or ""):
            uid = pod.metadata.uid
            self._desired[uid] = pod
            self._seen_at.setdefault(uid, self._now())
            if uid in self._dispatcher.pool.workers:
                # It ends: it is started anew when that is over, if it was gone in between.
                self._dispatcher.feed(uid, PodSeen(SeenAs.CREATE, pod, first_list=first_list))
            else:
                self.show(uid)
                self._queue(uid)

    def changed(self, pods: Iterable[Pod]) -> None:
        """Pods whose spec, labels or deletion changed."""
        for pod in pods:
            uid = pod.metadata.uid
            self._desired[uid] = pod
            if uid not in self._dispatcher.pool.workers:
                self.show(uid)
            elif uid in self._allocations:
                self._dispatcher.feed(uid, PodSeen(SeenAs.UPDATE, pod))
        self.look()

    def removed(self, pods: Iterable[Pod], *, all_read: bool) -> None:
        """Pods that their source dropped. Before all sources were read an end is not begun (see housekeeping)."""
        for pod in pods:
            uid = pod.metadata.uid
            self._desired.pop(uid, None)
            self._seen_at.pop(uid, None)
            self._rejected.pop(uid, None)
            self._allocations.delete(uid)
            self.show(uid)
            if all_read and uid in self._dispatcher.pool.workers:
                self._dispatcher.feed(uid, KillAsked(dropped=True))
        self.look()

    def look(self) -> None:
        """Have the house looked at soon."""
        self._look.set()

    def show(self, uid: str) -> None:
        """Write the pod's row: from its worker, its rejection, or that it waits to be admitted."""
        worker = self._dispatcher.pool.get(uid)
        if worker is not None:
            self._rows.put(worker, desired=uid in self._desired)
        elif uid in self._rejected:
            self._rows.put_rejected(self._rejected[uid])
        elif uid in self._desired:
            self._rows.put_pending(self._desired[uid])
        else:
            self._rows.delete(uid)
        self.look()

    # Admission

    async def admit_for_ever(self) -> None:
        """Admit what is queued. Those that came together are stored with one write, then all start."""
        while True:
            await self._more.wait()
            self._more.clear()
            batch, self._to_admit = self._to_admit, []
            for uid in [uid for uid in batch if self._needs_no_answer(uid)]:
                batch.remove(uid)
                self._create(uid)
            admitted = [uid for uid in batch if await self._admit(uid)]
            await self._save_allocations()
            for uid in batch:
                self._pending.discard(uid)
            for uid in admitted:
                self._create(uid)
            self.look()

    async def _save_allocations(self) -> None:
        """Before anything of what was admitted starts. A disk that is full does not keep pods from starting."""
        try:
            await self._in_thread(self._allocations.save)
        except OSError as error:
            structlog.get_logger().error("record.not_written", kind="Allocations", error=str(error))

    def _queue(self, uid: str) -> None:
        if uid not in self._pending:
            self._pending.add(uid)
            self._to_admit.append(uid)
            self._more.set()

    async def _admit(self, uid: str) -> bool:
        pod = self._desired.get(uid)
        if pod is None:
            return False  # dropped while it waited
        others = [u for u, w in self._dispatcher.pool.workers.items() if u != uid and may_run(w)]
        answer = await self._admission.admit(pod, others)
        if uid not in self._desired:
            return False
        if answer.admitted:
            self._allocations.put(pod)
            self._watch.admitted(len(all_containers(pod)))
            return True
        rejection = self._rejected[uid] = Rejection(pod, answer.reason, answer.message)
        self._watch.rejected(answer.reason)
        self._records.reject(rejection)
        self.show(uid)
        return False

    def _needs_no_answer(self, uid: str) -> bool:
        """It is over, or it was admitted before a restart and runs: it is not asked again whether it may."""
        pod = self._desired.get(uid)
        if pod is None or pod.status.phase in TERMINAL or uid in self._dispatcher.pool.workers:
            return True
        seen = self._runtime().get(uid)
        return uid in self._allocations and seen is not None and is_running(seen)

    def _create(self, uid: str) -> None:
        self._pending.discard(uid)
        pod = self._desired.get(uid)
        if pod is None:
            return
        runtime = self._runtime()
        if is_static(pod):
            for task in predecessors(uid, pod_full_name(pod), self._known(runtime)):
                self._do(task)
        seen = runtime.get(uid)
        at_rest = pod.status.phase in TERMINAL and (seen is None or not is_running(seen))
        self._dispatcher.feed(uid, PodSeen(SeenAs.CREATE, pod, at_rest))

    # House

    async def keep_house_for_ever(self, is_synced: Callable[[], bool], housekept: Callable[[], None]) -> None:
        """Bring workers, sources and runtime together whenever something changed, and every two seconds."""
        while True:
            try:
                async with asyncio.timeout(HOUSEKEEPING_S):
                    await self._look.wait()
            except TimeoutError:
                pass
            self._look.clear()
            if is_synced():
                for task in plan_housekeeping(self._known(self._runtime())):
                    self._do(task)
                housekept()

    def _known(self, runtime: Mapping[str, RuntimePod]) -> Known:
        return Known(
            desired=frozenset(self._desired),
            rejected=frozenset(self._rejected),
            workers=self._dispatcher.pool.workers,
            runtime=runtime,
            recorded=self._records.uids(),
            ended=self._dispatcher.pool.ended(runtime),
        )

    def _do(self, task: Task) -> None:
        match task:
            case Forget(uid=uid):
                worker = self._dispatcher.pool.get(uid)
                if worker is not None and worker.restart_requested and uid in self._desired:
                    self._watch.pod_restarted(static=worker.static)
                self._records.drop(uid)
                self._dispatcher.forget(uid)
            case NoteOrphan(uid=uid):
                self._dispatcher.feed(uid, Orphaned())
            case Create(uid=uid):
                self._queue(uid)
            case TerminateRuntimePod(uid=uid, full_name=name, static=static):
                self._watch.orphan_found()
                self._dispatcher.feed(uid, FoundInRuntime(name, static))
            case DropRecords(uid=uid):
                self._records.drop(uid)
