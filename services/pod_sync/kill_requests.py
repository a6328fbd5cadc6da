"""Answers `kill_pod`: ends a pod for the node's sake. Source: upstream `kubelet.killPodNow`."""

import time
from collections.abc import Callable
from typing import Final

from services.pod_sync.runtime.model import WARNING, EventSink
from services.pod_sync.workers.answers import ending_of
from services.pod_sync.workers.dispatcher import Dispatcher
from services.pod_sync.workers.model import KillAsked, StatusOverride
from shared.bus import Call
from shared.kube.types import Pod
from shared.messages.pod_sync import KillPod, KillPodReply

MIN_WAIT_S: Final = 10.0
WAIT_PER_GRACE: Final = 1.5
"""upstream waits for 1.5 times the grace, and for 10 s at least"""
ANSWER_MARGIN_S: Final = 0.2
"""answered this long before the caller gives up"""


class KillRequests:
    """The handler of `kill_pod`. The decision is on disk before anything is answered."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        events_of: Callable[[Pod], EventSink],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dispatcher = dispatcher
        self._now = now
        self._events_of = events_of

    async def handle(self, request: KillPod, call: Call) -> KillPodReply:
        """`known` False: there is no such pod here, or only the runtime knows it."""
        uid = request.pod_uid
        worker = self._dispatcher.pool.get(uid)
        if worker is None or worker.pod is None:
            return KillPodReply(known=False)
        override = StatusOverride(request.phase, request.reason, request.message, request.disruption_message)
        self._dispatcher.feed(uid, KillAsked(grace_s=request.grace_s, evict=request.evict, override=override))
        if not request.wait:
            return KillPodReply(known=True)
        after = self._dispatcher.pool.get(uid)
        ending = ending_of(after) if after is not None else None
        patience = max(MIN_WAIT_S, (ending.grace_s if ending is not None else 0) * WAIT_PER_GRACE)
        left = call.deadline_mono - self._now() - ANSWER_MARGIN_S
        stopped = await self._dispatcher.wait_stopped(uid, max(0.0, min(patience, left)))
        if not stopped and patience <= left:
            text = "Container runtime did not kill the pod within specified grace period."
            self._events_of(worker.pod)(None, WARNING, "ExceededGracePeriod", text)
        return KillPodReply(known=True, stopped=stopped)
