"""What the runtime was last seen doing with one pod: pleg's table, or its answer to `relist` where that is newer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from services.pod_sync.containers.core_restart import without_cut_starts
from shared.errors import OctoletError
from shared.messages.pleg import Relist, Relisted, RuntimePod

RELIST_TIMEOUT_S: Final = 15.0
"""a listing that takes longer is asked for again; the one that is under way is then shared"""


@dataclass(frozen=True)
class Observation:
    """A pod as of a listing that began at `as_of_mono`; `pod` None: the runtime knew nothing of it."""

    as_of_mono: float
    pod: RuntimePod | None


class RuntimeTable(Protocol):
    """What is used of the `runtime_pods` view."""

    @property
    def as_of_mono(self) -> float: ...

    def get(self, key: str) -> RuntimePod | None: ...

    def on_mark(self, callback: Callable[[], None]) -> None: ...


class Observations:
    """Newest observation per pod. `ask` is the request `relist`; `lost` is told that pleg is away (text) or back.

    `begun(uid)` has the attempts to start containers of the pod whose outcome was not heard yet.
    """

    def __init__(
        self,
        table: RuntimeTable,
        ask: Callable[[Relist], Awaitable[Relisted]],
        lost: Callable[[str | None], None],
        begun: Callable[[str], Mapping[str, int]],
    ) -> None:
        self._table = table
        self._ask = ask
        self._lost = lost
        self._begun = begun
        self._answers: dict[str, Observation] = {}
        self._moved = asyncio.Event()
        table.on_mark(self._wake)

    def latest(self, uid: str) -> Observation:
        """The newest there is. `as_of_mono` 0.0: the runtime was never listed."""
        row = self._table.get(uid)
        as_of = max(self._table.as_of_mono, row.listed_at_mono if row is not None else 0.0)
        answer = self._answers.get(uid)
        if answer is not None and answer.as_of_mono > as_of:
            return answer
        self._answers.pop(uid, None)
        return Observation(as_of, without_cut_starts(row, self._begun(uid)))

    async def after(self, uid: str, after_mono: float) -> Observation:
        """One that began after `after_mono`. Waits for as long as it takes; asks for a listing, never polls."""
        while True:
            moved = self._moved
            seen = self.latest(uid)
            if seen.as_of_mono > after_mono:
                return seen
            if not await self.relist(uid):
                await moved.wait()

    async def relist(self, uid: str) -> bool:
        """Have the pod listed now. False: pleg or the runtime is away; its next listing will come by itself."""
        try:
            reply = await self._ask(Relist(pod_uid=uid))
        except OctoletError as error:
            self._lost(f"list pod {uid}: {error}")
            return False
        self._lost(None)
        if reply.as_of_mono > self.latest(uid).as_of_mono:
            self._answers[uid] = Observation(reply.as_of_mono, without_cut_starts(reply.pod, self._begun(uid)))
        return True

    def forget(self, uid: str) -> None:
        self._answers.pop(uid, None)

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
