"""The phase that follows from container statuses (upstream `kubelet_pods`, `getPhase`)."""

from dataclasses import dataclass, field

from services.pod_sync.containers.core_restart import restarts_after
from services.pod_sync.status.model import FAILED, PENDING, RESTARTING_ALL, RUNNING, SUCCEEDED
from shared.kube.pods import is_restartable_init, is_static
from shared.kube.types import Container, ContainerStateTerminated, ContainerStatus, Pod


@dataclass
class _Counts:
    pending_init: int = 0
    pending_sidecars: int = 0
    failed_init_for_good: int = 0
    unknown: int = 0
    running: int = 0
    waiting: int = 0
    succeeded: int = 0
    stopped: list[bool] = field(default_factory=list)
    """for each regular container that has ended: will it be started again?"""


def phase_of(pod: Pod, statuses: list[ContainerStatus], *, stopped: bool, initialized: bool) -> str:
    """`statuses` are those of init and regular containers; `initialized`: a regular one was made in this sandbox."""
    by_name = {s.name: s for s in statuses}
    counts = _Counts()
    for container in pod.spec.init_containers:
        count = _count_sidecar if is_restartable_init(container) else _count_init
        count(counts, pod, container, by_name.get(container.name))
    for container in pod.spec.containers:
        _count_regular(counts, pod, container, by_name.get(container.name))
    return _phase(counts, may_end=stopped and not is_static(pod), initialized=initialized)


def _phase(counts: _Counts, *, may_end: bool, initialized: bool) -> str:
    if counts.failed_init_for_good:
        return FAILED
    if counts.pending_init or (counts.pending_sidecars and not initialized) or counts.waiting:
        return PENDING
    if counts.running and not counts.unknown:
        return RUNNING
    if counts.stopped and not counts.running and not counts.unknown:
        if not may_end and any(counts.stopped):
            return RUNNING
        return SUCCEEDED if counts.succeeded == len(counts.stopped) else FAILED
    return PENDING


def _count_init(counts: _Counts, pod: Pod, container: Container, status: ContainerStatus | None) -> None:
    ended = _ended(status)
    if status is None or ended is None:
        counts.pending_init += 1
    elif ended.exit_code != 0 and not _starts_again(pod, container, ended):
        counts.failed_init_for_good += 1


def _count_sidecar(counts: _Counts, pod: Pod, container: Container, status: ContainerStatus | None) -> None:
    if status is None:
        counts.unknown += 1
    elif status.state.running is not None:
        counts.running += 1
        counts.pending_sidecars += not status.started
    elif _ended(status) is None:
        counts.pending_sidecars += 1
        if status.state.waiting is not None:
            counts.waiting += 1
        else:
            counts.unknown += 1


def _count_regular(counts: _Counts, pod: Pod, container: Container, status: ContainerStatus | None) -> None:
    ended = _ended(status)
    if status is None:
        counts.unknown += 1
    elif status.state.running is not None:
        counts.running += 1
    elif ended is not None:
        counts.stopped.append(_starts_again(pod, container, ended))
        counts.succeeded += status.state.terminated is not None and ended.exit_code == 0
    elif status.state.waiting is not None:
        counts.waiting += 1
    else:
        counts.unknown += 1


def _ended(status: ContainerStatus | None) -> ContainerStateTerminated | None:
    """How it ended: now, or before it began to wait for its next start."""
    if status is None or status.state.running is not None:
        return None
    if status.state.terminated is not None:
        return status.state.terminated
    return status.last_state.terminated if status.state.waiting is not None else None


def _starts_again(pod: Pod, container: Container, ended: ContainerStateTerminated) -> bool:
    return ended.reason == RESTARTING_ALL or restarts_after(pod, container, ended.exit_code)
