"""What an evicted pod, its events and the node's events say. Pure. Source: upstream `eviction` (evictionMessage).

Every message ends with a space, as upstream's do.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from services.eviction.pressure.model import SIGNALS, Candidate, ContainerUse, Eviction, Observation
from services.eviction.pressure.ranking import request_of
from shared.kube.eviction_thresholds import Threshold
from shared.kube.quantity import canonical, format_bytes, format_milli, value
from shared.kube.types import Container, Pod

REASON: Final = "Evicted"
THRESHOLD_MET: Final = "EvictionThresholdMet"
_STORAGE: Final = "ephemeral-storage"


def reclaim_message(threshold: Threshold) -> str:
    """Of the node's event with reason `THRESHOLD_MET`."""
    return f"Attempting to reclaim {SIGNALS[threshold.signal].resource}"


def pressure_eviction(
    candidate: Candidate,
    thresholds: Sequence[Threshold],
    observations: Mapping[str, Observation],
    *,
    grace_s: int,
) -> Eviction:
    """The end of a pod for the first of the thresholds."""
    first = thresholds[0]
    resource = SIGNALS[first.signal].resource
    message = f"The node was low on resource: {resource}. {_quantities(resource, thresholds, observations)}"
    if candidate.use is None:
        return Eviction(message, first.signal, grace_s, disruption=True)
    annotations = {"starved_resource": resource}
    whole, used = candidate.pod.spec.resources, candidate.use.memory_bytes
    if resource == "memory" and whole is not None and "memory" in whole.requests and used is not None:
        request = request_of(candidate, "memory")
        if used > request:
            message += _larger("Pod", candidate.pod.metadata.name, used, format_bytes(request), resource)
            annotations |= {"offending_pod": candidate.pod.metadata.name, "offending_pod_usage": format_bytes(used)}
    over = _containers_over(candidate, resource)
    message += "".join(_larger("Container", name, used, request, resource) for name, used, request in over)
    annotations |= {
        "offending_containers": ",".join(name for name, _, _ in over),
        "offending_containers_usage": ",".join(format_bytes(used) for _, used, _ in over),
    }
    return Eviction(message, first.signal, grace_s, disruption=True, annotations=annotations)


def _quantities(resource: str, thresholds: Sequence[Threshold], observations: Mapping[str, Observation]) -> str:
    for threshold in thresholds:
        seen = observations.get(threshold.signal)
        if SIGNALS[threshold.signal].resource == resource and seen is not None:
            amount = threshold.value
            quantity = canonical(amount.text) if amount.absolute is not None else format_bytes(amount.of(seen.capacity))
            return f"Threshold quantity: {quantity}, available: {format_available(resource, seen.available)}. "
    return ""


def format_available(resource: str, amount: int) -> str:
    """Bytes with binary units, inodes and processes with decimal ones, as upstream's quantities of each."""
    return format_bytes(amount) if resource in ("memory", _STORAGE) else format_milli(amount * 1000)


def _larger(what: str, name: str, used: int, request: str, resource: str) -> str:
    return f"{what} {name} was using {format_bytes(used)}, request is {request}, has larger consumption of {resource}. "


def _containers_over(candidate: Candidate, resource: str) -> list[tuple[str, int, str]]:
    """(name, usage, request) of containers that use more than they asked for, init containers included."""
    if candidate.use is None or resource not in ("memory", _STORAGE):
        return []
    specs = _specs(candidate.pod)
    found = []
    for container in candidate.use.containers:
        used, spec = _container_use(container, resource), specs.get(container.name)
        if used is None or spec is None:
            continue
        request = spec.resources.requests.get(resource, "0") if spec.resources is not None else "0"
        if used > value(request):
            found.append((container.name, used, canonical(request)))
    return found


def _container_use(container: ContainerUse, resource: str) -> int | None:
    if resource == "memory":
        return container.memory_bytes
    if container.layer is None or container.logs is None:
        return None
    return container.layer.bytes + container.logs.bytes


def _specs(pod: Pod) -> dict[str, Container]:
    return {c.name: c for c in [*pod.spec.init_containers, *pod.spec.containers]}


def empty_dir_message(volume: str, limit: str) -> str:
    """An emptyDir holds more than its sizeLimit."""
    return f'Usage of EmptyDir volume "{volume}" exceeds the limit "{canonical(limit)}". '


def pod_storage_message(limit: str) -> str:
    """A pod uses more local storage than its limits together."""
    return f"Pod ephemeral local storage usage exceeds the total limit of containers {canonical(limit)}. "


def container_storage_message(container: str, limit: str) -> str:
    """A container uses more local storage than its limit."""
    return f'Container {container} exceeded its local ephemeral storage limit "{canonical(limit)}". '
