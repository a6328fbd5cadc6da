"""Init and regular containers (`core/validation`, `validateContainers` and `validateInitContainers`)."""

from dataclasses import dataclass
from typing import Final

from shared.kube.pods import is_restartable_init
from shared.kube.types import Container, ContainerPort, ContainerRestartRule, Pod, Volume
from shared.kube.validation import names
from shared.kube.validation.environment import check_env, check_env_from
from shared.kube.validation.errors import Errors
from shared.kube.validation.mounts import check_devices, check_mounts
from shared.kube.validation.probes import check_lifecycle, check_probe
from shared.kube.validation.resources import check_requirements
from shared.kube.validation.security import check_container_security

_PULL_POLICIES: Final = frozenset({"Always", "IfNotPresent", "Never"})
_RESTART_POLICIES: Final = frozenset({"Always", "OnFailure", "Never"})
_MESSAGE_POLICIES: Final = frozenset({"File", "FallbackToLogsOnError"})
_PROTOCOLS: Final = frozenset({"TCP", "UDP", "SCTP"})
_ACTIONS: Final = frozenset({"Restart", "RestartAllContainers"})
_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_RESIZABLE: Final = frozenset({"cpu", "memory"})


@dataclass(frozen=True)
class _Pod:
    """What of the pod a container refers to."""

    volumes: dict[str, Volume]
    claims: set[str]
    grace_s: int | None
    host_network: bool


def check_containers(errors: Errors, pod: Pod, volumes: dict[str, Volume]) -> None:
    """All of them; `volumes` are the pod's sound ones by name."""
    spec = pod.spec
    claims = {claim.name for claim in spec.resource_claims}
    around = _Pod(volumes, claims, spec.termination_grace_period_seconds, bool(spec.host_network))
    if not spec.containers:
        errors.required("spec.containers")
    taken: set[str] = set()
    for i, container in enumerate(spec.containers):
        path = f"spec.containers[{i}]"
        _check_name(errors, path, container.name, taken)
        _check_common(errors, path, container, around)
        _check_running(errors, path, container, around)
    for i, container in enumerate(spec.init_containers):
        path = f"spec.initContainers[{i}]"
        _check_name(errors, path, container.name, taken)
        _check_common(errors, path, container, around)
        _check_init(errors, path, container, around)
    _check_host_ports(errors, pod)


def _check_name(errors: Errors, path: str, name: str, taken: set[str]) -> None:
    if not name:
        errors.required(f"{path}.name")
        return
    errors.all(f"{path}.name", name, names.dns_label(name))
    if name in taken:
        errors.duplicate(f"{path}.name", name)
    taken.add(name)


def _check_common(errors: Errors, path: str, container: Container, around: _Pod) -> None:
    if not container.image:
        errors.required(f"{path}.image")
    elif container.image != container.image.strip():
        errors.invalid(f"{path}.image", container.image, "must not have leading or trailing whitespace")
    errors.one_of(f"{path}.terminationMessagePolicy", container.termination_message_policy, _MESSAGE_POLICIES)
    errors.one_of(f"{path}.imagePullPolicy", container.image_pull_policy, _PULL_POLICIES)
    _check_ports(errors, path, container.ports, around.host_network)
    check_env(errors, f"{path}.env", container.env)
    check_env_from(errors, f"{path}.envFrom", container.env_from)
    check_mounts(errors, path, container, around.volumes)
    check_devices(errors, path, container, around.volumes)
    if container.resources is not None:
        check_requirements(errors, f"{path}.resources", container.resources, claims=around.claims)
    _check_resize_policy(errors, path, container)
    check_container_security(errors, f"{path}.securityContext", container.security_context)
    _check_restart(errors, path, container)


def _check_running(errors: Errors, path: str, container: Container, around: _Pod) -> None:
    check_lifecycle(errors, f"{path}.lifecycle", container.lifecycle, grace_s=around.grace_s)
    check_probe(errors, f"{path}.livenessProbe", container.liveness_probe)
    check_probe(errors, f"{path}.readinessProbe", container.readiness_probe, readiness=True)
    check_probe(errors, f"{path}.startupProbe", container.startup_probe)


