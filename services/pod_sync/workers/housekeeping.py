"""Which pods are known on one side only, and what to do about each. Pure.

Source: upstream `HandlePodCleanups` and `SyncKnownPods`. Nothing is planned before all sources were read: a pod that
is merely not read yet must not look like an orphan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from services.pod_sync.workers.model import Asked, Finished, Syncing, Terminated, Terminating, Waiting, Worker
from shared.messages.pleg import RuntimePod

_SOURCE_ANNOTATION: Final = "kubernetes.io/config.source"


@dataclass(frozen=True)
class Forget:
    """Drop the worker's record, its recorded decision and its status."""

    uid: str


@dataclass(frozen=True)
class NoteOrphan:
    """Send `Orphaned` to the worker."""

    uid: str


@dataclass(frozen=True)
class Create:
    """A source has the pod and no worker does: admit it."""

    uid: str


@dataclass(frozen=True)
class TerminateRuntimePod:
    """The runtime runs a pod that nobody knows: send `FoundInRuntime`."""

    uid: str
    full_name: str
    static: bool = False


@dataclass(frozen=True)
class DropRecords:
    """Status, allocation and back-off of a UID that is neither wanted nor worked on."""

    uid: str


Task = Forget | NoteOrphan | Create | TerminateRuntimePod | DropRecords


@dataclass(frozen=True)
class Known:
    """What is known where, by pod UID."""

    desired: frozenset[str]
    """pods that a source has"""
    rejected: frozenset[str]
    """those of them that were not admitted; never retried for that UID"""
    workers: Mapping[str, Worker]
    runtime: Mapping[str, RuntimePod]
    recorded: frozenset[str] = frozenset()
    """UIDs with a status or an allocation"""
    ended: Mapping[str, float] = field(default_factory=dict)
    """when workers were forgotten: what a row from before shows running has ended since"""

    def runs_unknown(self, uid: str, pod: RuntimePod) -> bool:
        """Something of it runs, as far as is known now."""
        return is_running(pod) and pod.listed_at_mono >= self.ended.get(uid, 0.0)


def plan_housekeeping(known: Known) -> list[Task]:
    """Tasks in the order in which they are to be done. Carried out and planned again it returns none of them."""
    tasks: list[Task] = []
    left: set[str] = set()
    for uid, worker in known.workers.items():
        task = _about_worker(worker, uid in known.desired, known.runtime.get(uid))
        if task is not None:
            tasks.append(task)
        if not isinstance(task, Forget):
            left.add(uid)
    tasks += [Create(uid) for uid in sorted(known.desired - known.rejected - left)]
    for uid, pod in known.runtime.items():
        if uid not in left and uid not in known.desired - known.rejected and known.runs_unknown(uid, pod):
            tasks.append(terminate_unknown(uid, pod))
    tasks += [DropRecords(uid) for uid in sorted(known.recorded - known.desired - left)]
    return tasks


def predecessors(uid: str, full_name: str, known: Known) -> list[TerminateRuntimePod]:
    """Runtime pods that still hold the full name of static pod `uid`, which has just come, and that nobody knows.

    Only one pod can have a full name, so they are older versions of it whose manifest was replaced while nobody
    watched. They are ended first, so that two versions of a static pod never run side by side.
    """
    return [
        terminate_unknown(other, pod)
        for other, pod in known.runtime.items()
        if other != uid
        and other not in known.workers
        and f"{pod.name}_{pod.namespace}" == full_name
        and _is_static(pod)
        and known.runs_unknown(other, pod)
    ]


def terminate_unknown(uid: str, pod: RuntimePod) -> TerminateRuntimePod:
    return TerminateRuntimePod(uid, f"{pod.name}_{pod.namespace}", static=_is_static(pod))


def _is_static(pod: RuntimePod) -> bool:
    """Whether its sandboxes say that it came from a file or a URL."""
    return any(s.annotations.get(_SOURCE_ANNOTATION, "api") != "api" for s in pod.sandboxes)


def is_running(pod: RuntimePod) -> bool:
    """A container of it runs or a sandbox is ready."""
    return any(c.state == "running" for c in pod.containers) or any(s.ready for s in pod.sandboxes)


def _about_worker(worker: Worker, desired: bool, seen: RuntimePod | None) -> Task | None:
    orphan = not desired and worker.pod is not None
    match worker.life:
        case Finished():
            return Forget(worker.uid) if not desired or worker.restart_requested else None
        case Waiting() if orphan and (seen is None or not is_running(seen)):
            return Forget(worker.uid)
        case Waiting() | Syncing() if orphan:
            return NoteOrphan(worker.uid)
        case Asked(ending) | Terminating(ending) | Terminated(ending) if orphan and not ending.deleted:
            return NoteOrphan(worker.uid)
        case _:
            return None
