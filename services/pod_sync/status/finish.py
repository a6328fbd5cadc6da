"""Statuses at the edges of a pod's life: refused at admission, over for good, to be deleted (upstream `status` manager)."""

from typing import Final

from msgspec.structs import replace

from services.pod_sync.status.instances import LOST_AT_END
from services.pod_sync.status.model import FAILED, KILLED, STATUS_UNKNOWN, TERMINAL, wire_time
from services.pod_sync.status.settle import settle
from shared.kube.pods import is_mirror, is_restartable_init, is_static, qos_class
from shared.kube.types import ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus

_LOST: Final = ContainerState(
    terminated=ContainerStateTerminated(exit_code=KILLED, reason=STATUS_UNKNOWN, message=LOST_AT_END)
)


def rejected_status(pod: Pod, reason: str, message: str, *, now: float) -> PodStatus:
    """The node will not run this pod: Failed, without conditions and container statuses."""
    return PodStatus(
        phase=FAILED,
        reason=reason,
        message=f"Pod was rejected: {message}",
        qos_class=qos_class(pod),
        start_time=pod.status.start_time or wire_time(now),
        observed_generation=pod.metadata.generation or None,
    )


def finished_status(pod: Pod, last: PodStatus | None, *, now: float) -> PodStatus:
    """Nothing of the pod runs or will run: every container that had begun has an end, and the phase is one.

    A container whose end nobody saw counts as killed. A static pod keeps its phase. `last` None: take the API's.
    """
    last = last if last is not None else pod.status
    regular = last.container_statuses
    if _had_initialized(pod, last):
        regular = [_ended(s) for s in regular]
    begun = _begun(last.init_container_statuses)
    init = [_ended(s) if i < begun else s for i, s in enumerate(last.init_container_statuses)]
    phase = last.phase if is_static(pod) or last.phase in TERMINAL else FAILED
    status = replace(last, container_statuses=regular, init_container_statuses=init, phase=phase)
    return settle(pod, last, status, now=now)


def _ended(status: ContainerStatus) -> ContainerStatus:
    return status if status.state.terminated is not None else replace(status, state=_LOST)


def _had_initialized(pod: Pod, last: PodStatus) -> bool:
    """No init containers, or a regular container was once more than waiting, or the last init container is done."""
    if not pod.spec.init_containers:
        return True
    if any(_has_begun(s) for s in last.container_statuses):
        return True
    final = pod.spec.init_containers[-1]
    status = next((s for s in last.init_container_statuses if s.name == final.name), None)
    if status is None:
        return False
    if is_restartable_init(final):
        return status.state.running is not None and bool(status.started)
    ended = status.state.terminated
    return ended is not None and ended.exit_code == 0


def _has_begun(status: ContainerStatus) -> bool:
    state = status.state
    return state.running is not None or state.terminated is not None or status.last_state.terminated is not None


def _begun(statuses: list[ContainerStatus]) -> int:
    """How many init containers had begun: all up to the last one that shows it, at least the first."""
    shown = [i for i, s in enumerate(statuses) if _has_begun(s)]
    return shown[-1] + 1 if shown else min(1, len(statuses))


def may_delete(api_pod: Pod, *, finished: bool) -> bool:
    """Whether the API's object may now be deleted for good (grace 0, UID precondition).

    `finished`: its worker has cleaned everything up.
    """
    deleted = api_pod.metadata.deletion_timestamp is not None
    return deleted and finished and not is_mirror(api_pod) and api_pod.status.phase in TERMINAL
