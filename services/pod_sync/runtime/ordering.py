"""In which order a pod's containers end: sidecars after what they serve (upstream `kuberuntime`, termination_order)."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Self

from shared.kube.pods import is_restartable_init
from shared.kube.types import Pod


class TerminationOrder:
    """Shared by the kills of one pod's containers, all of which run at the same time.

    A sidecar waits until every regular container and the next later sidecar have ended. What was not running counts
    as ended.
    """

    def __init__(
        self,
        *,
        waits_for: dict[str, tuple[str, ...]],
        running: Iterable[str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._waits_for = waits_for
        self._running = {name: asyncio.Event() for name in running}
        self._now = now

    @classmethod
    def of(cls, pod: Pod, running: Iterable[str], *, now: Callable[[], float] = time.monotonic) -> Self:
        """The order for that pod, of which the containers named `running` are running."""
        return cls(waits_for=termination_prerequisites(pod), running=running, now=now)

    async def wait_turn(self, name: str, grace_s: float) -> float:
        """Wait until it is that container's turn, at most `grace_s`. Returns the seconds that it took."""
        started = self._now()
        events = [self._running[other] for other in self._waits_for.get(name, ()) if other in self._running]
        if grace_s > 0 and events:
            try:
                async with asyncio.timeout(grace_s):
                    for event in events:
                        await event.wait()
            except TimeoutError:
                pass  # its grace is used up: it is stopped now, whatever still runs
        return self._now() - started

    def ended(self, name: str) -> None:
        """That container has stopped."""
        event = self._running.get(name)
        if event is not None:
            event.set()


def termination_prerequisites(pod: Pod) -> dict[str, tuple[str, ...]]:
    """For each sidecar the containers that must have ended before it is stopped. Pure; empty without sidecars."""
    regular = tuple(container.name for container in pod.spec.containers)
    result: dict[str, tuple[str, ...]] = {}
    later: tuple[str, ...] = ()
    for container in reversed(pod.spec.init_containers):
        if is_restartable_init(container):
            result[container.name] = (*regular, *later)
            later = (container.name,)
    return result
