"""pleg under test: its `serve` in this process with a bus in a folder of its own, and a reader beside it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.pleg.settings import PlegSettings
from services.pleg.shell import serve
from shared.bus import Bus, TableView
from shared.messages.daemon import DAEMON, DaemonState
from shared.messages.pleg import RELIST, RUNTIME_HEALTH, RUNTIME_PODS, Relist, Relisted, RuntimeHealth, RuntimePod
from shared.service.context import Context, open_context

QUICK: dict[str, Any] = {"relist_period_s": 0.05, "status_period_s": 0.05, "retry_max_s": 0.1, "status_timeout_s": 0.3}
"""Settings with which a test need not wait."""


@dataclass
class Reader:
    """What pod_sync sees of pleg."""

    bus: Bus
    pods: TableView[RuntimePod]
    health: TableView[RuntimeHealth]
    daemon: TableView[DaemonState]

    async def row(self, uid: str, condition: Callable[[RuntimePod], bool], timeout_s: float = 10.0) -> RuntimePod:
        """The pod's row once the condition holds. Raises AssertionError with the last row when it never does."""

        def holds(view: TableView[RuntimePod]) -> bool:
            found = view.get(uid)
            return found is not None and condition(found)

        assert await self.pods.wait(holds, timeout_s), self.pods.get(uid)
        found = self.pods.get(uid)
        assert found is not None
        return found

    async def gone(self, uid: str, timeout_s: float = 10.0) -> None:
        assert await self.pods.wait(lambda v: v.complete and uid not in v, timeout_s), self.pods.get(uid)

    async def healthy(self, condition: Callable[[RuntimeHealth], bool], timeout_s: float = 10.0) -> RuntimeHealth:
        def holds(view: TableView[RuntimeHealth]) -> bool:
            found = view.get("runtime")
            return found is not None and condition(found)

        assert await self.health.wait(holds, timeout_s), self.health.get("runtime")
        found = self.health.get("runtime")
        assert found is not None
        return found

    async def degraded(self, condition: Callable[[list[str]], bool], timeout_s: float = 10.0) -> list[str]:
        def holds(view: TableView[DaemonState]) -> bool:
            found = view.get("pleg")
            return found is not None and condition(found.degraded)

        assert await self.daemon.wait(holds, timeout_s), self.daemon.get("pleg")
        found = self.daemon.get("pleg")
        assert found is not None
        return found.degraded

    async def relist(self, uid: str = "", timeout_s: float = 5.0) -> Relisted:
        return await self.bus.call(RELIST, Relist(pod_uid=uid), timeout_s=timeout_s)


@asynccontextmanager
async def reading(run_dir: Path) -> AsyncIterator[Reader]:
    """A reader with pod_sync's rights."""
    bus = Bus("pod_sync", run_dir)
    async with bus:
        yield Reader(bus, bus.follow(RUNTIME_PODS), bus.follow(RUNTIME_HEALTH), bus.follow(DAEMON, owner="pleg"))


@asynccontextmanager
async def running_pleg(run_dir: Path, settings: PlegSettings) -> AsyncIterator[Context[PlegSettings]]:
    """The daemon's whole life but its process; leaving asks it to stop and waits for that."""
    async with open_context("pleg", settings, run_dir) as context:
        task = asyncio.create_task(serve(context))
        try:
            yield context
        finally:
            context.stopping.set()
            with suppress(asyncio.CancelledError):
                await task
