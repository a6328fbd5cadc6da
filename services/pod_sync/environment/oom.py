"""How likely the kernel ends a container when the node runs out of memory. Pure.

Upstream `pkg/kubelet/qos`, GetContainerOOMScoreAdjust: the more a Burstable container asks for, the safer it is.
"""

from typing import Final

import msgspec

from services.pod_sync.environment.model import AnyContainer
from shared.kube import quantity
from shared.kube.pods import effective_requests, is_critical, is_restartable_init, qos_class
from shared.kube.types import Container, Pod

NODE_CRITICAL: Final = -997
GUARANTEED: Final = -997
BEST_EFFORT: Final = 1000
_MIN_BURSTABLE: Final = 3
_NODE_CRITICAL_CLASS: Final = "system-node-critical"


def oom_score_adj(pod: Pod, container: AnyContainer, memory_capacity_bytes: int) -> int:
    """oom_score_adj of one container on a machine with that much memory."""
    if is_critical(pod) and pod.spec.priority_class_name == _NODE_CRITICAL_CLASS:
        return NODE_CRITICAL
    match qos_class(pod):
        case "Guaranteed":
            return GUARANTEED
        case "BestEffort":
            return BEST_EFFORT
    extra = _pod_level_share(pod)
    own = _burstable(_memory_request(container) + extra, memory_capacity_bytes)
    if isinstance(container, Container) and _is_sidecar(pod, container):
        smallest = min((_memory_request(c) for c in pod.spec.containers), default=0)
        return min(own, _burstable(smallest + extra, memory_capacity_bytes))
    return own


def _burstable(request_bytes: int, capacity_bytes: int) -> int:
    if capacity_bytes <= 0:
        return BEST_EFFORT - 1
    score = 1000 - 1000 * request_bytes // capacity_bytes
    if score < _MIN_BURSTABLE:
        return _MIN_BURSTABLE
    return BEST_EFFORT - 1 if score == BEST_EFFORT else score


def _is_sidecar(pod: Pod, container: Container) -> bool:
    return is_restartable_init(container) and any(c.name == container.name for c in pod.spec.init_containers)


def _memory_request(container: AnyContainer) -> int:
    resources = container.resources
    return quantity.value(resources.requests.get("memory", "0")) if resources is not None else 0


def _pod_level_share(pod: Pod) -> int:
    """What a pod-level request has beyond its containers' requests, divided among the containers."""
    if pod.spec.resources is None or "memory" not in pod.spec.resources.requests:
        return 0
    bare = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resources=None, overhead={}))
    aggregate = quantity.value(effective_requests(bare).get("memory", "0"))
    surplus = quantity.value(pod.spec.resources.requests["memory"]) - aggregate
    count = len(pod.spec.containers) + len(pod.spec.init_containers)
    return max(0, surplus) // count if count else 0
