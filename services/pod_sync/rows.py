"""The `pods` table: one row per pod that belongs here or is being cleaned up."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from services.pod_sync.workers.answers import RUNTIME_SOURCE, pending_entry, pod_entry, rejected_entry
from services.pod_sync.workers.model import Worker
from shared.kube.pods import is_static
from shared.kube.types import ObjectMeta, Pod
from shared.messages.pod_sync import PodEntry

SOURCE_ANNOTATION = "kubernetes.io/config.source"


class PodsTable(Protocol):
    """What is used of the owned table."""

    def put(self, key: str, value: PodEntry) -> None: ...

    def delete(self, key: str) -> None: ...


@dataclass(frozen=True)
class Rejection:
    """Why a pod was not admitted."""

    pod: Pod
    reason: str
    message: str


class PodRows:
    """Writes rows from workers and rejections. `allocated` gives a pod with the resources that it was given."""

    def __init__(self, table: PodsTable, allocated: Callable[[Pod], Pod]) -> None:
        self._table = table
        self._allocated = allocated

    def put(self, worker: Worker, *, desired: bool) -> None:
        """The row of a pod with a worker. `desired`: a source has the pod now."""
        if worker.pod is None:
            self._table.put(worker.uid, pod_entry(worker, _stand_in(worker), RUNTIME_SOURCE, desired=False))
        else:
            pod = self._allocated(worker.pod)
            self._table.put(worker.uid, pod_entry(worker, pod, source_of(pod), desired=desired))

    def put_pending(self, pod: Pod) -> None:
        """The row of a pod that is not admitted yet."""
        self._table.put(pod.metadata.uid, pending_entry(pod, source_of(pod), static=is_static(pod)))

    def put_rejected(self, rejection: Rejection) -> None:
        pod = rejection.pod
        row = rejected_entry(pod, source_of(pod), static=is_static(pod), reason=rejection.reason)
        self._table.put(pod.metadata.uid, row)

    def delete(self, uid: str) -> None:
        self._table.delete(uid)


def source_of(pod: Pod) -> str:
    """`file`, `http` or `api`."""
    return pod.metadata.annotations.get(SOURCE_ANNOTATION, "api")


def _stand_in(worker: Worker) -> Pod:
    """What is known of a pod that only the runtime knows."""
    name, _, namespace = worker.full_name.rpartition("_")
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=worker.uid))
