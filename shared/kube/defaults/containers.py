"""Defaults of containers, their probes, hooks, ports and variables (`core/v1/defaults`)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec.structs import replace

from shared.kube import quantity
from shared.kube.defaults.images import default_pull_policy
from shared.kube.types import (
    Container,
    ContainerPort,
    EnvVar,
    EphemeralContainer,
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    ObjectFieldSelector,
    Probe,
    ResourceFieldSelector,
    ResourceRequirements,
    SecurityContext,
)

C = TypeVar("C", Container, EphemeralContainer)


def default_container(container: C, *, host_network: bool) -> C:
    """One container of any kind; with the host's network each port is also the node's."""
    return replace(
        container,
        image_pull_policy=container.image_pull_policy or default_pull_policy(container.image),
        termination_message_path=container.termination_message_path or "/dev/termination-log",
        termination_message_policy=container.termination_message_policy or "File",
        ports=[_port(p, host_network) for p in container.ports],
        env=[_variable(v) for v in container.env],
        resources=default_requirements(container.resources or ResourceRequirements()),
        liveness_probe=_probe(container.liveness_probe),
        readiness_probe=_probe(container.readiness_probe),
        startup_probe=_probe(container.startup_probe),
        lifecycle=_lifecycle(container.lifecycle),
        security_context=_security(container.security_context),
    )


def default_requirements(resources: ResourceRequirements) -> ResourceRequirements:
    """A limit without a request is also the request. Amounts are rounded up to thousandths and in canonical form."""
    return replace(
        resources,
        limits=canonical_amounts(resources.limits),
        requests=canonical_amounts({**resources.requests, **_missing(resources.limits, resources.requests)}),
    )


def _missing(limits: Mapping[str, str], requests: Mapping[str, str]) -> dict[str, str]:
    return {name: limit for name, limit in limits.items() if name not in requests}


def canonical_amounts(amounts: Mapping[str, str]) -> dict[str, str]:
    """As the API server stores a resource list."""
    return {name: _canonical(amount) for name, amount in amounts.items()}


def _canonical(amount: str) -> str:
    thousandths = quantity.parse(amount) * 1000
    if thousandths.denominator == 1:
        return quantity.canonical(amount)
    away = -1 if thousandths < 0 else 1
    return quantity.format_decimal(Fraction(away * -(-abs(thousandths) // 1), 1000))


def _port(port: ContainerPort, host_network: bool) -> ContainerPort:
    same = port.container_port if host_network and not port.host_port else port.host_port
    return replace(port, protocol=port.protocol or "TCP", host_port=same)


def _variable(variable: EnvVar) -> EnvVar:
    source = variable.value_from
    if source is None:
        return variable
    source = replace(
        source,
        field_ref=default_field_ref(source.field_ref),
        resource_field_ref=default_resource_field_ref(source.resource_field_ref),
    )
    return replace(variable, value_from=source)


def default_field_ref(ref: ObjectFieldSelector | None) -> ObjectFieldSelector | None:
    return replace(ref, api_version=ref.api_version or "v1") if ref is not None else None


def default_resource_field_ref(ref: ResourceFieldSelector | None) -> ResourceFieldSelector | None:
    return replace(ref, divisor=quantity.canonical(ref.divisor or "0")) if ref is not None else None


def _probe(probe: Probe | None) -> Probe | None:
    if probe is None:
        return None
    return replace(
        probe,
        timeout_seconds=probe.timeout_seconds or 1,
        period_seconds=probe.period_seconds or 10,
        success_threshold=probe.success_threshold or 1,
        failure_threshold=probe.failure_threshold or 3,
        http_get=_http_get(probe.http_get),
        grpc=replace(probe.grpc, service=probe.grpc.service or "") if probe.grpc is not None else None,
    )


def _http_get(action: HTTPGetAction | None) -> HTTPGetAction | None:
    return replace(action, path=action.path or "/", scheme=action.scheme or "HTTP") if action is not None else None


def _lifecycle(lifecycle: Lifecycle | None) -> Lifecycle | None:
    if lifecycle is None:
        return None
    return replace(lifecycle, post_start=_handler(lifecycle.post_start), pre_stop=_handler(lifecycle.pre_stop))


def _handler(handler: LifecycleHandler | None) -> LifecycleHandler | None:
    return replace(handler, http_get=_http_get(handler.http_get)) if handler is not None else None


def _security(security: SecurityContext | None) -> SecurityContext | None:
    return replace(security, proc_mount=security.proc_mount or "Default") if security is not None else None
