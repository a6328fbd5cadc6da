"""Ties a computed status to the one before it: times, length of messages, changes that may not be.

Source: upstream `status` manager, `updateStatusInternal`, `normalizeStatus`, `checkContainerStateTransition`.
"""

from typing import Final

from msgspec.structs import replace

from services.pod_sync.containers.core_restart import has_restart_all_rule, restarts_after
from services.pod_sync.status.conditions import TIMED, find
from services.pod_sync.status.model import wire_time
from shared.kube.pods import is_restartable_init
from shared.kube.types import Container, ContainerState, ContainerStatus, Pod, PodStatus

MESSAGES_MAX_BYTES: Final = 12 * 1024
"""termination messages of one pod together"""


def settle(pod: Pod, old: PodStatus, new: PodStatus, *, now: float) -> PodStatus:
    """`new` with the start time, transition times and generation that follow from `old`, messages cut to their share."""
    timed = with_transition_times(old, new, now=now)
    generation = pod.metadata.generation
    observed = max(old.observed_generation or 0, generation or 0) or None
    status = replace(
        timed,
        start_time=old.start_time or pod.status.start_time or new.start_time or wire_time(now),
        observed_generation=observed,
        volume_health=old.volume_health,
    )
    return _with_short_messages(pod, status)


def with_transition_times(old: PodStatus, new: PodStatus, *, now: float) -> PodStatus:
    """A condition's transition time moves only when its status does."""
    moment = wire_time(now)
    conditions = []
    for condition in new.conditions:
        if condition.type in TIMED:
            before = find(old.conditions, condition.type)
            same = before is not None and before.status == condition.status
            at = (before.last_transition_time if before is not None and same else None) or moment
            conditions.append(replace(condition, last_transition_time=at))
        else:
            conditions.append(condition)
    return replace(new, conditions=conditions)


def _with_short_messages(pod: Pod, status: PodStatus) -> PodStatus:
    spec = pod.spec
    count = len(spec.containers) + len(spec.init_containers) + len(spec.ephemeral_containers)
    limit = MESSAGES_MAX_BYTES // max(count, 1)

    def cut(statuses: list[ContainerStatus]) -> list[ContainerStatus]:
        return [
            replace(s, state=_with_short_message(s.state, limit), last_state=_with_short_message(s.last_state, limit))
            for s in statuses
        ]

    return replace(
        status,
        container_statuses=cut(status.container_statuses),
        init_container_statuses=cut(status.init_container_statuses),
        ephemeral_container_statuses=cut(status.ephemeral_container_statuses),
    )


def _with_short_message(state: ContainerState, limit: int) -> ContainerState:
    ended = state.terminated
    if ended is None or ended.message is None or len(ended.message.encode(errors="replace")) <= limit:
        return state
    cut = ended.message.encode(errors="replace")[:limit].decode(errors="ignore")
    return replace(state, terminated=replace(ended, message=cut))


def illegal_change(pod: Pod, old: PodStatus, new: PodStatus) -> str:
    """Why `new` may not follow `old`: a container that ended for good would not be ended any more. Empty: it may."""
    if has_restart_all_rule(pod):
        return ""
    containers = {c.name: c for c in [*pod.spec.init_containers, *pod.spec.containers]}
    for before, after in (
        (old.init_container_statuses, new.init_container_statuses),
        (old.container_statuses, new.container_statuses),
    ):
        now = {s.name: s for s in after}
        for status in before:
            container = containers.get(status.name)
            if container is not None and status.name in now and _revived(pod, container, status, now[status.name]):
                return f"terminated container {status.name} attempted illegal transition to non-terminated state"
    return ""


def _revived(pod: Pod, container: Container, old: ContainerStatus, new: ContainerStatus) -> bool:
    ended = old.state.terminated
    if ended is None or new.state.terminated is not None:
        return False
    sidecar = is_restartable_init(container) and container in pod.spec.init_containers
    if sidecar or (container.restart_policy or pod.spec.restart_policy or "Always") == "Always":
        return False
    return not restarts_after(pod, container, ended.exit_code)
