"""Volumes made of API objects and facts about the pod (`core/validation`, `validateProjectedVolumeSource` and kin)."""

from collections.abc import Callable
from typing import Any, Final

from shared.kube.types import (
    ClusterTrustBundleProjection,
    ConfigMapVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    KeyToPath,
    PodCertificateProjection,
    ProjectedVolumeSource,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)
from shared.kube.validation import names
from shared.kube.validation.environment import check_field_ref, check_relative_path, check_resource_field_ref
from shared.kube.validation.errors import Errors

_MODE_ERROR: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_TOKEN_MIN_S: Final = 600
_TOKEN_MAX_S: Final = 2**32
_CERTIFICATE_MIN_S: Final = 3600
_CERTIFICATE_MAX_S: Final = 7_862_400
_KEY_TYPES: Final = frozenset({"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"})


def _check_mode(errors: Errors, path: str, mode: int | None) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        errors.invalid(path, mode, _MODE_ERROR)


def _check_file_path(errors: Errors, path: str, value: str) -> None:
    """A file of ours in the volume: relative, not upwards, not one of the names kept for atomic updates."""
    if not value:
        errors.required(path)
        return
    check_relative_path(errors, path, value)
    if value.startswith("..") and not value.startswith("../"):
        errors.invalid(path, value, "must not start with '..'")


def _check_items(errors: Errors, path: str, items: list[KeyToPath]) -> None:
    for i, item in enumerate(items):
        where = f"{path}.items[{i}]"
        if not item.key:
            errors.required(f"{where}.key")
        _check_file_path(errors, f"{where}.path", item.path)
        _check_mode(errors, f"{where}.mode", item.mode)


def _check_secret(errors: Errors, path: str, source: SecretVolumeSource) -> None:
    if not source.secret_name:
        errors.required(f"{path}.secretName")
    _check_mode(errors, f"{path}.defaultMode", source.default_mode)
    _check_items(errors, path, source.items)


def _check_config_map(errors: Errors, path: str, source: ConfigMapVolumeSource) -> None:
    if not source.name:
        errors.required(f"{path}.name")
    _check_mode(errors, f"{path}.defaultMode", source.default_mode)
    _check_items(errors, path, source.items)


def _check_downward_api(errors: Errors, path: str, source: DownwardAPIVolumeSource) -> None:
    _check_mode(errors, f"{path}.defaultMode", source.default_mode)
    _check_facts(errors, path, source.items)


def _check_facts(errors: Errors, path: str, items: list[DownwardAPIVolumeFile]) -> None:
    for i, item in enumerate(items):
        where = f"{path}.items[{i}]"
        _check_file_path(errors, f"{where}.path", item.path)
        _check_mode(errors, f"{where}.mode", item.mode)
        if item.field_ref is not None:
            check_field_ref(errors, f"{where}.fieldRef", item.field_ref, in_file=True)
            if item.resource_field_ref is not None:
                errors.invalid(where, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        elif item.resource_field_ref is not None:
            check_resource_field_ref(errors, f"{where}.resourceFieldRef", item.resource_field_ref, in_file=True)
        else:
            errors.required(f"{where}.fieldRef", "one of fieldRef and resourceFieldRef is required")


def _check_projected(errors: Errors, path: str, source: ProjectedVolumeSource) -> None:
    _check_mode(errors, f"{path}.defaultMode", source.default_mode)
    taken: set[str] = set()
    for i, projection in enumerate(source.sources):
        where = f"{path}.sources[{i}]"
        present = _present(projection)
        if not present:
            errors.required(where, "must specify a projection type")
        for j, (name, one, check) in enumerate(present):
            if j > 0:
                errors.forbidden(f"{where}.{name}", "may not specify more than 1 volume type")
            check(errors, f"{where}.{name}", one)
            for target in _targets(one):
                if target in taken:
                    errors.invalid(path, target, "conflicting duplicate paths")
                taken.add(target)


def _targets(source: Any) -> list[str]:
    """Paths of the files that one source makes, as far as the spec names them."""
    if isinstance(source, PodCertificateProjection):
        paths = [source.credential_bundle_path, source.key_path, source.certificate_chain_path]
        return [p for p in paths if p]
    if isinstance(source, ClusterTrustBundleProjection | ServiceAccountTokenProjection):
        return [source.path] if source.path else []
    return [item.path for item in source.items if item.path]


Check = Callable[[Errors, str, Any], None]


def _present(projection: VolumeProjection) -> list[tuple[str, Any, Check]]:
    every: list[tuple[str, Any, Check]] = [
        ("secret", projection.secret, _check_named),
        ("configMap", projection.config_map, _check_named),
        ("downwardAPI", projection.downward_api, lambda e, p, s: _check_facts(e, p, s.items)),
        ("serviceAccountToken", projection.service_account_token, _check_token),
        ("clusterTrustBundle", projection.cluster_trust_bundle, _check_trust_bundle),
        ("podCertificate", projection.pod_certificate, _check_certificate),
    ]
    return [one for one in every if one[1] is not None]


def _check_named(errors: Errors, path: str, source: Any) -> None:
    if not source.name:
        errors.required(f"{path}.name")
    _check_items(errors, path, source.items)


def _check_token(errors: Errors, path: str, source: ServiceAccountTokenProjection) -> None:
    seconds = source.expiration_seconds
    if seconds is not None and seconds < _TOKEN_MIN_S:
        errors.invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > _TOKEN_MAX_S:
        errors.invalid(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    _check_file_path(errors, f"{path}.path", source.path)


def _check_trust_bundle(errors: Errors, path: str, source: ClusterTrustBundleProjection) -> None:
    if source.name is not None and (source.signer_name is not None or source.label_selector is not None):
        errors.invalid(path, source, "only one of name and signerName may be used")
    elif source.name is None and source.signer_name is None:
        errors.required(path, "either name or signerName must be specified")
    elif source.name is not None:
        errors.all(f"{path}.name", source.name, names.dns_subdomain(source.name.replace(":", ".")))
    elif source.signer_name is not None:
        errors.all(f"{path}.signerName", source.signer_name, names.signer_name(source.signer_name))
    _check_file_path(errors, f"{path}.path", source.path)


def _check_certificate(errors: Errors, path: str, source: PodCertificateProjection) -> None:
    errors.all(f"{path}.signerName", source.signer_name, names.signer_name(source.signer_name))
    errors.one_of(f"{path}.keyType", source.key_type, _KEY_TYPES)
    seconds = source.max_expiration_seconds
    if seconds is not None and not _CERTIFICATE_MIN_S <= seconds <= _CERTIFICATE_MAX_S:
        text = f"must be between {_CERTIFICATE_MIN_S} and {_CERTIFICATE_MAX_S}, inclusive"
        errors.invalid(f"{path}.maxExpirationSeconds", seconds, text)
    targets = _targets(source)
    if not targets:
        errors.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
    for name, target in (
        ("credentialBundlePath", source.credential_bundle_path),
        ("keyPath", source.key_path),
        ("certificateChainPath", source.certificate_chain_path),
    ):
        if target:
            _check_file_path(errors, f"{path}.{name}", target)


PROJECTION_CHECKS: Final[dict[str, Check]] = {
    "secret": _check_secret,
    "configMap": _check_config_map,
    "downwardAPI": _check_downward_api,
    "projected": _check_projected,
}
"""by the volume's field that holds the source"""
