"""Defaults of the pod itself (`core/v1/defaults`, `SetDefaults_PodSpec` and `SetDefaults_Pod`)."""

from collections.abc import Mapping

from msgspec.structs import replace

from shared.kube import quantity
from shared.kube.defaults.containers import canonical_amounts, default_container
from shared.kube.defaults.volumes import default_volume
from shared.kube.pods import effective_limits, effective_requests, is_pod_level_resource
from shared.kube.types import Pod, PodSecurityContext, PodSpec, ResourceRequirements

_GRACE_S = 30
_HUGE_PAGES = "hugepages-"


def default_pod(pod: Pod) -> Pod:
    """The pod with everything filled in that the API server would fill in."""
    spec = pod.spec
    host_network = bool(spec.host_network)
    grace_s = spec.termination_grace_period_seconds
    account = spec.service_account_name or spec.service_account
    spec = replace(
        spec,
        containers=[default_container(c, host_network=host_network) for c in spec.containers],
        init_containers=[default_container(c, host_network=host_network) for c in spec.init_containers],
        ephemeral_containers=[default_container(c, host_network=host_network) for c in spec.ephemeral_containers],
        volumes=[default_volume(v) for v in spec.volumes],
        overhead=canonical_amounts(spec.overhead),
        dns_policy=spec.dns_policy or "ClusterFirst",
        restart_policy=spec.restart_policy or "Always",
        scheduler_name=spec.scheduler_name or "default-scheduler",
        enable_service_links=True if spec.enable_service_links is None else spec.enable_service_links,
        security_context=spec.security_context or PodSecurityContext(),
        service_account=account,
        service_account_name=account,
        termination_grace_period_seconds=_GRACE_S if grace_s is None else 1 if grace_s < 0 else grace_s,
    )
    return replace(pod, spec=_default_pod_level(spec))


def _default_pod_level(spec: PodSpec) -> PodSpec:
    """Pod-level limits of huge pages come from the containers; requests from the containers, else from the limits."""
    resources = spec.resources
    if resources is None:
        return spec
    bare = Pod(spec=PodSpec(containers=spec.containers, init_containers=spec.init_containers))
    limits = canonical_amounts(resources.limits)
    requests = canonical_amounts(resources.requests)
    if limits or requests:
        pages = {n: q for n, q in effective_limits(bare).items() if n.startswith(_HUGE_PAGES)}
        limits = {**_not_zero(pages), **limits}
        needed = {n: q for n, q in effective_requests(bare).items() if is_pod_level_resource(n)}
        bounds = {n: q for n, q in limits.items() if is_pod_level_resource(n)}
        requests = {**bounds, **_not_zero(needed), **requests}
    return replace(spec, resources=ResourceRequirements(limits=limits, requests=requests, claims=resources.claims))


def _not_zero(amounts: Mapping[str, str]) -> dict[str, str]:
    return {name: amount for name, amount in amounts.items() if quantity.parse(amount)}
