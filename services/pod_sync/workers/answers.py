"""What other daemons read of a worker: its `pods` row. Source: the questions that upstream `pod_workers` answers."""

from typing import Final

from services.pod_sync.workers.model import Asked, Ending, Finished, Syncing, Terminated, Terminating, Waiting, Worker
from shared.kube.types import Pod
from shared.messages.pod_sync import PodEntry, PodPhase

RUNTIME_SOURCE: Final = "runtime"
"""source of a row whose pod only the runtime knows; its `pod` has metadata only"""


def pod_entry(worker: Worker, pod: Pod, source: str, *, desired: bool = True, mirror_uid: str = "") -> PodEntry:
    """The row of a pod with a worker. `pod` carries the allocated spec; `desired`: a source has it now."""
    ending = ending_of(worker)
    not_heard_yet = worker.recalled and ending is not None and not ending.dropped
    return PodEntry(
        pod=pod,
        source=source,
        phase=_phase(worker),
        may_run=may_run(worker),
        runtime_removable=not may_run(worker),
        content_removable=not may_run(worker) and ending is not None and (ending.evicted or ending.deleted),
        terminating_since_mono=ending.since_mono if ending is not None else 0.0,
        grace_s=ending.grace_s if ending is not None else 0,
        reason=ending.override.reason if ending is not None and ending.override is not None else "",
        mirror_uid=mirror_uid,
        static=worker.static,
        configured=worker.pod is not None and (desired or not_heard_yet),
    )


def pending_entry(pod: Pod, source: str, *, static: bool) -> PodEntry:
    """The row of a pod of which it is not known yet whether it is admitted.

    Nothing is made ready for it, and nothing that is left of it is taken away.
    """
    return PodEntry(pod=pod, source=source, phase=PodPhase.SYNC, admitted=False, static=static)


def rejected_entry(pod: Pod, source: str, *, static: bool, reason: str) -> PodEntry:
    """The row of a pod that was not admitted: it has no worker and nothing of it will ever run."""
    return PodEntry(
        pod=pod,
        source=source,
        phase=PodPhase.FINISHED,
        may_run=False,
        runtime_removable=True,
        content_removable=True,
        admitted=False,
        reason=reason,
        static=static,
    )


def may_run(worker: Worker) -> bool:
    """Containers of it may be running (upstream CouldHaveRunningContainers)."""
    return not isinstance(worker.life, Terminated | Finished)


def ending_of(worker: Worker) -> Ending | None:
    """What is known of its end; None while it may go on."""
    match worker.life:
        case Asked(ending) | Terminating(ending) | Terminated(ending) | Finished(ending):
            return ending
        case _:
            return None


def _phase(worker: Worker) -> PodPhase:
    match worker.life:
        case Waiting() | Syncing() | Asked():
            return PodPhase.SYNC
        case Terminating():
            return PodPhase.TERMINATING
        case Terminated():
            return PodPhase.TERMINATED
        case Finished():
            return PodPhase.FINISHED
