"""Brings each pod's volumes from what they are to what is wanted: carries out the planner's actions and publishes."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from services.volume_manager import core, pod_dir
from services.volume_manager.model import (
    Action,
    ActualPod,
    DesiredPod,
    Done,
    Failed,
    Operation,
    Outcome,
    Stage,
    VolumeKey,
)
from services.volume_manager.ports import Followed, Machine, Owned
from services.volume_manager.volumes.base import NotKnownYet, VolumeRequest, common_user, is_path_element, referenced
from services.volume_manager.volumes.registry import type_of_key, type_of_volume
from shared.errors import OctoletError
from shared.kube.types import Pod, Volume
from shared.messages.pleg import RuntimePod
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import PodVolumes, VolumesPhase


class Report(Protocol):
    """Who is told what happened: people through Kubernetes Events and logs, Prometheus through metrics."""

    def operation_ended(
        self, uid: str, pod: Pod | None, action: Action, outcome: Outcome, duration_s: float
    ) -> None: ...

    def all_mounted(self, uid: str, volumes: Sequence[VolumeKey], duration_s: float) -> None:
        """All volumes of a pod are ready, `duration_s` after it was first seen."""
        ...

    def published(self, uid: str, row: PodVolumes | None) -> None:
        """The pod's row is this now (None: it has none any more)."""
        ...


@dataclass(frozen=True)
class Tables:
    """`pods` and `runtime` are followed, `volumes` is owned."""

    pods: Followed[PodEntry]
    runtime: Followed[RuntimePod]
    volumes: Owned[PodVolumes]


