"""The look at the node's signals, and what is published of it."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from services.eviction.pressure.core import step
from services.eviction.pressure.model import SIGNALS, Decision, Observation, State
from services.eviction.pressure.observe import SignalReader
from services.eviction.pressure.texts import format_available
from shared.bus import OwnedTable
from shared.checkpoint import Checkpoint
from shared.kube.eviction_thresholds import Threshold
from shared.messages.eviction import NodePressure

KEY: Final = "node"


class PressureWatch:
    """Keeps the state of thresholds. It is stored, so that no condition flips because this daemon restarts."""

    def __init__(
        self,
        thresholds: Sequence[Threshold],
        reader: SignalReader,
        table: OwnedTable[NodePressure],
        checkpoint: Checkpoint[State],
        *,
        transition_s: float,
        failed: Callable[[str | None], None],
    ) -> None:
        """`failed` is told why the state cannot be stored, and None once it can."""
        self.thresholds = list(thresholds)
        self.reader = reader
        self._table = table
        self._checkpoint = checkpoint
        self._transition_s = transition_s
        self._failed = failed
        self._state = known_since_boot(checkpoint.load() or State(), time.monotonic())
        self._stored = self._state
        self.conditions: tuple[str, ...] = ()

    async def look(self) -> tuple[Decision, dict[str, Observation]]:
        """One observation of everything, published before it is returned."""
        observations = await self.reader.observe()
        now = time.monotonic()
        self._state, decision = step(self._state, self.thresholds, observations, now, transition_s=self._transition_s)
        await self._store()
        self.conditions = decision.conditions
        self._table.put(KEY, describe(decision.conditions, observations, now))
        self._table.mark(complete=True, as_of_mono=now)
        return decision, observations

    async def _store(self) -> None:
        """Only what the next life must not forget: nothing is written while there is no pressure."""
        kept = State(
            first_met=self._state.first_met,
            condition_seen=self._state.condition_seen,
            unresolved=self._state.unresolved,
        )
        if kept == self._stored:
            return
        try:
            await asyncio.to_thread(self._checkpoint.save, kept)
        except OSError as error:  # pressure on the disk is what this daemon is here for: it is tried again at each look
            self._failed(f"write {self._checkpoint.path}: {(error.strerror or str(error)).lower()}")
        else:
            self._stored = kept
            self._failed(None)


def known_since_boot(state: State, now_mono: float) -> State:
    """Without times that lie ahead: they are of an earlier boot, whose clock ran longer."""
    return State(
        first_met={k: at for k, at in state.first_met.items() if at <= now_mono},
        condition_seen={k: at for k, at in state.condition_seen.items() if at <= now_mono},
        unresolved=list(state.unresolved),
    )


def describe(conditions: Sequence[str], observations: Mapping[str, Observation], now_mono: float) -> NodePressure:
    """The row that others read."""
    return NodePressure(
        conditions=list(conditions),
        signals={
            signal: "/".join(format_available(SIGNALS[signal].resource, n) for n in (seen.available, seen.capacity))
            for signal, seen in sorted(observations.items())
        },
        observed_at_mono=now_mono,
    )
