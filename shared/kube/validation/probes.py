"""Probes and lifecycle hooks (`core/validation`, `validateProbe` and `validateLifecycle`)."""

from typing import Final

from shared.kube.types import HTTPGetAction, Lifecycle, LifecycleHandler, Probe, TCPSocketAction
from shared.kube.validation import names
from shared.kube.validation.errors import POSITIVE, Errors

_SCHEMES: Final = frozenset({"HTTP", "HTTPS"})


def check_probe(errors: Errors, path: str, probe: Probe | None, *, readiness: bool = False) -> None:
    """One handler, sensible numbers. Only readiness may ask for more than one success; it alone has no grace period."""
    if probe is None:
        return
    _check_handler(errors, path, probe)
    for name, value in (
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ):
        errors.not_negative(f"{path}.{name}", value)
    grace = probe.termination_grace_period_seconds
    if readiness:
        if grace is not None:
            errors.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
        return
    if grace is not None and grace <= 0:
        errors.invalid(f"{path}.terminationGracePeriodSeconds", grace, POSITIVE)
    if probe.success_threshold is not None and probe.success_threshold != 1:
        errors.invalid(f"{path}.successThreshold", probe.success_threshold, "must be 1")


def check_lifecycle(errors: Errors, path: str, lifecycle: Lifecycle | None, *, grace_s: int | None) -> None:
    """Hooks; a sleep must end within the pod's grace period `grace_s`."""
    if lifecycle is None:
        return
    for name, handler in (("postStart", lifecycle.post_start), ("preStop", lifecycle.pre_stop)):
        if handler is not None:
            where = f"{path}.{name}"
            _check_handler(errors, where, handler)
            _check_sleep(errors, where, handler, grace_s)


def _check_sleep(errors: Errors, path: str, handler: LifecycleHandler, grace_s: int | None) -> None:
    if handler.sleep is None or grace_s is None:
        return
    if not 0 <= handler.sleep.seconds <= grace_s:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_s})"
        errors.invalid(f"{path}.sleep.seconds", handler.sleep.seconds, text)


def _check_handler(errors: Errors, path: str, handler: Probe | LifecycleHandler) -> None:
    grpc = handler.grpc if isinstance(handler, Probe) else None
    sleep = handler.sleep if isinstance(handler, LifecycleHandler) else None
    present = [
        name
        for name, action in (
            ("exec", handler.exec),
            ("httpGet", handler.http_get),
            ("tcpSocket", handler.tcp_socket),
            ("grpc", grpc),
            ("sleep", sleep),
        )
        if action is not None
    ]
    if not present:
        errors.required(path, "must specify a handler type")
    for extra in present[1:]:
        errors.forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
    if handler.exec is not None and not handler.exec.command:
        errors.required(f"{path}.exec.command")
    if handler.http_get is not None:
        _check_http(errors, f"{path}.httpGet", handler.http_get)
    if handler.tcp_socket is not None:
        _check_port(errors, f"{path}.tcpSocket.port", handler.tcp_socket)
    if grpc is not None:
        errors.all(f"{path}.grpc.port", grpc.port, names.port_number(grpc.port))


def _check_http(errors: Errors, path: str, action: HTTPGetAction) -> None:
    if not action.path:
        errors.required(f"{path}.path")
    _check_port(errors, f"{path}.port", action)
    if action.scheme not in _SCHEMES:
        errors.unsupported(f"{path}.scheme", action.scheme or "", _SCHEMES)
    for i, header in enumerate(action.http_headers):
        errors.all(f"{path}.httpHeaders[{i}].name", header.name, names.http_header(header.name))


def _check_port(errors: Errors, path: str, action: HTTPGetAction | TCPSocketAction) -> None:
    port = action.port
    errors.all(path, port, names.port_number(port) if isinstance(port, int) else names.port_name(port))
