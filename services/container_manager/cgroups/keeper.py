"""Carries out what `core.plan_pod` decides, pod by pod, and publishes `pod_resources`.

One task per pod at a time; it plans, acts, and plans again until nothing is to be done, so that whatever happens
meanwhile is seen. Groups are made and written in one thread, in order; removals, which wait for processes to die, have
threads of their own.
"""

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from structlog.typing import FilteringBoundLogger

from services.container_manager.cgroups import core
from services.container_manager.cgroups.model import (
    Destroy,
    Ensure,
    Forget,
    Limits,
    PodAction,
    PodSeen,
    PodWant,
    Policy,
    Ready,
    Release,
    Throttle,
)
from services.container_manager.cgroups.tiers import Tiers
from services.container_manager.metrics import ManagerMetrics
from services.container_manager.ports import Groups
from shared.bus import Change, OwnedTable, TableView
from shared.cgroups.formulas import MIN_SHARES
from shared.cgroups.names import CgroupName, QosClass
from shared.errors import Invalid, OctoletError
from shared.kube.quantity import InvalidQuantity
from shared.kube.types import Pod
from shared.messages.container_manager import PodCgroupPhase, PodResources
from shared.messages.pod_sync import PodEntry
from shared.messages.volume_manager import PodVolumes

T = TypeVar("T")

RETRY_FIRST_S: Final = 1.0
RETRY_MAX_S: Final = 30.0
REMOVALS_AT_ONCE: Final = 4


