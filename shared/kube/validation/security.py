"""Security contexts of pods and containers (`core/validation`, `ValidateSecurityContext` and its pod sister)."""

import re
from typing import Final

from shared.kube.types import AppArmorProfile, PodSpec, SeccompProfile, SecurityContext, Sysctl
from shared.kube.validation import names
from shared.kube.validation.environment import check_relative_path
from shared.kube.validation.errors import Errors

_PROFILE_TYPES: Final = frozenset({"Localhost", "RuntimeDefault", "Unconfined"})
_SYSCTL_MAX: Final = 253
_SYSCTL_FORM: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"


def check_container_security(errors: Errors, path: str, security: SecurityContext | None) -> None:
    if security is None:
        return
    for name, value in (("runAsUser", security.run_as_user), ("runAsGroup", security.run_as_group)):
        if value is not None:
            errors.all(f"{path}.{name}", value, names.numeric_id(value))
    if security.proc_mount is not None:
        errors.one_of(f"{path}.procMount", security.proc_mount, ("Default", "Unmasked"))
    _check_seccomp(errors, f"{path}.seccompProfile", security.seccomp_profile)
    _check_apparmor(errors, f"{path}.appArmorProfile", security.app_armor_profile)
    if security.allow_privilege_escalation is False:
        if security.privileged:
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            errors.invalid(path, security, text)
        if security.capabilities is not None and "CAP_SYS_ADMIN" in security.capabilities.add:
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            errors.invalid(path, security, text)


def check_pod_security(errors: Errors, spec: PodSpec) -> None:
    """The pod's own context, and which namespaces of the node it may share."""
    security = spec.security_context
    if spec.share_process_namespace and spec.host_pid:
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.invalid("spec.shareProcessNamespace", True, text)
    if spec.host_users is False:
        for name, shared in (
            ("hostNetwork", spec.host_network),
            ("hostPID", spec.host_pid),
            ("hostIPC", spec.host_ipc),
        ):
            if shared:
                errors.forbidden(f"spec.{name}", "when `hostUsers` is false")
    if security is None:
        return
    path = "spec.securityContext"
    for name, value in (
        ("fsGroup", security.fs_group),
        ("runAsUser", security.run_as_user),
        ("runAsGroup", security.run_as_group),
    ):
        if value is not None:
            errors.all(f"{path}.{name}", value, names.numeric_id(value))
    for i, group in enumerate(security.supplemental_groups):
        errors.all(f"{path}.supplementalGroups[{i}]", group, names.numeric_id(group))
    for name, policy, supported in (
        ("fsGroupChangePolicy", security.fs_group_change_policy, ("Always", "OnRootMismatch")),
        ("supplementalGroupsPolicy", security.supplemental_groups_policy, ("Merge", "Strict")),
        ("seLinuxChangePolicy", security.se_linux_change_policy, ("MountOption", "Recursive")),
    ):
        if policy is not None and policy not in supported:
            errors.unsupported(f"{path}.{name}", policy, supported)
    _check_sysctls(errors, f"{path}.sysctls", security.sysctls)
    _check_seccomp(errors, f"{path}.seccompProfile", security.seccomp_profile)
    _check_apparmor(errors, f"{path}.appArmorProfile", security.app_armor_profile)


def _check_sysctls(errors: Errors, path: str, sysctls: list[Sysctl]) -> None:
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        where = f"{path}[{i}].name"
        if not sysctl.name:
            errors.required(where)
        elif len(sysctl.name) > _SYSCTL_MAX or not re.fullmatch(_SYSCTL_FORM, sysctl.name):
            text = f"must have at most {_SYSCTL_MAX} characters and match regex ^{_SYSCTL_FORM}$"
            errors.invalid(where, sysctl.name, text)
        elif (name := dotted(sysctl.name)) in seen:
            errors.duplicate(where, sysctl.name)
        else:
            seen.add(name)


def dotted(sysctl: str) -> str:
    """`kernel/shm_rmid_forced` and `kernel.shm_rmid_forced` are the same; the first separator says which form it is."""
    first = next((c for c in sysctl if c in "./"), ".")
    return sysctl if first == "." else sysctl.translate(str.maketrans("./", "/."))


def _check_seccomp(errors: Errors, path: str, profile: SeccompProfile | None) -> None:
    if profile is not None:
        _check_profile(errors, path, profile, "seccomp")
        if profile.type == "Localhost" and profile.localhost_profile:
            check_relative_path(errors, f"{path}.localhostProfile", profile.localhost_profile)


def _check_apparmor(errors: Errors, path: str, profile: AppArmorProfile | None) -> None:
    if profile is not None:
        _check_profile(errors, path, profile, "AppArmor")


def _check_profile(errors: Errors, path: str, profile: SeccompProfile | AppArmorProfile, kind: str) -> None:
    errors.one_of(f"{path}.type", profile.type, _PROFILE_TYPES)
    where = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        if not profile.localhost_profile:
            errors.required(where, f"must be set when {kind} type is Localhost")
    elif profile.localhost_profile is not None:
        errors.invalid(where, profile.localhost_profile, f"can only be set when {kind} type is Localhost")
