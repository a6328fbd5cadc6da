"""Stand-ins for the other daemons, and for the room that computes statuses."""

import asyncio
from collections.abc import Callable, Mapping

from services.pod_sync.containers.core_restart import newest
from services.pod_sync.ports import StatusInputs, Waited
from services.pod_sync.records.progress import Progress, WaitingReason
from services.pod_sync.rows import Rejection
from shared.errors import Transient
from shared.kube.pods import is_static
from shared.kube.types import Pod, PodStatus
from shared.messages.container_manager import Admitted, PodCgroupPhase, PodResources
from shared.messages.pleg import Relist, Relisted, RuntimePod
from shared.messages.pod_sync import PodEntry
from shared.messages.prober import ContainerProbes
from shared.messages.volume_manager import PodVolumes, VolumesPhase
from tests.pod_sync.shell.world import World

TERMINAL = ("Failed", "Succeeded")


class FakePleg:
    """Lists the world each second and when asked. It is another process: it lives on when pod_sync dies."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rows: dict[str, RuntimePod] = {}
        self.as_of_mono = 0.0
        self.on_row: Callable[[str], None] = lambda uid: None
        self._marks: list[Callable[[], None]] = []

    def get(self, key: str) -> RuntimePod | None:
        return self.rows.get(key)

    def on_mark(self, callback: Callable[[], None]) -> None:
        self._marks = [callback]

    async def list_for_ever(self) -> None:
        while True:
            started = self._world.now()
            await asyncio.sleep(0.02)
            if not self._world.down:
                for uid in self._world.uids() | set(self.rows):
                    self._take_in(uid, self._world.pod(uid), started)
                self.as_of_mono = started
                for callback in self._marks:
                    callback()
            await asyncio.sleep(1.0)

    async def relist(self, request: Relist) -> Relisted:
        started = self._world.now()
        await asyncio.sleep(0.02)
        if self._world.down:
            raise Transient("runtime is away")
        self._take_in(request.pod_uid, self._world.pod(request.pod_uid), started)
        return Relisted(as_of_mono=started, pod=self.rows.get(request.pod_uid))

    def _take_in(self, uid: str, seen: RuntimePod | None, started: float) -> None:
        old = self.rows.get(uid)
        if seen is None:
            if self.rows.pop(uid, None) is not None:
                self.on_row(uid)
        elif old is None or (old.sandboxes, old.containers) != (seen.sandboxes, seen.containers):
            self.rows[uid] = RuntimePod(
                name=seen.name,
                namespace=seen.namespace,
                listed_at_mono=started,
                sandboxes=seen.sandboxes,
                containers=seen.containers,
            )
            self.on_row(uid)


class FakePeers:
    """volume_manager and container_manager: they follow the `pods` table, a moment later."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._volumes: dict[str, PodVolumes] = {}
        self._resources: dict[str, PodResources] = {}
        self._changed = asyncio.Event()
        self._unconfirmed: set[str] = set()
        self.away = False
        self.refused: dict[str, Admitted] = {}
        self.network: str | None = None
        self.outcomes: dict[str, ContainerProbes] = {}

    # The `pods` table, as these daemons see it

    def new_generation(self) -> None:
        """The owner of `pods` was started again: rows that it does not publish anew vanish once it is complete."""
        self._unconfirmed = set(self._world.rows)

    def complete(self) -> None:
        for uid in self._unconfirmed & set(self._world.rows):
            self.delete(uid)
        self._unconfirmed = set()

    def put(self, key: str, value: PodEntry) -> None:
        self._unconfirmed.discard(key)
        self._world.rows[key] = value
        asyncio.get_running_loop().call_later(0.03, self._react, key)

    def delete(self, key: str) -> None:
        if self._world.rows.pop(key, None) is not None:
            asyncio.get_running_loop().call_later(0.03, self._react, key)

    def come_back(self) -> None:
        self.away = False
        for uid in set(self._world.rows) | set(self._volumes):
            self._react(uid)
        self._notify()

    def _react(self, uid: str) -> None:
        if self.away:
            return
        row = self._world.rows.get(uid)
        if row is None:
            self._volumes.pop(uid, None)
            self._resources.pop(uid, None)
        elif row.may_run and not row.admitted:
            return
        elif row.may_run:
            self._volumes[uid] = PodVolumes(phase=VolumesPhase.MOUNTED, pod_dir=f"/pods/{uid}")
            self._resources[uid] = PodResources(phase=PodCgroupPhase.READY, cgroup_parent=f"/kubepods/{uid}")
        else:
            assert not any(owner == uid for owner, _ in self._world.running()), "unmounted under a container"
            self._volumes[uid] = PodVolumes(phase=VolumesPhase.UNMOUNTED)
            self._resources[uid] = PodResources(phase=PodCgroupPhase.RELEASED)
        self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    # `ports.Peers`

    async def wait_resources(self, uid: str, cancel: asyncio.Event) -> Waited:
        return await self._wait(lambda: _phase(self._resources.get(uid)) in ("ready", "failed"), cancel, None)

    async def prepare(self, pod: Pod) -> PodResources:
        return self._resources[pod.metadata.uid]

    async def wait_volumes(self, uid: str, cancel: asyncio.Event, timeout_s: float) -> Waited:
        return await self._wait(lambda: _phase(self._volumes.get(uid)) == "mounted", cancel, timeout_s)

    async def wait_unmounted(self, uid: str) -> None:
        await self._wait(lambda: _phase(self._volumes.get(uid)) in ("", "unmounted"), asyncio.Event(), None)

    async def wait_released(self, uid: str) -> None:
        await self._wait(lambda: _phase(self._resources.get(uid)) in ("", "released"), asyncio.Event(), None)

    async def _wait(self, holds: Callable[[], bool], cancel: asyncio.Event, timeout_s: float | None) -> Waited:
        cancelled = asyncio.create_task(cancel.wait())
        try:
            async with asyncio.timeout(timeout_s):
                while not holds():
                    moved = asyncio.create_task(self._changed.wait())
                    await asyncio.wait({moved, cancelled}, return_when=asyncio.FIRST_COMPLETED)
                    moved.cancel()
                    if cancel.is_set():
                        return Waited.CANCELLED
        except TimeoutError:
            return Waited.TIMED_OUT
        finally:
            cancelled.cancel()
        return Waited.DONE

    async def admit(self, pod: Pod, others: list[str]) -> Admitted:
        await self._wait(lambda: not self.away, asyncio.Event(), None)
        await asyncio.sleep(0.01)
        return self.refused.get(pod.metadata.uid, Admitted(admitted=True))

    async def unprepare(self, uid: str) -> None:
        await self._wait(lambda: not self.away, asyncio.Event(), None)

    def resources(self, uid: str) -> PodResources | None:
        return self._resources.get(uid)

    def volumes(self, uid: str) -> PodVolumes | None:
        return self._volumes.get(uid)

    def probes(self) -> Mapping[str, ContainerProbes]:
        return self.outcomes

    def network_error(self) -> str | None:
        return self.network

    def node_ips(self) -> tuple[str, ...]:
        return ("192.0.2.1",)


