"""Users, groups, capabilities, profiles and namespaces of sandboxes and containers. Pure.

Upstream `kuberuntime`, security_context and kuberuntime_sandbox_linux; `pkg/securitycontext`; `kuberuntime/util`,
NamespacesForPod. A container's fields overlay the pod's.
"""

from typing import Final

from services.pod_sync.environment.metadata import is_any_privileged
from services.pod_sync.environment.model import AnyContainer, ConfigError, ContainerInputs, NodeFacts, PodContext
from services.pod_sync.environment.namespaces import namespace_options
from services.pod_sync.environment.profiles import apparmor_profile, deprecated_apparmor, seccomp_profile
from shared.cri import api
from shared.kube.pods import pod_format
from shared.kube.types import Pod, PodSecurityContext, SecurityContext, SELinuxOptions

_MAX_UID: Final = 2**31 - 1
_MASKED: Final = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
_READ_ONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


def sandbox_security(pod: PodContext, node: NodeFacts) -> api.LinuxSandboxSecurityContext:
    """The sandbox's security context. Raises ConfigError."""
    context = pod.pod.spec.security_context or PodSecurityContext()
    result = api.LinuxSandboxSecurityContext(
        privileged=is_any_privileged(pod.pod),
        seccomp=api.SecurityProfile(profile_type=api.SecurityProfile.RuntimeDefault),
        namespace_options=namespace_options(pod, node),
        selinux_options=_selinux(context.se_linux_options),
        supplemental_groups_policy=_groups_policy(context),
    )
    if context.run_as_user is not None:
        result.run_as_user.value = context.run_as_user
    if context.run_as_group is not None:
        result.run_as_group.value = context.run_as_group
    if context.fs_group is not None:
        result.supplemental_groups.append(context.fs_group)
    result.supplemental_groups.extend(pod.volume_groups)
    result.supplemental_groups.extend(context.supplemental_groups)
    return result


def container_security(
    pod: PodContext, container: AnyContainer, inputs: ContainerInputs, *, node: NodeFacts
) -> api.LinuxContainerSecurityContext:
    """The container's security context. Raises ConfigError, also when it may not run as the user it would run as."""
    own = container.security_context or SecurityContext()
    of_pod = pod.pod.spec.security_context or PodSecurityContext()
    _check_non_root(pod.pod, container, inputs)
    result = api.LinuxContainerSecurityContext(
        privileged=bool(own.privileged),
        readonly_rootfs=bool(own.read_only_root_filesystem),
        no_new_privs=own.allow_privilege_escalation is False,
        namespace_options=namespace_options(pod, node, target_id=inputs.target_id),
        selinux_options=_selinux(own.se_linux_options or of_pod.se_linux_options),
        seccomp=seccomp_profile(own, of_pod, node),
        supplemental_groups_policy=_groups_policy(of_pod),
    )
    if own.capabilities is not None:
        result.capabilities.SetInParent()
        result.capabilities.add_capabilities.extend(own.capabilities.add)
        result.capabilities.drop_capabilities.extend(own.capabilities.drop)
    apparmor = apparmor_profile(pod.pod, container)
    if apparmor is not None:
        result.apparmor.CopyFrom(apparmor)
        result.apparmor_profile = deprecated_apparmor(apparmor)
    if (own.proc_mount or "Default") != "Unmasked":
        result.masked_paths.extend((*_MASKED, *node.masked_cpu_paths))
        result.readonly_paths.extend(_READ_ONLY)
    _add_user(result, own, of_pod, inputs=inputs)
    if of_pod.fs_group is not None:
        result.supplemental_groups.append(of_pod.fs_group)
    result.supplemental_groups.extend(of_pod.supplemental_groups)
    result.supplemental_groups.extend(pod.volume_groups)
    return result


def _add_user(
    result: api.LinuxContainerSecurityContext,
    own: SecurityContext,
    of_pod: PodSecurityContext,
    *,
    inputs: ContainerInputs,
) -> None:
    user = own.run_as_user if own.run_as_user is not None else of_pod.run_as_user
    if user is not None:
        result.run_as_user.value = user
    elif inputs.image_uid is not None:
        result.run_as_user.value = inputs.image_uid
    else:
        result.run_as_username = inputs.image_username
    group = own.run_as_group if own.run_as_group is not None else of_pod.run_as_group
    if group is not None:
        result.run_as_group.value = group


def _check_non_root(pod: Pod, container: AnyContainer, inputs: ContainerInputs) -> None:
    """Upstream verifyRunAsNonRoot, its words."""
    own = container.security_context or SecurityContext()
    of_pod = pod.spec.security_context or PodSecurityContext()
    must = own.run_as_non_root if own.run_as_non_root is not None else of_pod.run_as_non_root
    if not must:
        return
    where = f'(pod: "{pod_format(pod)}", container: {container.name})'
    user = own.run_as_user if own.run_as_user is not None else of_pod.run_as_user
    if user is not None:
        if user == 0:
            raise ConfigError(f"container's runAsUser breaks non-root policy {where}")
        return
    if inputs.image_uid is None:
        if inputs.image_username:
            raise ConfigError(
                f"container has runAsNonRoot and image has non-numeric user ({inputs.image_username}), "
                f"cannot verify user is non-root {where}"
            )
        return
    if inputs.image_uid == 0:
        raise ConfigError(f"container has runAsNonRoot and image will run as root {where}")
    if not 0 < inputs.image_uid <= _MAX_UID:
        raise ConfigError(
            f"container has runAsNonRoot and image has an invalid user id ({inputs.image_uid}). "
            f"(Must be 1-({_MAX_UID})): must be between 0 and {_MAX_UID}, inclusive {where}"
        )


def _selinux(options: SELinuxOptions | None) -> api.SELinuxOption | None:
    if options is None:
        return None
    return api.SELinuxOption(user=options.user, role=options.role, type=options.type, level=options.level)


def _groups_policy(context: PodSecurityContext) -> api.SupplementalGroupsPolicy:
    match context.supplemental_groups_policy:
        case None | "" | "Merge":
            return api.SupplementalGroupsPolicy.Merge
        case "Strict":
            return api.SupplementalGroupsPolicy.Strict
        case other:
            raise ConfigError(f"unsupported supplementalGroupsPolicy: {other}")
