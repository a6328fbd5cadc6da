"""Are two statuses the same as far as this node is concerned (upstream `status` manager, `isPodStatusByKubeletEqual`)."""

from msgspec.structs import replace

from services.pod_sync.status.conditions import DISRUPTION, OWNED
from shared.kube.types import PodCondition, PodStatus

_KINDS = OWNED | {DISRUPTION}


def same_for_kubelet(a: PodStatus | None, b: PodStatus | None) -> bool:
    """Whether publishing `b` after `a` would say nothing new.

    Conditions of others, probe and transition times, and claim statuses (which are not the node's) do not count.
    """
    if a is None or b is None:
        return a is b
    return _conditions(a) == _conditions(b) and _rest(a) == _rest(b)


def _conditions(status: PodStatus) -> dict[str, tuple[PodCondition, ...]]:
    own = [c for c in status.conditions if c.type in _KINDS]
    return {c.type: (replace(c, last_probe_time=None, last_transition_time=None),) for c in own}


def _rest(status: PodStatus) -> PodStatus:
    return replace(
        status,
        conditions=[],
        resource_claim_statuses=[],
        extended_resource_claim_status=None,
        node_allocatable_resource_claim_statuses=[],
    )
