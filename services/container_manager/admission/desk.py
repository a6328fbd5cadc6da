"""Answers `admit`: one pod at a time, beside the pods that pod_sync says are active."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from services.container_manager.admission.core import (
    NODE_PORTS,
    NODE_PORTS_MESSAGE,
    HostPort,
    find_shortages,
    host_ports_of,
    is_port_taken,
    requests_of,
)
from services.container_manager.admission.ledger import Ledger
from services.container_manager.metrics import ManagerMetrics
from shared.bus import Call, TableView
from shared.errors import Transient
from shared.kube.pods import is_critical
from shared.kube.quantity import InvalidQuantity
from shared.messages.base import Empty
from shared.messages.container_manager import Admit, Admitted, Shortage, UnpreparePod
from shared.messages.pod_sync import PodEntry

WAIT_S: Final = 2.0
"""how long an answer waits for pods that pod_sync has named in the request but whose rows are still on their way"""


class AdmissionDesk:
    """`allocatable` is what pods may have together, by resource name."""

    def __init__(
        self, allocatable: Mapping[str, int], ledger: Ledger, pods: TableView[PodEntry], metrics: ManagerMetrics
    ) -> None:
        self.allocatable = allocatable
        self._ledger = ledger
        self._pods = pods
        self._metrics = metrics
        self._lock = asyncio.Lock()
        pods.on_change(lambda change: ledger.shown(change.key))

    async def handle_admit(self, question: Admit, call: Call) -> Admitted:
        """The same answer for a repeat. Raises Transient while an active pod is not known here yet."""
        uid = question.pod.metadata.uid
        named = [u for u in question.others if u != uid]
        await self._wait_known(named, call)
        async with self._lock:
            others = {*named, *self._ledger.on_their_way()} - {uid}
            if self._ledger.get(uid) is not None:
                return Admitted(admitted=True)
            try:
                wanted = requests_of(question.pod)
            except InvalidQuantity as error:
                return self._refuse("UnexpectedAdmissionError", f"Allocate failed due to {error}, which is unexpected")
            shortages = find_shortages(wanted, [self._requests(u) for u in others], self.allocatable)
            ports = host_ports_of(question.pod)
            is_taken = is_port_taken(ports, (port for u in others for port in self._ports(u)))
            if is_taken and (not shortages or is_critical(question.pod)):  # no preemption would free the port
                return self._refuse(NODE_PORTS, NODE_PORTS_MESSAGE)
            if shortages:
                first = shortages[0]
                return self._refuse(
                    first.reason,
                    first.message,
                    [
                        Shortage(resource=s.resource, requested=s.requested, used=s.used, capacity=s.capacity)
                        for s in shortages
                    ],
                )
            await self._ledger.grant(uid, wanted, active=[*others, *self._pods.keys()], ports=ports)
        self._metrics.admissions.labels("granted").inc()
        return Admitted(admitted=True)

    async def handle_unprepare(self, question: UnpreparePod, call: Call) -> Empty:
        """The pod has stopped: what it was granted is free. (Its group goes when its volumes are unmounted.)"""
        async with self._lock:
            await self._ledger.drop(question.pod_uid)
        return Empty()

    async def _wait_known(self, others: list[str], call: Call) -> None:
        def unknown() -> list[str]:
            return [u for u in others if u not in self._pods and self._ledger.get(u) is None]

        left = min(WAIT_S, call.deadline_mono - time.monotonic() - 0.1)
        if not await self._pods.wait(lambda _: not unknown(), timeout_s=max(0.0, left)):
            raise Transient(f"admit pod: these active pods are not known here yet: {', '.join(unknown()[:5])}")

    def _requests(self, uid: str) -> Mapping[str, int]:
        """What an active pod takes: as it is allocated now, else as it was granted."""
        entry = self._pods.get(uid)
        if entry is not None and entry.pod.spec.containers:
            try:
                return requests_of(entry.pod)
            except InvalidQuantity:
                pass  # it was refused or will be
        return self._ledger.get(uid) or {}

    def _ports(self, uid: str) -> list[HostPort]:
        entry = self._pods.get(uid)
        if entry is not None and entry.pod.spec.containers:
            return host_ports_of(entry.pod)
        return self._ledger.ports(uid)

    def _refuse(self, reason: str, message: str, shortages: list[Shortage] | None = None) -> Admitted:
        self._metrics.admissions.labels("refused").inc()
        return Admitted(admitted=False, reason=reason, message=message, shortages=shortages or [])