class FakeStatuses:
    """Phases only, by the rules that the runs depend on: over when all has ended for good; terminal is for good."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.finished: list[str] = []
        self.rejected: dict[str, Rejection] = {}

    def current(self, uid: str) -> PodStatus | None:
        return self._progress.status(uid)

    async def update(self, uid: str, inputs: StatusInputs) -> PodStatus:
        old = self.current(uid)
        phase = _computed_phase(inputs)
        if old is not None and old.phase in TERMINAL:
            phase = old.phase
        status = PodStatus(phase=phase)
        if inputs.override is not None and (old is None or old.phase not in TERMINAL):
            override = inputs.override
            terminal = inputs.stopped
            status = PodStatus(phase=override.phase if terminal else phase, reason=override.reason)
        meta = inputs.pod.metadata
        self._progress.put_status(uid, status, name=meta.name, namespace=meta.namespace)
        return status

    async def refresh(self, uid: str) -> None:
        return

    def finish(self, uid: str, pod: Pod) -> None:
        self.finished.append(uid)

    def set_reasons(self, uid: str, changed: Mapping[str, WaitingReason | None]) -> None:
        self._progress.set_reasons(uid, changed)

    def uids(self) -> frozenset[str]:
        return self._progress.uids()

    def reject(self, rejection: Rejection) -> None:
        self.rejected[rejection.pod.metadata.uid] = rejection

    def drop(self, uid: str) -> None:
        self._progress.delete(uid)


def _computed_phase(inputs: StatusInputs) -> str:
    states = [newest(inputs.seen, c.name) for c in inputs.pod.spec.containers]
    ended = [s for s in states if s is not None and s.state == "exited"]
    over = len(ended) == len(states)
    good = all(s.exit_code == 0 for s in ended)
    for_good = inputs.pod.spec.restart_policy == "Never" or (inputs.stopped and not is_static(inputs.pod))
    if over and for_good:
        return "Succeeded" if good else "Failed"
    return "Running" if any(s is not None and s.state == "running" for s in states) else "Pending"


def _phase(row: PodVolumes | PodResources | None) -> str:
    return str(row.phase) if row is not None else ""
