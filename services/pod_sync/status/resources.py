"""What of cpu and memory is in force: for a container as the runtime says, for a pod as its cgroup says."""

from collections.abc import Mapping
from typing import Final

from services.pod_sync.status.model import StatusContext
from shared.kube import quantity
from shared.kube.pods import effective_limits, effective_requests
from shared.kube.types import Container, ContainerStatus, ResourceRequirements
from shared.messages import pleg

_SHARES_PER_CPU: Final = 1024
_LEAST_REQUEST_MILLI: Final = 2
_LEAST_LIMIT_MILLI: Final = 10
"""what the kernel can hold: at and below these the allocated figure is shown (upstream `cm`, MinShares, MinMilliCPULimit)"""


def running_resources(
    container: Container, instance: pleg.ContainerState, status: ContainerStatus, old: ContainerStatus | None
) -> ResourceRequirements:
    """The allocated resources, with cpu and memory as the runtime has them; else as it last said of the same container."""
    allocated = container.resources or ResourceRequirements()
    same = old is not None and old.container_id == status.container_id
    before = old.resources if old is not None and same and old.resources is not None else ResourceRequirements()
    actual_limits, actual_requests = _actual(instance)
    limits = _overlaid(allocated.limits, actual_limits, before.limits, least_cpu=_LEAST_LIMIT_MILLI)
    requests = _overlaid(allocated.requests, actual_requests, before.requests, least_cpu=_LEAST_REQUEST_MILLI)
    return ResourceRequirements(limits=limits, requests=requests, claims=allocated.claims)


def _actual(instance: pleg.ContainerState) -> tuple[dict[str, str], dict[str, str]]:
    """Limits and requests that CRI `LinuxContainerResources` tell; memory requests are not in them."""
    resources = instance.resources
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    quota, period = _number(resources.get("cpu_quota")), _number(resources.get("cpu_period"))
    if quota > 0 and period > 0:
        limits["cpu"] = quantity.format_milli(quota * 1000 // period)
    memory = _number(resources.get("memory_limit_in_bytes"))
    if memory > 0:
        limits["memory"] = quantity.format_bytes(memory)
    shares = _number(resources.get("cpu_shares"))
    if shares > 0:
        requests["cpu"] = quantity.format_milli(-(-shares * 1000 // _SHARES_PER_CPU))
    return limits, requests


def _number(value: int | str | None) -> int:
    return value if isinstance(value, int) else 0


def _overlaid(
    allocated: Mapping[str, str], actual: Mapping[str, str], before: Mapping[str, str], *, least_cpu: int
) -> dict[str, str]:
    if not allocated:
        return {}
    merged = dict(allocated)
    for name in ("cpu", "memory"):
        if name in actual:
            tiny = name == "cpu" and max(_milli(actual, name), _milli(allocated, name)) <= least_cpu
            if not tiny and not quantity.equal(actual[name], allocated.get(name, "0")):
                merged[name] = actual[name]
        elif name in before and name in allocated:
            merged[name] = before[name]
    return merged


def _milli(amounts: Mapping[str, str], name: str) -> int:
    return quantity.milli(amounts.get(name, "0"))


def pod_resources(ctx: StatusContext) -> ResourceRequirements:
    """Requests and limits in force for the pod as a whole."""
    limits, requests = effective_limits(ctx.pod), effective_requests(ctx.pod)
    if ctx.measured is not None:
        limits = {**limits, **{n: q for n, q in ctx.measured.limits.items() if n in limits}}
        requests = {**requests, **{n: q for n, q in ctx.measured.requests.items() if n in requests}}
    return ResourceRequirements(limits=limits, requests=requests)
