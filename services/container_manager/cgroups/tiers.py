"""Keeps `burstable`, `besteffort` and what of `kubepods` depends on the pods in step with the active pods."""

from collections.abc import Awaitable, Callable
from functools import partial

from structlog.typing import FilteringBoundLogger

from services.container_manager.cgroups.core import pod_share, tier_limits
from services.container_manager.cgroups.model import Limits, PodShare, Policy
from services.container_manager.ports import Groups
from shared.cgroups.names import QosClass
from shared.kube.quantity import InvalidQuantity
from shared.messages.pod_sync import PodEntry


class Tiers:
    """`run` carries a blocking call out in the thread that changes groups, in order."""

    def __init__(
        self,
        groups: Groups,
        policy: Policy,
        *,
        run: Callable[[Callable[[], list[str]]], Awaitable[list[str]]],
        log: FilteringBoundLogger,
    ) -> None:
        self._groups = groups
        self._policy = policy
        self._run = run
        self._log = log
        self._shares: dict[str, PodShare] = {}
        self._applied: dict[QosClass, Limits] = {}
        self._stale = True
        self._scheduled = False

    @property
    def shares(self) -> dict[str, PodShare]:
        """What each active pod adds, by UID."""
        return self._shares

    def see(self, uid: str, entry: PodEntry | None) -> None:
        """A row of `pods` changed. A pod whose quantities cannot be read adds nothing (it is not admitted either)."""
        self._stale = True
        self._shares.pop(uid, None)
        if entry is None or not entry.admitted or not entry.may_run or not entry.pod.spec.containers:
            return
        try:
            self._shares[uid] = pod_share(entry.pod)
        except InvalidQuantity as error:
            self._log.warning("pod.unreadable_quantity", pod_uid=uid, error=str(error))

    def refresh_soon(self, spawn: Callable[..., object]) -> None:
        """Refresh in a task of its own; many changes at once make one."""
        if not self._scheduled:
            self._scheduled = True
            spawn(self._refresh_scheduled(), name="tiers")

    async def _refresh_scheduled(self) -> None:
        self._scheduled = False
        await self.refresh()

    async def refresh(self, *, always: bool = False) -> None:
        """Write what changed since the last time; with `always` everything (somebody may have changed a file)."""
        if not self._stale and not always:
            return
        self._stale = False
        wanted = tier_limits(self._shares.values(), self._policy, self._groups.sizes)
        changed = {qos: limits for qos, limits in wanted.items() if always or self._applied.get(qos) != limits}
        self._applied |= changed  # before waiting: a later call must not write the same again
        for qos, limits in changed.items():
            name = self._policy.groups.tier(qos)
            errors = await self._run(partial(self._groups.update, name, limits))
            if errors:
                self._applied.pop(qos, None)
                self._stale = True
                self._log.warning("tier.update_failed", tier=str(name), errors=errors)
