"""The passes over the node's pressure, one after the other.

Source: upstream `eviction` (managerImpl.start, synchronize): local limits first, then the most urgent threshold, whose
node-level reclaim comes before any pod, then one pod.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from structlog.typing import FilteringBoundLogger

from services.eviction.events import Events
from services.eviction.pressure import local_storage, texts
from services.eviction.pressure.core import grace_of, is_any_met
from services.eviction.pressure.evictor import Evictor
from services.eviction.pressure.figures import Figures
from services.eviction.pressure.model import SIGNALS, Observation
from services.eviction.pressure.ranking import may_be_evicted, rank
from services.eviction.pressure.watch import PressureWatch
from shared.bus import TableView
from shared.kube.eviction_thresholds import Threshold
from shared.messages.pod_sync import PodEntry

TERMINAL: Final = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Options:
    """Settings of the passes. Seconds."""

    period_s: float
    max_pod_grace_s: int
    local_storage: bool


@dataclass(frozen=True)
class Parts:
    """What a pass works with. `reclaim(signal)` frees what nobody uses on that signal's disk."""

    watch: PressureWatch
    figures: Figures
    evictor: Evictor
    events: Events
    reclaim: Callable[[str], Awaitable[None]]
    pods: TableView[PodEntry]
    degraded: Callable[[str, str | None], None]
    log: FilteringBoundLogger


class Passes:
    """Runs passes for as long as the process."""

    def __init__(self, parts: Parts, options: Options) -> None:
        self._parts = parts
        self._options = options

    async def run(self, after_first: Callable[[], None]) -> None:
        """A pass each period; at once after an eviction, when what the pod held is free. Never returns."""
        first = True
        while True:
            started = time.monotonic()
            evicted = await self.run_once()
            if first:
                first = False
                after_first()
            if evicted:
                await self._parts.evictor.wait_cleaned_up(evicted)
                continue
            await asyncio.sleep(max(0.0, started + self._options.period_s - time.monotonic()))

    async def run_once(self) -> list[str]:
        """One pass. Returns the UIDs of pods that were evicted."""
        decision, observations = await self._parts.watch.look()
        for peer, text in self._parts.watch.reader.missing.items():
            self._parts.degraded(peer, text)
        if self._options.local_storage and (evicted := await self._evict_over_limits()):
            return evicted
        if not decision.reclaim:
            return []
        first = decision.reclaim[0]
        resource = SIGNALS[first.signal].resource
        self._parts.log.warning("pressure.reclaim_began", signal=first.signal, resource=resource)
        self._parts.events.node_warning(texts.THRESHOLD_MET, texts.reclaim_message(first))
        if SIGNALS[first.signal].is_disk:
            await self._parts.reclaim(first.signal)
            observations = {**observations, **await self._parts.watch.reader.observe()}
            if not is_any_met(self._parts.watch.thresholds, observations):
                return []
        return await self._evict_one(decision.reclaim, observations)

    async def _evict_one(self, reclaim: Sequence[Threshold], observations: Mapping[str, Observation]) -> list[str]:
        first = reclaim[0]
        dedicated = self._parts.watch.reader.dedicated_imagefs
        candidates = await self._parts.figures.gather(self._active(), disk=SIGNALS[first.signal].is_disk)
        for candidate in rank(candidates, first.signal, dedicated_imagefs=dedicated):
            if not may_be_evicted(candidate):
                self._parts.log.info("pod.eviction_refused", pod_uid=candidate.uid, text="it is static or critical")
                continue
            own_grace = candidate.pod.spec.termination_grace_period_seconds
            grace_s = grace_of(first, own_grace, self._options.max_pod_grace_s)
            eviction = texts.pressure_eviction(candidate, reclaim, observations, grace_s=grace_s)
            age_s = time.monotonic() - observations[first.signal].sampled_mono
            if await self._parts.evictor.evict(candidate, eviction, age_s=age_s):
                return [candidate.uid]
        self._parts.log.warning("pressure.nothing_to_evict", signal=first.signal)
        return []

    async def _evict_over_limits(self) -> list[str]:
        """Every pod that uses more local storage than it may."""
        limited = [uid for uid, entry in self._active().items() if local_storage.has_limits(entry.pod)]
        if not limited:
            return []
        dedicated = self._parts.watch.reader.dedicated_imagefs
        evicted = []
        for candidate in await self._parts.figures.gather(limited, disk=True):
            eviction = local_storage.find_excess(candidate, dedicated_imagefs=dedicated)
            if eviction is None or not may_be_evicted(candidate):
                continue
            if await self._parts.evictor.evict(candidate, eviction):
                evicted.append(candidate.uid)
        return evicted

    def _active(self) -> dict[str, PodEntry]:
        return {uid: entry for uid, entry in self._parts.pods.items() if is_active(entry)}


def is_active(entry: PodEntry) -> bool:
    """Whether it may hold resources that an eviction would free (upstream GetActivePods)."""
    return (
        entry.may_run and entry.admitted and bool(entry.pod.spec.containers) and entry.pod.status.phase not in TERMINAL
    )
