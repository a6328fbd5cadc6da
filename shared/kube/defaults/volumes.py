"""Defaults of volumes (`core/v1/defaults`)."""

import msgspec
from msgspec.structs import replace

from shared.kube.defaults.containers import default_field_ref, default_resource_field_ref
from shared.kube.defaults.images import default_pull_policy
from shared.kube.types import (
    AzureDiskVolumeSource,
    DownwardAPIVolumeFile,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    ISCSIVolumeSource,
    ProjectedVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    Volume,
    VolumeProjection,
)

_FILE_MODE = 0o644
_TOKEN_EXPIRATION_S = 3600
_CERTIFICATE_EXPIRATION_S = 86_400


def default_volume(volume: Volume) -> Volume:
    """A volume without a source is an emptyDir; the rest is filled in by source."""
    if volume == Volume(name=volume.name):
        return Volume(name=volume.name, empty_dir=EmptyDirVolumeSource())
    changes: dict[str, object] = {}
    for field in msgspec.structs.fields(Volume):
        source = getattr(volume, field.name)
        if source is not None and field.name != "name":
            changes[field.name] = _default_source(source)
    return replace(volume, **changes)


def _default_source(source: object) -> object:
    match source:
        case HostPathVolumeSource():
            return replace(source, type=source.type or "")
        case ImageVolumeSource():
            return replace(source, pull_policy=source.pull_policy or default_pull_policy(source.reference or ""))
        case ISCSIVolumeSource():
            return replace(source, iscsi_interface=source.iscsi_interface or "default")
        case RBDVolumeSource():
            return replace(
                source,
                pool=source.pool or "rbd",
                user=source.user or "admin",
                keyring=source.keyring or "/etc/ceph/keyring",
            )
        case ScaleIOVolumeSource():
            mode = source.storage_mode or "ThinProvisioned"
            return replace(source, storage_mode=mode, fs_type=source.fs_type or "xfs")
        case AzureDiskVolumeSource():
            return replace(
                source,
                caching_mode=source.caching_mode or "ReadWrite",
                kind=source.kind or "Shared",
                fs_type=source.fs_type or "ext4",
                read_only=bool(source.read_only),
            )
        case EphemeralVolumeSource():
            return _ephemeral(source)
        case _:
            return _projection(source)


def _projection(source: object) -> object:
    """Sources that write files get a mode for them."""
    if not isinstance(source, msgspec.Struct) or not hasattr(source, "default_mode"):
        return source
    mode = source.default_mode
    changes: dict[str, object] = {"default_mode": _FILE_MODE if mode is None else mode}
    if isinstance(source, ProjectedVolumeSource):
        changes["sources"] = [_projected(s) for s in source.sources]
    elif hasattr(source, "items"):
        changes["items"] = [_item(i) for i in source.items]
    return replace(source, **changes)


def _projected(projection: VolumeProjection) -> VolumeProjection:
    token, certificate, facts = projection.service_account_token, projection.pod_certificate, projection.downward_api
    if token is not None and token.expiration_seconds is None:
        token = replace(token, expiration_seconds=_TOKEN_EXPIRATION_S)
    if certificate is not None and certificate.max_expiration_seconds is None:
        certificate = replace(certificate, max_expiration_seconds=_CERTIFICATE_EXPIRATION_S)
    if facts is not None:
        facts = replace(facts, items=[_item(i) for i in facts.items])
    return replace(projection, service_account_token=token, pod_certificate=certificate, downward_api=facts)


def _item(item: object) -> object:
    if not isinstance(item, DownwardAPIVolumeFile):
        return item
    return replace(
        item,
        field_ref=default_field_ref(item.field_ref),
        resource_field_ref=default_resource_field_ref(item.resource_field_ref),
    )


def _ephemeral(source: EphemeralVolumeSource) -> EphemeralVolumeSource:
    template = source.volume_claim_template
    if template is None:
        return source
    spec = replace(template.spec, volume_mode=template.spec.volume_mode or "Filesystem")
    return replace(source, volume_claim_template=replace(template, spec=spec))
