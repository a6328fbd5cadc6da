"""CPU, memory and swap of containers and sandboxes as CRI `LinuxContainerResources`. Pure.

Upstream `kuberuntime`, kuberuntime_container_linux (generateLinuxContainerResources, calculateLinuxResources,
calculateSandboxResources) and `cm`, helpers_linux (MilliCPUToShares, MilliCPUToQuota).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from services.pod_sync.environment.model import AnyContainer, ConfigError, NodeFacts
from services.pod_sync.environment.oom import oom_score_adj
from shared.cri import api
from shared.kube import quantity
from shared.kube.pods import effective_limits, effective_requests, is_critical, qos_class
from shared.kube.types import Pod

_MIN_SHARES: Final = 2
_MAX_SHARES: Final = 262144
_SHARES_PER_CPU: Final = 1024
_MIN_QUOTA_US: Final = 1000
_UNITS: Final = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def cpu_shares(milli: int) -> int:
    """CPU weight of that many thousandths of a CPU, in the units of cgroup v1 `cpu.shares`."""
    return min(max(milli * _SHARES_PER_CPU // 1000, _MIN_SHARES), _MAX_SHARES)


def cpu_quota_us(milli: int, period_us: int) -> int:
    """CPU time per period in microseconds; 0: no limit."""
    return max(milli * period_us // 1000, _MIN_QUOTA_US) if milli else 0


def container_resources(
    pod: Pod, container: AnyContainer, node: NodeFacts, *, exclusive_cpus: bool = False
) -> api.LinuxContainerResources:
    """Everything the runtime limits for one container but cpusets, which managers fill in."""
    requests, limits = _amounts(container)
    of_pod = pod.spec.resources.limits if pod.spec.resources is not None else {}
    cpu_limit = _nonzero(limits, "cpu") or of_pod.get("cpu", "0")
    memory_limit = quantity.value(_nonzero(limits, "memory") or of_pod.get("memory", "0"))
    result = _linux_resources(
        requests.get("cpu"), cpu_limit, memory_bytes=memory_limit, node=node, exclusive_cpus=exclusive_cpus
    )
    result.oom_score_adj = oom_score_adj(pod, container, node.memory_capacity_bytes)
    result.hugepage_limits.extend(_hugepage_limits(of_pod, limits, node))
    if node.cgroup_version == 2:
        result.unified.update(_memory_qos(pod, container, node))
    _add_swap(result, pod, container, node)
    return result


def sandbox_resources(pod: Pod, node: NodeFacts, *, exclusive_cpus: bool = False) -> api.LinuxContainerResources:
    """What the pod's containers may use together, without the pod's overhead; for the runtime's information."""
    bare = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, overhead={}))
    requests, limits = effective_requests(bare), effective_limits(bare)
    return _linux_resources(
        requests.get("cpu"),
        limits.get("cpu", "0"),
        memory_bytes=quantity.value(limits.get("memory", "0")),
        node=node,
        exclusive_cpus=exclusive_cpus,
    )


def overhead_resources(pod: Pod, node: NodeFacts) -> api.LinuxContainerResources:
    """What the sandbox itself costs (RuntimeClass overhead); an empty message when nothing is declared."""
    overhead = pod.spec.overhead
    if not overhead:
        return api.LinuxContainerResources()
    memory = quantity.value(overhead.get("memory", "0"))
    return _linux_resources(overhead.get("cpu"), overhead.get("cpu", "0"), memory_bytes=memory, node=node)


def _linux_resources(
    cpu_request: str | None, cpu_limit: str, *, memory_bytes: int, node: NodeFacts, exclusive_cpus: bool = False
) -> api.LinuxContainerResources:
    result = api.LinuxContainerResources()
    # A missing request is the limit; a request of zero stays zero and gets the least weight.
    result.cpu_shares = cpu_shares(quantity.milli(cpu_limit if cpu_request is None else cpu_request))
    result.memory_limit_in_bytes = memory_bytes
    if node.cpu_cfs_quota:
        result.cpu_period = node.cpu_cfs_quota_period_us
        result.cpu_quota = -1 if exclusive_cpus else cpu_quota_us(quantity.milli(cpu_limit), result.cpu_period)
    if node.cgroup_version == 2 and not node.memory_qos.single_process_oom_kill:
        result.unified["memory.oom.group"] = "1"
    return result


