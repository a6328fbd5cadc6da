"""What `fieldRef` and `resourceFieldRef` mean for an environment variable. Pure.

Upstream `pkg/fieldpath`, `pkg/kubelet` podFieldSelectorRuntimeValue and `pkg/api/v1/resource`.
"""

import re
from collections.abc import Mapping
from typing import Final

from services.pod_sync.environment.metadata import find_container
from services.pod_sync.environment.model import AnyContainer, ConfigError, NodeFacts, PodContext
from shared.kube import quantity
from shared.kube.pods import host_network
from shared.kube.types import Pod, ResourceFieldSelector

_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
_DEFAULTED_LIMITS: Final = ("cpu", "memory", "ephemeral-storage")


def field_value(path: str, pod: PodContext, node: NodeFacts) -> str:
    """The pod's field of that path as text. Raises ConfigError for a path that has no meaning here."""
    meta, spec = pod.pod.metadata, pod.pod.spec
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is not None:
        entries = meta.labels if subscript[1] == "labels" else meta.annotations
        return entries.get(subscript[2], "")
    match path:
        case "metadata.name":
            return meta.name
        case "metadata.namespace":
            return meta.namespace
        case "metadata.uid":
            return meta.uid
        case "spec.nodeName":
            return spec.node_name or node.node_name
        case "spec.serviceAccountName":
            return spec.service_account_name or ""
        case "status.hostIP":
            return node.node_ips[0] if node.node_ips else ""
        case "status.hostIPs":
            return ",".join(node.node_ips)
        case "status.podIP":
            return next(iter(_pod_ips(pod, node)), "")
        case "status.podIPs":
            return ",".join(_pod_ips(pod, node))
    raise ConfigError(f"unsupported fieldPath: {path}")


def _pod_ips(pod: PodContext, node: NodeFacts) -> tuple[str, ...]:
    """The pod's addresses, those of the node's primary family first."""
    ips = pod.ips or (node.node_ips if host_network(pod.pod) else ())
    if not node.node_ips:
        return ips
    primary_is_v6 = ":" in node.node_ips[0]
    return tuple(sorted(ips, key=lambda ip: (":" in ip) != primary_is_v6))


def resource_value(
    selector: ResourceFieldSelector, pod: PodContext, container: AnyContainer, *, node: NodeFacts
) -> str:
    """The number that the selector names, divided and rounded up.

    An unset limit of cpu, memory or ephemeral-storage is the pod's limit, else what the node can allocate.
    Raises ConfigError for an unknown container or resource.
    """
    named = selector.container_name
    if named and named != container.name:
        container = find_container(pod.pod, named)
    side, _, resource = selector.resource.partition(".")
    is_known = resource in _DEFAULTED_LIMITS or resource.startswith("hugepages-")
    if side not in ("limits", "requests") or not is_known:
        raise ConfigError(f"unsupported container resource : {selector.resource}")
    amounts = _limits(pod.pod, container, node) if side == "limits" else _requests(container)
    return str(_divided(amounts.get(resource, "0"), selector.divisor or "", milli=resource == "cpu"))


def _requests(container: AnyContainer) -> Mapping[str, str]:
    resources = container.resources
    return resources.requests if resources is not None else {}


def _limits(pod: Pod, container: AnyContainer, node: NodeFacts) -> Mapping[str, str]:
    own = dict(container.resources.limits) if container.resources is not None else {}
    of_pod = pod.spec.resources.limits if pod.spec.resources is not None else {}
    for resource in _DEFAULTED_LIMITS:
        if _is_zero(own.get(resource, "0")):
            default = of_pod.get(resource) or node.allocatable.get(resource)
            if default is not None:
                own[resource] = default
    return own


def _is_zero(text: str) -> bool:
    return quantity.parse(text) == 0


def _divided(text: str, divisor: str, *, milli: bool) -> int:
    measure = quantity.milli if milli else quantity.value
    by = measure(divisor) if divisor and not _is_zero(divisor) else measure("1")
    return -(-measure(text) // by)
