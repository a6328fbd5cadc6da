"""Volumes of a pod (`core/validation`, `ValidateVolumes`): one source each, with what that source needs."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from shared.kube import quantity
from shared.kube.types import (
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    FCVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PodSpec,
    Volume,
)
from shared.kube.validation import names
from shared.kube.validation.environment import check_no_upward_path
from shared.kube.validation.errors import Errors
from shared.kube.validation.projections import PROJECTION_CHECKS

_HOST_PATH_TYPES: Final = frozenset(
    {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"}
)
_PULL_POLICIES: Final = frozenset({"Always", "IfNotPresent", "Never"})
_LUN_MAX: Final = 255
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
"""fields without which a source means nothing"""


def check_volumes(errors: Errors, spec: PodSpec) -> dict[str, Volume]:
    """Checks them; gives the sound ones by name, for mounts to refer to."""
    sound: dict[str, Volume] = {}
    for i, volume in enumerate(spec.volumes):
        path = f"spec.volumes[{i}]"
        before = errors.count
        _check_source(errors, path, volume)
        if not volume.name:
            errors.required(f"{path}.name")
        else:
            errors.all(f"{path}.name", volume.name, names.dns_label(volume.name))
        if volume.name in sound:
            errors.duplicate(f"{path}.name", volume.name)
        if errors.count == before:
            sound[volume.name] = volume
    return sound


def sources(volume: Volume) -> dict[str, Any]:
    """The sources that are set, by the API's name of the field."""
    return {
        field.encode_name: source
        for field in msgspec.structs.fields(Volume)
        if field.name != "name" and (source := getattr(volume, field.name)) is not None
    }


def _check_source(errors: Errors, path: str, volume: Volume) -> None:
    present = sources(volume)
    if not present:
        errors.required(path, "must specify a volume type")
    for i, (name, source) in enumerate(present.items()):
        where = f"{path}.{name}"
        if i > 0:
            errors.forbidden(where, "may not specify more than 1 volume type")
            continue
        for required in _REQUIRED.get(name, ()):
            if not msgspec.to_builtins(source).get(required):
                errors.required(f"{where}.{required}")
        check = _CHECKS.get(name)
        if check is not None:
            check(errors, where, source)


def _check_empty_dir(errors: Errors, path: str, source: EmptyDirVolumeSource) -> None:
    if source.size_limit is not None and quantity.parse(source.size_limit) < 0:
        errors.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    medium = source.medium or ""
    if medium not in ("", "Memory", "HugePages") and not medium.startswith("HugePages-"):
        errors.unsupported(f"{path}.medium", medium, ("", "HugePages", "HugePages-<size>", "Memory"))


def _check_host_path(errors: Errors, path: str, source: HostPathVolumeSource) -> None:
    if not source.path:
        errors.required(f"{path}.path")
    check_no_upward_path(errors, f"{path}.path", source.path)
    if source.type is not None and source.type not in _HOST_PATH_TYPES:
        errors.unsupported(f"{path}.type", source.type, _HOST_PATH_TYPES - {""})


def _check_image(errors: Errors, path: str, source: ImageVolumeSource) -> None:
    if not source.reference:
        errors.required(f"{path}.reference")
    errors.one_of(f"{path}.pullPolicy", source.pull_policy, _PULL_POLICIES)


def _check_nfs(errors: Errors, path: str, source: NFSVolumeSource) -> None:
    for name, value in (("server", source.server), ("path", source.path)):
        if not value:
            errors.required(f"{path}.{name}")
    if source.path and not source.path.startswith("/"):
        errors.invalid(f"{path}.path", source.path, "must be an absolute path")


def _check_iscsi(errors: Errors, path: str, source: ISCSIVolumeSource) -> None:
    if not source.target_portal:
        errors.required(f"{path}.targetPortal")
    if not source.iqn:
        errors.required(f"{path}.iqn")
    elif not source.iqn.startswith(("iqn", "eui", "naa")):
        errors.invalid(f"{path}.iqn", source.iqn, "must be valid format starting with iqn, eui, or naa")
    if not 0 <= source.lun <= _LUN_MAX:
        errors.invalid(f"{path}.lun", source.lun, f"must be between 0 and {_LUN_MAX}, inclusive")
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        errors.required(f"{path}.secretRef")


def _check_fc(errors: Errors, path: str, source: FCVolumeSource) -> None:
    if not source.target_wwns and not source.wwids:
        errors.required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if source.target_wwns and source.wwids:
        errors.invalid(
            f"{path}.targetWWNs", source.target_wwns, "targetWWNs and wwids can not be specified simultaneously"
        )
    if source.target_wwns:
        if source.lun is None:
            errors.required(f"{path}.lun", "lun is required if targetWWNs is specified")
        elif not 0 <= source.lun <= _LUN_MAX:
            errors.invalid(f"{path}.lun", source.lun, f"must be between 0 and {_LUN_MAX}, inclusive")


def _check_ephemeral(errors: Errors, path: str, source: EphemeralVolumeSource) -> None:
    template = source.volume_claim_template
    if template is None:
        errors.required(f"{path}.volumeClaimTemplate")
        return
    if not template.spec.access_modes:
        errors.required(f"{path}.volumeClaimTemplate.spec.accessModes", "at least 1 access mode is required")
    requests = template.spec.resources.requests if template.spec.resources is not None else {}
    if "storage" not in requests:
        errors.required(f"{path}.volumeClaimTemplate.spec.resources[storage]")


_CHECKS: Final[dict[str, Callable[[Errors, str, Any], None]]] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "image": _check_image,
    "nfs": _check_nfs,
    "iscsi": _check_iscsi,
    "fc": _check_fc,
    "ephemeral": _check_ephemeral,
    **PROJECTION_CHECKS,
}
