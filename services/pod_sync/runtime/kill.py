"""Killing containers (upstream `kuberuntime`, killContainer and killContainersWithSyncResult)."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from services.pod_sync.runtime.grace import grace_of, remaining, stop_timeout
from services.pod_sync.runtime.hooks import HookError, HookPlace, HookRunner
from services.pod_sync.runtime.model import NORMAL, WARNING, EventSink, KillOrder, KillTarget
from services.pod_sync.runtime.ordering import TerminationOrder
from services.pod_sync.runtime.ports import RuntimeService
from shared.cri import api
from shared.errors import NotFound, OctoletError


@dataclass
class Kills:
    """Kills containers. `now` is monotonic seconds.

    A preStop hook that outlives the grace is left alone, not cancelled, and is not run a second time when the kill is
    repeated meanwhile with less grace.
    """

    cri: RuntimeService
    hooks: HookRunner
    now: Callable[[], float] = time.monotonic
    _pre_stops: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def kill(
        self, target: KillTarget, order: KillOrder, event: EventSink, *, turns: TerminationOrder | None = None
    ) -> None:
        """Give it its grace, then stop it. NotFound is success. Raises what the runtime answered.

        Every step takes from the same grace: the hook, the wait for those that must end first, the signal.
        """
        grace = grace_of(target, order.reason, order.grace_s)
        event(target.name, NORMAL, "Killing", order.message or f"Stopping container {target.name}")
        if target.pre_stop is not None and grace > 0 and target.container_id not in order.skip_pre_stop:
            grace = remaining(grace, await self._pre_stop(target, order, event, grace))
        if turns is not None:
            grace = remaining(grace, await turns.wait_turn(target.name, grace))
        request = api.StopContainerRequest(container_id=target.container_id, timeout=stop_timeout(grace))
        with contextlib.suppress(NotFound):  # what is gone has stopped
            await self.cri.stop_container(request)
        if turns is not None:
            turns.ended(target.name)

    async def kill_all(
        self,
        targets: Sequence[KillTarget],
        order: KillOrder,
        event: EventSink,
        *,
        turns: TerminationOrder | None = None,
    ) -> None:
        """Kill all of them at once. Raises the first failure after all were tried, with the others as notes."""
        results = await asyncio.gather(
            *(self.kill(target, order, event, turns=turns) for target in targets), return_exceptions=True
        )
        failures = [result for result in results if isinstance(result, BaseException)]
        if not failures:
            return
        unexpected = next((failure for failure in failures if not isinstance(failure, OctoletError)), None)
        first = unexpected or failures[0]
        for other in failures:
            if other is not first:
                first.add_note(str(other))
        raise first

    async def _pre_stop(self, target: KillTarget, order: KillOrder, event: EventSink, grace_s: int) -> float:
        """Seconds that the hook took, at most the grace."""
        started = self.now()
        task = self._pre_stops.get(target.container_id)
        if task is None:
            task = asyncio.create_task(self._run_hook(target, order, event), name=f"pre-stop {target.name}")
            self._pre_stops[target.container_id] = task
            task.add_done_callback(lambda _: self._pre_stops.pop(target.container_id, None))
        await asyncio.wait({task}, timeout=grace_s)
        if task.done():
            task.result()  # an unexpected error is not lost
        return self.now() - started

    async def _run_hook(self, target: KillTarget, order: KillOrder, event: EventSink) -> None:
        assert target.pre_stop is not None
        place = HookPlace(
            container_id=target.container_id,
            container=target.name,
            pod=target.pod,
            sandbox_id=target.sandbox_id,
            ports=target.ports,
        )
        try:
            await self.hooks.run(target.pre_stop, place, event)
        except HookError:
            event(target.name, WARNING, "FailedPreStopHook", "PreStopHook failed")
        order.pre_stop_ended(target.container_id)
