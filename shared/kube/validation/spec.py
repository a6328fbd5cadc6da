"""The rest of a pod's spec: policies, names, network (`core/validation`, `ValidatePodSpec`)."""

from typing import Final

from shared.kube.types import PodDNSConfig, PodResourceClaim, PodSpec
from shared.kube.validation import names
from shared.kube.validation.errors import Errors
from shared.kube.validation.metadata import check_labels
from shared.kube.validation.resources import check_amount
from shared.kube.validation.scheduling import check_node_affinity, check_tolerations

_RESTART_POLICIES: Final = frozenset({"Always", "OnFailure", "Never"})
_DNS_POLICIES: Final = frozenset({"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"})
_INT32_MAX: Final = 2**31 - 1
_NAMESERVERS_MAX: Final = 3
_SEARCHES_MAX: Final = 32
_SEARCH_CHARACTERS_MAX: Final = 2048
_HOSTNAME_MAX: Final = 64


def check_spec(errors: Errors, spec: PodSpec) -> None:
    """Everything but volumes, containers, security and pod-level resources, which have modules of their own."""
    errors.one_of("spec.restartPolicy", spec.restart_policy, _RESTART_POLICIES)
    errors.one_of("spec.dnsPolicy", spec.dns_policy, _DNS_POLICIES)
    check_labels(errors, "spec.nodeSelector", spec.node_selector)
    check_node_affinity(errors, spec)
    _check_dns(errors, spec.dns_config or PodDNSConfig(), spec.dns_policy)
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        errors.invalid("spec.activeDeadlineSeconds", deadline, f"must be between 1 and {_INT32_MAX}, inclusive")
    errors.not_negative("spec.terminationGracePeriodSeconds", spec.termination_grace_period_seconds)
    _check_names(errors, spec)
    check_tolerations(errors, "spec.tolerations", spec.tolerations)
    for i, gate in enumerate(spec.readiness_gates):
        errors.all(
            f"spec.readinessGates[{i}].conditionType", gate.condition_type, names.qualified_name(gate.condition_type)
        )
    for i, alias in enumerate(spec.host_aliases):
        errors.all(f"spec.hostAliases[{i}].ip", alias.ip, names.ip_address(alias.ip))
        for hostname in alias.hostnames:
            errors.all(f"spec.hostAliases[{i}].hostnames", hostname, names.dns_subdomain(hostname))
    for name, amount in spec.overhead.items():
        check_amount(errors, f"spec.overhead[{name}]", name, amount)
    if spec.preemption_policy is not None:
        errors.one_of("spec.preemptionPolicy", spec.preemption_policy, ("Never", "PreemptLowerPriority"))
    if spec.os is not None:
        errors.one_of("spec.os.name", spec.os.name, ("linux", "windows"))
    _check_claims(errors, spec.resource_claims)
    if spec.ephemeral_containers:
        errors.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.node_name and spec.scheduling_gates:
        errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def _check_names(errors: Errors, spec: PodSpec) -> None:
    for field, value, check in (
        ("serviceAccountName", spec.service_account_name, names.dns_subdomain),
        ("nodeName", spec.node_name, names.dns_subdomain),
        ("hostname", spec.hostname, names.dns_label),
        ("subdomain", spec.subdomain, names.dns_label),
        ("hostnameOverride", spec.hostname_override, names.dns_subdomain),
        ("priorityClassName", spec.priority_class_name, names.dns_subdomain),
        ("runtimeClassName", spec.runtime_class_name, names.dns_subdomain),
    ):
        if value:
            errors.all(f"spec.{field}", value, check(value))
    if spec.hostname_override:
        if len(spec.hostname_override) > _HOSTNAME_MAX:
            errors.too_long("spec.hostnameOverride", _HOSTNAME_MAX)
        if spec.host_network:
            errors.forbidden("spec.hostnameOverride", "may not be specified when hostNetwork is true")
        if spec.set_hostname_as_fqdn:
            errors.forbidden("spec.hostnameOverride", "may not be specified when setHostnameAsFQDN is true")


def _check_dns(errors: Errors, config: PodDNSConfig, policy: str | None) -> None:
    path = "spec.dnsConfig"
    if policy == "None" and not config.nameservers:
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        errors.required(f"{path}.nameservers", text)
    if len(config.nameservers) > _NAMESERVERS_MAX:
        errors.invalid(
            f"{path}.nameservers", config.nameservers, f"must not have more than {_NAMESERVERS_MAX} nameservers"
        )
    for i, server in enumerate(config.nameservers):
        errors.all(f"{path}.nameservers[{i}]", server, names.ip_address(server))
    if len(config.searches) > _SEARCHES_MAX:
        errors.invalid(f"{path}.searches", config.searches, f"must not have more than {_SEARCHES_MAX} search paths")
    if len(" ".join(config.searches)) > _SEARCH_CHARACTERS_MAX:
        text = f"must not have more than {_SEARCH_CHARACTERS_MAX} characters (including spaces) in the search list"
        errors.invalid(f"{path}.searches", config.searches, text)
    for i, search in enumerate(config.searches):
        domain = search.removesuffix(".")
        if domain:
            errors.all(f"{path}.searches[{i}]", search, names.dns_subdomain(domain.replace("_", "-")))
    for i, option in enumerate(config.options):
        if not option.name:
            errors.required(f"{path}.options[{i}]", "must not be empty")


def _check_claims(errors: Errors, claims: list[PodResourceClaim]) -> None:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        path = f"spec.resourceClaims[{i}]"
        if not claim.name:
            errors.required(f"{path}.name")
        elif claim.name in seen:
            errors.duplicate(f"{path}.name", claim.name)
        else:
            errors.all(f"{path}.name", claim.name, names.dns_label(claim.name))
        seen.add(claim.name)
        chosen = (claim.resource_claim_name is not None) + (claim.resource_claim_template_name is not None)
        if chosen > 1:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.invalid(path, claim, text)
        elif chosen == 0:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.invalid(path, claim, text)