def _amounts(container: AnyContainer) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Requests and limits; an ephemeral container has none."""
    resources = container.resources
    return (resources.requests, resources.limits) if resources is not None else ({}, {})


def _nonzero(amounts: Mapping[str, str], resource: str) -> str | None:
    text = amounts.get(resource)
    return text if text is not None and quantity.parse(text) != 0 else None


def _hugepage_limits(of_pod: Mapping[str, str], limits: Mapping[str, str], node: NodeFacts) -> list[api.HugepageLimit]:
    """One entry for every page size that the host has: a size that is not named would stay unlimited."""
    wanted: dict[int, int] = {}
    for amounts in (of_pod, limits):
        for resource, text in amounts.items():
            if resource.startswith("hugepages-"):
                wanted[_page_size(resource)] = quantity.value(text)
    return [
        api.HugepageLimit(page_size=_page_size_name(size), limit=wanted.get(size, 0))
        for size in node.hugepage_sizes_bytes
    ]


def _page_size(resource: str) -> int:
    try:
        return quantity.value(resource.removeprefix("hugepages-"))
    except ValueError as error:
        raise ConfigError(f"failed to get hugepage size from resource {resource}: {error}") from error


def _page_size_name(size: int) -> str:
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size // unit}{name}"
    return f"{size}B"


def _memory_amounts(container: AnyContainer) -> tuple[int, int]:
    """Request and limit in bytes; an unset request is the limit, as the API defaults it."""
    requests, limits = _amounts(container)
    limit = quantity.value(limits.get("memory", "0"))
    return quantity.value(requests["memory"]) if "memory" in requests else limit, limit


def _memory_qos(pod: Pod, container: AnyContainer, node: NodeFacts) -> dict[str, str]:
    """cgroup v2 memory protection and throttling (feature gate MemoryQoS; upstream setMemoryQoS)."""
    qos = node.memory_qos
    if not qos.enabled:
        return {"memory.high": "max"}
    request, limit = _memory_amounts(container)
    unified: dict[str, str] = {}
    if qos.reservation_policy == "TieredReservation" and request:
        key = "memory.min" if qos_class(pod) == "Guaranteed" else "memory.low"
        unified[key] = str(request)
    else:
        unified.update({"memory.min": "0", "memory.low": "0"})
    of_pod = pod.spec.resources.limits if pod.spec.resources is not None else {}
    bounded_by_pod = not limit and _nonzero(of_pod, "memory") is not None
    if qos.throttling_factor is not None and (request != limit or not request) and not bounded_by_pod:
        ceiling = limit or quantity.value(node.allocatable.get("memory", "0"))
        page = node.page_size_bytes
        high = int(request + (ceiling - request) * qos.throttling_factor) // page * page
        if high > request:
            unified["memory.high"] = str(high)
    return unified


def _add_swap(result: api.LinuxContainerResources, pod: Pod, container: AnyContainer, node: NodeFacts) -> None:
    """How much swap the container may use (upstream configureContainerSwapResources)."""
    qos = node.memory_qos
    if not qos.swap_controller:
        return
    if node.cgroup_version != 2:
        result.memory_swap_limit_in_bytes = result.memory_limit_in_bytes
        return
    swap = 0
    request, limit = _memory_amounts(container)
    limited = qos.swap_behavior == "LimitedSwap" and qos_class(pod) == "Burstable" and not is_critical(pod)
    if limited and request != limit and 0 < request <= node.memory_capacity_bytes:
        swap = int(request / node.memory_capacity_bytes * qos.swap_capacity_bytes)
    result.unified["memory.swap.max"] = str(swap)
