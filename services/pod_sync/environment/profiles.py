"""Seccomp and AppArmor profiles. Pure (upstream `kuberuntime`, helpers: fieldSeccompProfile; `pkg/security/apparmor`)."""

from typing import Final

from services.pod_sync.environment.model import AnyContainer, ConfigError, NodeFacts
from shared.cri import api
from shared.kube.types import Pod, PodSecurityContext, SecurityContext

_APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
_DEPRECATED_DEFAULT: Final = "runtime/default"
_DEPRECATED_UNCONFINED: Final = "unconfined"
_DEPRECATED_LOCALHOST: Final = "localhost/"

_Type = api.SecurityProfile


def seccomp_profile(own: SecurityContext, of_pod: PodSecurityContext, node: NodeFacts) -> api.SecurityProfile:
    """The container's system call filter: its own, the pod's, else what the node defaults to."""
    profile = own.seccomp_profile or of_pod.seccomp_profile
    if profile is None:
        kind = _Type.RuntimeDefault if node.seccomp_default else _Type.Unconfined
        return api.SecurityProfile(profile_type=kind)
    match profile.type:
        case "RuntimeDefault":
            return api.SecurityProfile(profile_type=_Type.RuntimeDefault)
        case "Localhost":
            if not profile.localhost_profile:
                raise ConfigError("localhostProfile must be set if seccompProfile type is Localhost.")
            path = f"{node.root_dir}/seccomp/{profile.localhost_profile}"
            return api.SecurityProfile(profile_type=_Type.Localhost, localhost_ref=path)
        case _:
            return api.SecurityProfile(profile_type=_Type.Unconfined)


def apparmor_profile(pod: Pod, container: AnyContainer) -> api.SecurityProfile | None:
    """The container's AppArmor profile: its field, the deprecated annotation, the pod's field; None for none."""
    own = container.security_context
    if own is not None and own.app_armor_profile is not None:
        field = own.app_armor_profile
        return _from_field(field.type, field.localhost_profile)
    annotated = pod.metadata.annotations.get(_APPARMOR_ANNOTATION + container.name)
    if annotated is not None:
        return _from_annotation(annotated)
    of_pod = pod.spec.security_context
    if of_pod is not None and of_pod.app_armor_profile is not None:
        field = of_pod.app_armor_profile
        return _from_field(field.type, field.localhost_profile)
    return None


def deprecated_apparmor(profile: api.SecurityProfile) -> str:
    """The same profile in the older string field, which runtimes still read."""
    if profile.profile_type == _Type.RuntimeDefault:
        return _DEPRECATED_DEFAULT
    if profile.profile_type == _Type.Unconfined:
        return _DEPRECATED_UNCONFINED
    return _DEPRECATED_LOCALHOST + profile.localhost_ref


def _from_field(kind: str, localhost: str | None) -> api.SecurityProfile:
    match kind:
        case "RuntimeDefault":
            return api.SecurityProfile(profile_type=_Type.RuntimeDefault)
        case "Unconfined":
            return api.SecurityProfile(profile_type=_Type.Unconfined)
        case "Localhost":
            return api.SecurityProfile(profile_type=_Type.Localhost, localhost_ref=localhost or "")
    raise ConfigError(f'unknown AppArmor profile type: "{kind}"')


def _from_annotation(text: str) -> api.SecurityProfile | None:
    if text == _DEPRECATED_DEFAULT:
        return api.SecurityProfile(profile_type=_Type.RuntimeDefault)
    if text == _DEPRECATED_UNCONFINED:
        return api.SecurityProfile(profile_type=_Type.Unconfined)
    if text.startswith(_DEPRECATED_LOCALHOST):
        return api.SecurityProfile(profile_type=_Type.Localhost, localhost_ref=text.removeprefix(_DEPRECATED_LOCALHOST))
    return None