class PodGroupKeeper:
    """The groups of all pods. Use in one event loop; `spawn` starts a task that ends by itself."""

    def __init__(
        self,
        groups: Groups,
        policy: Policy,
        table: OwnedTable[PodResources],
        *,
        views: tuple[TableView[PodEntry], TableView[PodVolumes]],
        spawn: Callable[..., asyncio.Task[None]],
        observers: tuple[ManagerMetrics, FilteringBoundLogger],
    ) -> None:
        self._groups = groups
        self._policy = policy
        self._table = table
        self._pods, self._volumes = views
        self._spawn = spawn
        self._metrics, self._log = observers
        self._there: dict[str, CgroupName] = {}
        self._finished: set[str] = set()
        """pods whose values this life has set, or found set"""
        self._throttled: set[str] = set()
        self._prepared: dict[str, Pod] = {}
        """asked for by `prepare_pod` before the `pods` table named them"""
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._dirty: set[str] = set()
        self._failures: dict[str, int] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="groups")
        self._removers = ThreadPoolExecutor(REMOVALS_AT_ONCE, thread_name_prefix="removal")
        self.tiers = Tiers(groups, policy, run=self.run, log=self._log)

    async def run(self, work: Callable[[], T]) -> T:
        """A blocking call in the thread that changes groups."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    async def start(self) -> None:
        """See what is there, publish it, and from now on react to pods and their volumes."""
        self._there = await self.run(lambda: self._groups.list_pods(self._policy.groups))
        for uid, name in self._there.items():
            self._table.put(uid, self._row(PodCgroupPhase.READY, name))
        for uid, entry in self._pods.items():
            self.tiers.see(uid, entry)
        await self.tiers.refresh(always=True)
        self._pods.on_change(self._on_pod)
        self._volumes.on_change(lambda change: self.touch(change.key))
        self._pods.on_mark(self._on_mark)
        self._volumes.on_mark(self._touch_all)
        self._touch_all()

    def touch(self, uid: str) -> None:
        """Look at that pod (again)."""
        self._dirty.add(uid)
        if uid not in self._busy:
            self._busy[uid] = self._spawn(self._settle(uid), name=f"pod {uid}")

    async def prepare(self, pod: Pod) -> PodResources:
        """Have the pod's group made now. The row says `failed` with the error when it cannot be."""
        uid = pod.metadata.uid
        if uid not in self._pods:
            self._prepared[uid] = pod
        name = self._there.get(uid)
        if name is not None and uid not in self._busy and not await self.run(lambda: self._groups.exists(name)):
            self._lose(uid)
        self._failures.pop(uid, None)
        self.touch(uid)
        while (task := self._busy.get(uid)) is not None:
            await asyncio.wait({task})
        return self._table.get(uid) or PodResources(phase=PodCgroupPhase.FAILED, error="the pod's end was asked for")

    def name_of(self, uid: str) -> CgroupName | None:
        """The pod's group, if it is there."""
        return self._there.get(uid)

    def names(self) -> dict[str, CgroupName]:
        """Groups that are there, by pod UID."""
        return dict(self._there)

    async def refresh(self) -> None:
        """Look at all groups again: what somebody else made or removed is put right."""
        found = await self.run(lambda: self._groups.list_pods(self._policy.groups))
        broken = await self.run(lambda: [u for u, name in found.items() if not self._groups.exists(name)])
        for uid in [u for u in self._there if u not in self._busy]:
            gone = self._policy.per_qos and uid not in found
            if gone or (uid in broken and uid in self._pods):
                self._log.warning("group.lost", pod_uid=uid)
                self._lose(uid)
        for uid, name in found.items():
            if uid not in self._busy and uid not in broken:
                self._there.setdefault(uid, name)
        await self.tiers.refresh(always=True)
        self._touch_all()

    def _lose(self, uid: str) -> None:
        self._there.pop(uid, None)
        self._finished.discard(uid)
        self._throttled.discard(uid)

    def _on_pod(self, change: Change[PodEntry]) -> None:
        self._prepared.pop(change.key, None)
        self.tiers.see(change.key, change.new)
        self.touch(change.key)
        self.tiers.refresh_soon(self._spawn)

    def _on_mark(self) -> None:
        if self._pods.complete:
            self._prepared.clear()  # pod_sync names every pod of its own before it says so
            self._touch_all()

    def _touch_all(self) -> None:
        for uid in {*self._there, *self._pods.keys(), *self._table.keys()}:
            self.touch(uid)

    async def _settle(self, uid: str) -> None:
        try:
            while uid in self._dirty:
                self._dirty.discard(uid)
                action = self._plan(uid)
                if action is None:
                    continue
                try:
                    await self._perform(uid, action)
                except OctoletError as error:
                    self._fail(uid, action, error)
                else:
                    self._failures.pop(uid, None)
                    self._dirty.add(uid)
        finally:
            del self._busy[uid]

    def _plan(self, uid: str) -> PodAction | None:
        row = self._table.get(uid)
        volumes = self._volumes.get(uid)
        seen = PodSeen(
            group=self._there.get(uid),
            volumes=volumes.phase if volumes is not None else None,
            volumes_known=self._volumes.complete,
            row=row.phase
            if row is not None and (row.phase is not PodCgroupPhase.READY or uid in self._finished)
            else None,
            throttled=uid in self._throttled,
        )
        return core.plan_pod(self._want(uid), seen, pods_complete=self._pods.complete)

    def _want(self, uid: str) -> PodWant | None:
        entry = self._pods.get(uid)
        if entry is not None:
            return core.pod_want(uid, entry, self._policy)
        pod = self._prepared.get(uid)
        return core.prepared_want(pod, self._policy) if pod is not None else None

    def _limits(self, uid: str) -> Limits | None:
        """Values for the pod's group; None: its spec is not known. Raises Invalid for a quantity that is none."""
        entry = self._pods.get(uid)
        pod = self._prepared.get(uid) if entry is None else entry.pod if core.knows_spec(entry) else None
        try:
            return core.pod_limits(pod, self._policy) if pod is not None else None
        except InvalidQuantity as error:
            raise Invalid(f"compute cgroup values of pod {uid}: {error}") from error

    async def _perform(self, uid: str, action: PodAction) -> None:
        started = time.monotonic()
        match action:
            case Ensure(name, qos):
                await self.tiers.refresh()
                limits = self._limits(uid) or Limits()
                self._report(uid, await self.run(lambda: self._groups.create(name, limits)))
                self._there[uid] = name
                self._finished.add(uid)
                self._table.put(uid, self._row(PodCgroupPhase.READY, name, qos))
                self._metrics.group_done("create", time.monotonic() - started)
            case Ready(name, qos):
                known = self._limits(uid)
                if known is not None and uid not in self._finished:
                    self._report(uid, await self.run(lambda: self._groups.finish(name, known)))
                self._finished.add(uid)
                self._table.put(uid, self._row(PodCgroupPhase.READY, name, qos))
            case Throttle(name):
                await self.run(lambda: self._groups.update(name, Limits(cpu_shares=MIN_SHARES)))
                self._throttled.add(uid)
            case Destroy(name):
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._removers, lambda: self._groups.destroy(name))
                self._lose(uid)
                self._metrics.group_done("destroy", time.monotonic() - started)
                self._log.info("group.removed", pod_uid=uid, **self._pod_field(uid))
                self._table.put(uid, PodResources(phase=PodCgroupPhase.RELEASED))
            case Release():
                self._table.put(uid, PodResources(phase=PodCgroupPhase.RELEASED))
            case Forget():
                self._lose(uid)
                self._table.delete(uid)

    def _fail(self, uid: str, action: PodAction, error: OctoletError) -> None:
        """Publish why, and try again after a growing pause (or sooner, when something about the pod changes)."""
        count = self._failures[uid] = self._failures.get(uid, 0) + 1
        self._log.warning("group.failed", pod_uid=uid, action=type(action).__name__, error=str(error), failures=count)
        if isinstance(action, Ensure):
            self._table.put(uid, PodResources(phase=PodCgroupPhase.FAILED, qos_class=action.qos, error=str(error)))
        pause = min(RETRY_MAX_S, RETRY_FIRST_S * 2 ** min(count - 1, 10)) * random.uniform(0.8, 1.2)
        asyncio.get_running_loop().call_later(pause, self.touch, uid)

    def _pod_field(self, uid: str) -> dict[str, str]:
        """The pod's name for a log line, if it is known."""
        entry = self._pods.get(uid)
        return {} if entry is None else {"pod": f"{entry.pod.metadata.namespace}/{entry.pod.metadata.name}"}

    def _report(self, uid: str, errors: list[str]) -> None:
        if errors:
            self._log.warning("group.values_not_set", pod_uid=uid, errors=errors)

    def _row(self, phase: PodCgroupPhase, name: CgroupName, qos: QosClass | None = None) -> PodResources:
        parent = name.path(self._policy.driver) if self._policy.per_qos else ""
        return PodResources(phase=phase, cgroup_parent=parent, qos_class=qos or self._policy.groups.qos_of(name))