class Reconciler:
    """One `look` per pod and change; no loop and no polling. All methods run in the event loop.

    `start` runs an operation as a task of the process, so that an unexpected exception in one ends it.
    """

    def __init__(
        self,
        root_dir: str,
        machine: Machine,
        *,
        tables: Tables,
        report: Report,
        start: Callable[[Coroutine[Any, Any, None]], object],
        clock: Callable[[], float],
    ) -> None:
        self._root_dir = root_dir
        self._machine = machine
        self._tables = tables
        self._report = report
        self._start = start
        self._clock = clock
        self._pods: dict[str, ActualPod] = {}
        self._seen_at: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unsettled: set[str] = set()
        self._settled = asyncio.Event()
        self._settled.set()

    async def scan(self) -> list[VolumeKey]:
        """Learn of pod directories on disk that nothing is known of. Returns the volumes that were found."""
        files = self._machine.files

        def look() -> dict[str, ActualPod]:
            known = set(self._pods)
            new = [uid for uid in pod_dir.list_uids(files, self._root_dir) if uid not in known]
            return {uid: pod_dir.look(files, pod_dir.pod_dir_of(self._root_dir, uid)) for uid in new}

        found = await self._machine.run(look)
        added = {uid: actual for uid, actual in found.items() if uid not in self._pods}
        self._pods.update(added)
        for uid in added:
            self.look(uid)
        return [key for actual in added.values() for key in actual.volumes]

    def pod_changed(self, uid: str, new: PodEntry | None) -> None:
        """The owner of the pods says something else of this one (None: it dropped it)."""
        if new is not None:
            self._seen_at.setdefault(uid, self._clock())
            if uid in self._pods:
                self._pods[uid] = core.refresh(self._pods[uid], self._followers(new.pod))
        self.look(uid)

    def look_at_orphans(self) -> None:
        """What absence means may have changed."""
        for uid in [uid for uid in self._pods if self._tables.pods.get(uid) is None]:
            self.look(uid)

    def fact_became_known(self) -> None:
        """Let volumes that wait for a fact of the node try again; refresh those that show one."""
        for uid in list(self._pods):
            actual = core.poke(self._pods[uid])
            entry = self._tables.pods.get(uid)
            if entry is not None:
                actual = core.refresh(actual, self._followers(entry.pod))
            self._pods[uid] = actual
            self.look(uid)

    async def wait_settled(self, timeout_s: float) -> bool:
        """Wait until every pod that is wanted was tried at least once. False: the time is over first."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def publish_all(self) -> None:
        """Publish also the pods whose first attempt has not ended."""
        for uid in list(self._unsettled):
            self._settle(uid)
            self._put(uid, core.published(self._desired(uid), self._pods[uid], self._dir(uid)))

    def actual(self) -> dict[str, ActualPod]:
        return dict(self._pods)

    def desired_volumes(self) -> list[VolumeKey]:
        """Of all pods that may run, for the metrics."""
        uids = list(self._tables.pods.keys())
        return [key for uid in uids for key in self._desired(uid).volumes.values()]

    def look(self, uid: str) -> None:
        """Plan one pod, start what the plan says, publish."""
        entry = self._tables.pods.get(uid)
        desired = self._desired(uid)
        actual = self._pods.get(uid)
        if actual is None:
            actual = ActualPod() if is_path_element(uid) else core.refuse(f"invalid pod UID {uid!r}")
        plan = core.plan(desired, actual, self._clock())
        for action in plan.actions:
            actual = core.begin(actual, action)
        self._pods[uid] = actual
        for action in plan.actions:
            # The pod as it is now: its row may be gone before the task's first step.
            self._start(self._carry_out(uid, action, None if entry is None else entry.pod))
        self._set_timer(uid, plan.wake_at_mono)
        self._publish(uid, desired, actual)

    def _publish(self, uid: str, desired: DesiredPod, actual: ActualPod) -> None:
        if self._tables.pods.get(uid) is None:
            if core.is_gone(actual):
                self._forget(uid)
                return
            if desired.stage is Stage.UNKNOWN:
                return
        before = self._tables.volumes.get(uid)
        if before is None and not core.is_settled(desired, actual):
            # A pod that runs since before a restart must not look unmounted until its volumes were looked at.
            self._unsettled.add(uid)
            self._settled.clear()
            return
        self._settle(uid)
        row = core.published(desired, actual, self._dir(uid))
        self._put(uid, row)
        if row.phase is VolumesPhase.MOUNTED and (before is None or before.phase is not VolumesPhase.MOUNTED):
            now = self._clock()
            self._report.all_mounted(uid, list(desired.volumes.values()), now - self._seen_at.get(uid, now))

    def _put(self, uid: str, row: PodVolumes) -> None:
        self._tables.volumes.put(uid, row)
        self._report.published(uid, row)

    def _settle(self, uid: str) -> None:
        self._unsettled.discard(uid)
        if not self._unsettled:
            self._settled.set()

    def _forget(self, uid: str) -> None:
        self._settle(uid)
        self._pods.pop(uid, None)
        self._seen_at.pop(uid, None)
        self._tables.volumes.delete(uid)
        self._report.published(uid, None)

    def _set_timer(self, uid: str, wake_at_mono: float | None) -> None:
        old = self._timers.pop(uid, None)
        if old is not None:
            old.cancel()
        if wake_at_mono is not None:
            delay = max(0.0, wake_at_mono - self._clock())
            self._timers[uid] = asyncio.get_running_loop().call_later(delay, self.look, uid)

    def _desired(self, uid: str) -> DesiredPod:
        entry = self._tables.pods.get(uid)
        if entry is not None:
            return DesiredPod(core.stage_of(entry), {v.name or "": _key_of(v) for v in _wanted(entry.pod)})
        pods, runtime = self._tables.pods, self._tables.runtime
        listed = runtime.get(uid)
        running = listed is not None and any(c.state == "running" for c in listed.containers)
        return DesiredPod(
            core.orphan_stage(pods_complete=pods.complete, runtime_complete=runtime.complete, running=running)
        )

    def _followers(self, pod: Pod) -> list[VolumeKey]:
        return [_key_of(v) for v in _wanted(pod) if type_of_volume(v).follows_pod]

    def _dir(self, uid: str) -> str:
        return pod_dir.pod_dir_of(self._root_dir, uid)

    async def _carry_out(self, uid: str, action: Action, pod: Pod | None) -> None:
        began = self._clock()
        outcome: Outcome
        try:
            outcome = await self._perform(uid, action, pod)
        except NotKnownYet as e:
            outcome = Failed(str(e), waiting=True)
        except OctoletError as e:
            outcome = Failed(str(e))
        now = self._clock()
        self._pods[uid] = core.end(self._pods[uid], action, outcome, now)
        self._report.operation_ended(uid, pod, action, outcome, now - began)
        self.look(uid)

    async def _perform(self, uid: str, action: Action, pod: Pod | None) -> Done:
        files, directory, key = self._machine.files, self._dir(uid), action.volume
        if key is None:
            if action.operation is Operation.MAKE_DIR:
                await self._machine.run(lambda: pod_dir.make(files, directory))
            else:
                await self._machine.run(lambda: pod_dir.remove(files, directory, uid))
            return Done()
        if action.operation is Operation.TEAR_DOWN:
            if is_path_element(key.name):
                await self._machine.run(lambda: pod_dir.clean_subpaths(files, directory, key.name))
            await type_of_key(key).tear_down(directory, key, self._machine)
            return Done()
        assert pod is not None, "a set-up is planned only for a pod in the table"
        volume = next(v for v in _wanted(pod) if _key_of(v) == key)
        group = pod.spec.security_context.fs_group if pod.spec.security_context else None
        request = VolumeRequest(pod, volume, key, directory, fs_user=common_user(pod), fs_group=group)
        return Done(await type_of_volume(volume).set_up(request, self._machine))


def _wanted(pod: Pod) -> list[Volume]:
    names = referenced(pod)
    return [v for v in pod.spec.volumes if v.name in names]


def _key_of(volume: Volume) -> VolumeKey:
    return VolumeKey(type_of_volume(volume).plugin, volume.name or "")
