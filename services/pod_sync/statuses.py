"""Statuses of pods: computed by room `status`, kept by `records.progress`, published as table `pod_status`."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from services.pod_sync.ports import Peers, StatusInputs
from services.pod_sync.records.progress import Progress, WaitingReason
from services.pod_sync.rows import Rejection
from services.pod_sync.status.compare import same_for_kubelet
from services.pod_sync.status.core import compute_status
from services.pod_sync.status.finish import finished_status, rejected_status
from services.pod_sync.status.model import StatusContext
from shared.kube.types import Pod, PodStatus
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.pod_sync import PodStatusEntry


class StatusTable(Protocol):
    """What is used of the owned table."""

    def put(self, key: str, value: PodStatusEntry) -> None: ...

    def delete(self, key: str) -> None: ...


@dataclass(frozen=True)
class StatusSources:
    """What statuses are made from beside the pod. `last_words` reads an exited container's termination message."""

    peers: Peers
    runtime_name: Callable[[], str]
    last_words: Callable[[ContainerState], Awaitable[str]]
    wall: Callable[[], float] = time.time


class StatusBook:
    """Implements `ports.Statuses`. A status is on disk before it is published, and published as soon as it changed."""

    def __init__(self, table: StatusTable, progress: Progress, sources: StatusSources) -> None:
        self._table = table
        self._progress = progress
        self._sources = sources
        self._messages: dict[str, dict[str, str]] = {}
        self._inputs: dict[str, StatusInputs] = {}

    def restore(self) -> None:
        """Publish what was kept."""
        for uid, record in self._progress.load().items():
            self._table.put(uid, PodStatusEntry(name=record.name, namespace=record.namespace, status=record.status))

    def uids(self) -> frozenset[str]:
        return self._progress.uids()

    def current(self, uid: str) -> PodStatus | None:
        return self._progress.status(uid)

    async def refresh(self, uid: str) -> None:
        inputs = self._inputs.get(uid)
        if inputs is not None:
            await self.update(uid, inputs)

    async def update(self, uid: str, inputs: StatusInputs) -> PodStatus:
        self._inputs[uid] = inputs
        messages = await self._last_words(uid, inputs.seen)
        old = self._progress.status(uid)
        if self._inputs.get(uid) is not inputs and old is not None:
            return old  # overtaken while messages were read
        context = StatusContext(
            pod=inputs.pod,
            seen=inputs.seen,
            now=self._sources.wall(),
            old=old,
            reasons=self._progress.reasons(uid),
            probes=self._sources.peers.probes(),
            messages=messages,
            stopped=inputs.stopped,
            override=inputs.override,
            node_ips=self._sources.peers.node_ips(),
            runtime_name=self._sources.runtime_name(),
        )
        computed = compute_status(context)
        if computed.refused:
            structlog.get_logger().error("status.refused", pod_uid=uid, text=computed.refused)
        if old is not None and same_for_kubelet(old, computed.status):
            return old
        self._put(uid, inputs.pod, computed.status)
        return computed.status

    def finish(self, uid: str, pod: Pod) -> None:
        self._inputs.pop(uid, None)
        status = finished_status(pod, self._progress.status(uid), now=self._sources.wall())
        self._put(uid, pod, status)

    def reject(self, rejection: Rejection) -> None:
        """Published, not kept: after a restart the pod is judged anew."""
        pod, meta = rejection.pod, rejection.pod.metadata
        status = rejected_status(pod, rejection.reason, rejection.message, now=self._sources.wall())
        self._table.put(meta.uid, PodStatusEntry(name=meta.name, namespace=meta.namespace, status=status))

    def set_reasons(self, uid: str, changed: Mapping[str, WaitingReason | None]) -> None:
        self._progress.set_reasons(uid, changed)

    def drop(self, uid: str) -> None:
        self._progress.delete(uid)
        self._messages.pop(uid, None)
        self._inputs.pop(uid, None)
        self._table.delete(uid)

    def _put(self, uid: str, pod: Pod, status: PodStatus) -> None:
        meta = pod.metadata
        self._progress.put_status(uid, status, name=meta.name, namespace=meta.namespace)
        self._table.put(uid, PodStatusEntry(name=meta.name, namespace=meta.namespace, status=status))

    async def _last_words(self, uid: str, seen: RuntimePod | None) -> Mapping[str, str]:
        """Termination messages by container id; each is read once."""
        exited = {c.id: c for c in seen.containers if c.state == "exited"} if seen is not None else {}
        known = self._messages.get(uid, {})
        texts = {cid: known[cid] if cid in known else await self._sources.last_words(c) for cid, c in exited.items()}
        if texts:
            self._messages[uid] = texts
        return texts
