"""Ends a pod for the node's sake: asks pod_sync, tells the user, counts."""

from collections.abc import Mapping
from typing import Final

from structlog.typing import FilteringBoundLogger

from services.eviction.events import Events
from services.eviction.metrics import EvictionMetrics
from services.eviction.pressure.model import Candidate, Eviction
from services.eviction.pressure.texts import REASON
from shared.bus import Bus, TableView
from shared.errors import OctoletError
from shared.messages.pod_sync import KILL_POD, KillPod, PodEntry, PodPhase

MIN_KILL_WAIT_S: Final = 10.0
WAIT_PER_GRACE: Final = 1.5
ANSWER_MARGIN_S: Final = 2.0
"""pod_sync waits for the pod's containers for 1.5 times the grace, 10 s at least; the answer gets this much more"""
CLEANED_UP_WITHIN_S: Final = 30.0
"""upstream `eviction` (podCleanupTimeout): how long the next pass waits for what the evicted pods held"""


class Evictor:
    """Use one at a time."""

    def __init__(
        self, bus: Bus, pods: TableView[PodEntry], events: Events, metrics: EvictionMetrics, log: FilteringBoundLogger
    ) -> None:
        self._bus = bus
        self._pods = pods
        self._events = events
        self._metrics = metrics
        self._log = log

    async def evict(self, candidate: Candidate, eviction: Eviction, *, age_s: float | None = None) -> bool:
        """Whether pod_sync took it on. `age_s`: how old the sample is that it follows from.

        A repeat for the same pod changes nothing more; a pod that is on its way out already counts as taken on.
        """
        entry, meta = self._pods.get(candidate.uid), candidate.pod.metadata
        if entry is not None and entry.reason == REASON and entry.phase is not PodPhase.SYNC:
            return True
        order = KillPod(
            pod_uid=candidate.uid,
            reason=REASON,
            message=eviction.message,
            evict=True,
            grace_s=eviction.grace_s,
            disruption_message=eviction.message if eviction.disruption else "",
        )
        wait_s = max(MIN_KILL_WAIT_S, WAIT_PER_GRACE * eviction.grace_s) + ANSWER_MARGIN_S
        try:
            reply = await self._bus.call(KILL_POD, order, timeout_s=wait_s)
        except OctoletError as error:
            self._log.warning(
                "pod.eviction_failed", pod_uid=candidate.uid, pod=f"{meta.namespace}/{meta.name}", error=str(error)
            )
            return False
        if not reply.known:
            return False
        self._metrics.evictions.labels(eviction.signal).inc()
        if age_s is not None:
            self._metrics.stats_age.labels(eviction.signal).observe(age_s)
        self._events.pod_warning(candidate.pod, REASON, eviction.message, dict(eviction.annotations))
        self._log.info(
            "pod.evicted",
            pod_uid=candidate.uid,
            pod=f"{meta.namespace}/{meta.name}",
            signal=eviction.signal,
            stopped=reply.stopped,
        )
        return True

    async def wait_cleaned_up(self, uids: list[str]) -> bool:
        """Wait until what those pods held is free, for at most `CLEANED_UP_WITHIN_S`."""
        return await self._pods.wait(
            lambda view: all(is_cleaned_up(view, uid) for uid in uids), timeout_s=CLEANED_UP_WITHIN_S
        )


def is_cleaned_up(pods: Mapping[str, PodEntry] | TableView[PodEntry], uid: str) -> bool:
    """Whether neither containers nor volumes nor the group of the pod are left."""
    entry = pods.get(uid)
    return entry is None or entry.phase is PodPhase.FINISHED
