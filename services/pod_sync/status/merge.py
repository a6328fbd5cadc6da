"""What the API server is told: this node's status joined with what others wrote (upstream `status`, `mergePodStatus`)."""

from msgspec.structs import replace

from services.pod_sync.status.conditions import CONTAINERS_READY, DISRUPTION, OWNED, READY, ended, find, is_true, put
from services.pod_sync.status.model import TERMINAL
from services.pod_sync.status.settle import with_transition_times
from shared.kube.types import Pod, PodCondition, PodStatus


def merge_with_api(api_pod: Pod, status: PodStatus, *, may_run: bool, now: float) -> PodStatus:
    """The status to be sent for `api_pod` (for a static pod: its mirror).

    `may_run`: containers of it may still run, or hold something exclusive. Until that is over a terminal phase is not
    told, and neither is the disruption that caused it.
    """
    api = api_pod.status
    ending = api.phase not in TERMINAL and status.phase in TERMINAL
    conditions = [c for c in api.conditions if c.type not in OWNED]
    conditions += [c for c in status.conditions if c.type in OWNED]
    disruption = find(status.conditions, DISRUPTION)
    if disruption is not None and ending and not may_run:
        conditions = put(conditions, _fresh(api, disruption, now=now))
    merged = replace(
        status,
        conditions=conditions,
        resource_claim_statuses=api.resource_claim_statuses,
        extended_resource_claim_status=api.extended_resource_claim_status,
        node_allocatable_resource_claim_statuses=api.node_allocatable_resource_claim_statuses,
    )
    if ending and may_run:
        merged = replace(merged, phase=api.phase, reason=api.reason, message=api.message)
    return _not_ready_at_the_end(api_pod, merged, now=now)


def _fresh(api: PodStatus, condition: PodCondition, *, now: float) -> PodCondition:
    """Its transition is only now told, so it happens only now."""
    bare = replace(condition, last_transition_time=None)
    return with_transition_times(api, PodStatus(conditions=[bare]), now=now).conditions[0]


def _not_ready_at_the_end(api_pod: Pod, status: PodStatus, *, now: float) -> PodStatus:
    """A pod that is over is not ready, whatever its containers last were."""
    kinds = (CONTAINERS_READY, READY)
    if status.phase not in TERMINAL or not any(is_true(status.conditions, kind) for kind in kinds):
        return status
    conditions = status.conditions
    for kind in kinds:
        over = replace(ended(kind, status.phase), observed_generation=api_pod.metadata.generation)
        conditions = put(conditions, over)
    return with_transition_times(status, replace(status, conditions=conditions), now=now)
