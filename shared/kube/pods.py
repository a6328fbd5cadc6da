"""Questions about a pod that every daemon answers alike: its names, kind, class and needs.

Rules are those of upstream `kubelet/types`, `kubelet/container`, `component-helpers/resource` and `apis/core/helper/qos`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from shared.kube import quantity
from shared.kube.types import Container, EphemeralContainer, Pod, ResourceRequirements

CONFIG_SOURCE: Final = "kubernetes.io/config.source"
CONFIG_MIRROR: Final = "kubernetes.io/config.mirror"
CONFIG_HASH: Final = "kubernetes.io/config.hash"
CONFIG_SEEN: Final = "kubernetes.io/config.seen"
"""annotations that the node puts on pods; all but the hash are local to it"""

API_SOURCE: Final = "api"
SYSTEM_CRITICAL_PRIORITY: Final = 2_000_000_000
SYSTEM_NODE_CRITICAL: Final = "system-node-critical"

QosClass = Literal["Guaranteed", "Burstable", "BestEffort"]
_CPU_AND_MEMORY: Final = ("cpu", "memory")
_HUGE_PAGES: Final = "hugepages-"


def pod_full_name(pod: Pod) -> str:
    """`name_namespace`: what a static pod and its mirror have in common."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}"


def pod_format(pod: Pod) -> str:
    """`name_namespace(uid)`, as pods are named in messages."""
    return f"{pod_full_name(pod)}({pod.metadata.uid})"


def is_static(pod: Pod) -> bool:
    """Whether it comes from a file or a URL and not from the API server."""
    source = pod.metadata.annotations.get(CONFIG_SOURCE)
    return source is not None and source != API_SOURCE


def is_mirror(pod: Pod) -> bool:
    """Whether it is the API server's image of a static pod."""
    return CONFIG_MIRROR in pod.metadata.annotations


def is_critical(pod: Pod) -> bool:
    """Whether the node keeps it under pressure and may preempt others for it."""
    priority = pod.spec.priority
    return is_static(pod) or is_mirror(pod) or (priority is not None and priority >= SYSTEM_CRITICAL_PRIORITY)


def is_node_critical(pod: Pod) -> bool:
    """Critical, and of the class that the node itself depends on."""
    return is_critical(pod) and pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL


def host_network(pod: Pod) -> bool:
    """Whether it uses the node's network namespace."""
    return bool(pod.spec.host_network)


def is_restartable_init(container: Container) -> bool:
    """Whether an init container is a sidecar: it keeps running beside the regular ones."""
    return container.restart_policy == "Always"


def all_containers(pod: Pod) -> list[Container | EphemeralContainer]:
    """Init, regular and ephemeral containers, in this order."""
    return [*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers]


def is_pod_level_resource(name: str) -> bool:
    """Whether that resource may be set for a pod as a whole: cpu, memory, huge pages."""
    return name in _CPU_AND_MEMORY or name.startswith(_HUGE_PAGES)


def has_pod_level_resources(pod: Pod) -> bool:
    """Whether requests or limits are set for the pod as a whole."""
    own = pod.spec.resources
    return own is not None and any(map(is_pod_level_resource, [*own.requests, *own.limits]))


def qos_class(pod: Pod) -> QosClass:
    """Quality of service class: the one in its status, which never changes, else computed."""
    match pod.status.qos_class:
        case "Guaranteed" | "Burstable" | "BestEffort" as known:
            return known
        case _:
            return compute_qos_class(pod)


def compute_qos_class(pod: Pod) -> QosClass:
    """The class that follows from the spec alone: from pod-level resources, else from init and regular containers."""
    if pod.spec.resources is not None and has_pod_level_resources(pod):
        return _class_of(pod.spec.resources)
    classes = {_class_of(c.resources) for c in [*pod.spec.init_containers, *pod.spec.containers]}
    return classes.pop() if len(classes) == 1 else "Burstable" if classes else "BestEffort"


def _class_of(resources: ResourceRequirements | None) -> QosClass:
    if resources is None:
        return "BestEffort"
    classes: set[QosClass] = set()
    for name in _CPU_AND_MEMORY:
        request = quantity.parse(resources.requests.get(name, "0"))
        limit = quantity.parse(resources.limits.get(name, "0"))
        classes.add("Burstable" if request != limit else "Guaranteed" if request else "BestEffort")
    return classes.pop() if len(classes) == 1 else "Burstable"


def effective_requests(pod: Pod) -> dict[str, str]:
    """What the pod needs at most at any time, by resource, as canonical quantities.

    Regular containers and sidecars together, or the largest init container with the sidecars that precede it; what is
    set for the pod as a whole replaces that; overhead comes on top.
    """
    needs = _aggregate(pod, lambda r: r.requests)
    if pod.spec.resources is not None:
        needs.update(_pod_level(pod.spec.resources.requests))
    return _sum([needs, pod.spec.overhead])


def effective_limits(pod: Pod) -> dict[str, str]:
    """Upper bounds for the pod, computed like requests. Overhead is added only to limits that are not zero."""
    bounds = _aggregate(pod, lambda r: r.limits)
    if pod.spec.resources is not None:
        bounds.update(_pod_level(pod.spec.resources.limits))
    overhead = {n: q for n, q in pod.spec.overhead.items() if quantity.parse(bounds.get(n, "0"))}
    return _sum([bounds, overhead])


def _aggregate(pod: Pod, pick: Callable[[ResourceRequirements], Mapping[str, str]]) -> dict[str, str]:
    def of(container: Container) -> Mapping[str, str]:
        return pick(container.resources) if container.resources is not None else {}

    together = _sum(of(c) for c in pod.spec.containers)
    sidecars: dict[str, str] = {}
    at_start: dict[str, str] = {}
    for container in pod.spec.init_containers:
        beside = _sum([sidecars, of(container)])
        if is_restartable_init(container):
            together = _sum([together, of(container)])
            sidecars = beside
        at_start = _largest(at_start, beside)
    return _largest(together, at_start)


def _pod_level(amounts: Mapping[str, str]) -> dict[str, str]:
    return {name: quantity.canonical(amount) for name, amount in amounts.items() if is_pod_level_resource(name)}


def _sum(lists: Iterable[Mapping[str, str]]) -> dict[str, str]:
    total: dict[str, str] = {}
    for amounts in lists:
        for name, amount in amounts.items():
            total[name] = quantity.add(total[name], amount) if name in total else quantity.canonical(amount)
    return total


def _largest(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, str]:
    return {**b, **{name: quantity.larger(amount, b[name]) if name in b else amount for name, amount in a.items()}}