def _check_init(errors: Errors, path: str, container: Container, around: _Pod) -> None:
    if is_restartable_init(container):
        _check_running(errors, path, container, around)
        return
    for name, value in (
        ("lifecycle", container.lifecycle),
        ("livenessProbe", container.liveness_probe),
        ("readinessProbe", container.readiness_probe),
        ("startupProbe", container.startup_probe),
    ):
        if value is not None:
            errors.forbidden(f"{path}.{name}", "may not be set for init containers without restartPolicy=Always")


def _check_ports(errors: Errors, path: str, ports: list[ContainerPort], host_network: bool) -> None:
    taken: set[str] = set()
    for i, port in enumerate(ports):
        where = f"{path}.ports[{i}]"
        if port.name:
            wrong = names.port_name(port.name)
            errors.all(f"{where}.name", port.name, wrong)
            if not wrong and port.name in taken:
                errors.duplicate(f"{where}.name", port.name)
            taken.add(port.name)
        if not port.container_port:
            errors.required(f"{where}.containerPort")
        else:
            errors.all(f"{where}.containerPort", port.container_port, names.port_number(port.container_port))
        if port.host_port:
            errors.all(f"{where}.hostPort", port.host_port, names.port_number(port.host_port))
        if host_network and port.host_port != port.container_port:
            errors.invalid(
                f"{where}.containerPort", port.container_port, "must match `hostPort` when `hostNetwork` is true"
            )
        if port.host_ip:
            errors.all(f"{where}.hostIP", port.host_ip, names.ip_address(port.host_ip))
        errors.one_of(f"{where}.protocol", port.protocol, _PROTOCOLS)


def _check_host_ports(errors: Errors, pod: Pod) -> None:
    """Two containers that run at the same time cannot have the same port of the node."""
    sidecars = [(i, c) for i, c in enumerate(pod.spec.init_containers) if is_restartable_init(c)]
    regular = list(enumerate(pod.spec.containers))
    taken: set[str] = set()
    for kind, containers in (("initContainers", sidecars), ("containers", regular)):
        for i, container in containers:
            for j, port in enumerate(container.ports):
                if not port.host_port:
                    continue
                key = f"{port.protocol}/{port.host_ip or ''}/{port.host_port}"
                if key in taken:
                    errors.duplicate(f"spec.{kind}[{i}].ports[{j}].hostPort", key)
                taken.add(key)


def _check_resize_policy(errors: Errors, path: str, container: Container) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(container.resize_policy):
        where = f"{path}.resizePolicy[{i}]"
        if policy.resource_name in seen:
            errors.duplicate(where, policy.resource_name)
        seen.add(policy.resource_name)
        errors.one_of(where, policy.resource_name, _RESIZABLE)
        errors.one_of(where, policy.restart_policy, ("NotRequired", "RestartContainer"))


def _check_restart(errors: Errors, path: str, container: Container) -> None:
    policy = container.restart_policy
    if policy is not None and policy not in _RESTART_POLICIES:
        errors.unsupported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)
    rules = container.restart_policy_rules
    if rules and policy is None:
        errors.required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _RULES_MAX:
        errors.too_many(f"{path}.restartPolicyRules", len(rules), _RULES_MAX)
    for i, rule in enumerate(rules):
        _check_rule(errors, f"{path}.restartPolicyRules[{i}]", rule)


def _check_rule(errors: Errors, path: str, rule: ContainerRestartRule) -> None:
    errors.one_of(f"{path}.action", rule.action, _ACTIONS)
    if rule.exit_codes is None:
        errors.required(f"{path}.exitCodes", "must be specified")
        return
    errors.one_of(f"{path}.exitCodes.operator", rule.exit_codes.operator, ("In", "NotIn"))
    values = rule.exit_codes.values
    if not values:
        errors.required(f"{path}.exitCodes.values", "must specify at least one value")
    elif len(values) > _EXIT_CODES_MAX:
        errors.too_many(f"{path}.exitCodes.values", len(values), _EXIT_CODES_MAX)
