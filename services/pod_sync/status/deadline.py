"""activeDeadlineSeconds: counted from the pod's start time (upstream `active_deadline`)."""

from typing import Final

from services.pod_sync.status.model import seconds_of
from shared.kube.types import Pod, PodStatus

REASON: Final = "DeadlineExceeded"
MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


def deadline_left_s(pod: Pod, status: PodStatus | None, *, now: float) -> float | None:
    """Seconds until the pod is over its deadline, 0.0 or less when it is; None: it has none, or did not start yet."""
    allowed = pod.spec.active_deadline_seconds
    started = seconds_of(status.start_time) if status is not None else None
    if allowed is None or started is None:
        return None
    return started + allowed - now


def past_deadline(pod: Pod, status: PodStatus | None, *, now: float) -> bool:
    """Whether the pod has been active for longer than it may."""
    left = deadline_left_s(pod, status, now=now)
    return left is not None and left <= 0
