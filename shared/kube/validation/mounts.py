"""Volume mounts and block devices of a container (`core/validation`, `ValidateVolumeMounts`)."""

from typing import Final

from shared.kube.types import Container, Volume, VolumeMount
from shared.kube.validation.environment import check_no_upward_path, check_relative_path
from shared.kube.validation.errors import Errors

_PROPAGATIONS: Final = frozenset({"None", "HostToContainer", "Bidirectional"})
_RECURSIVE: Final = frozenset({"Disabled", "Enabled", "IfPossible"})


def check_mounts(errors: Errors, path: str, container: Container, volumes: dict[str, Volume]) -> None:
    """Every mount names a volume of the pod, and each place in the container is used once."""
    devices = {d.device_path for d in container.volume_devices}
    device_names = {d.name for d in container.volume_devices}
    taken: set[str] = set()
    for i, mount in enumerate(container.volume_mounts):
        where = f"{path}.volumeMounts[{i}]"
        if not mount.name:
            errors.required(f"{where}.name")
        elif mount.name not in volumes:
            errors.not_found(f"{where}.name", mount.name)
        if not mount.mount_path:
            errors.required(f"{where}.mountPath")
        if mount.mount_path in taken:
            errors.invalid(f"{where}.mountPath", mount.mount_path, "must be unique")
        taken.add(mount.mount_path)
        if mount.name in device_names:
            errors.invalid(f"{where}.name", mount.name, "must not already exist in volumeDevices")
        if mount.mount_path in devices:
            errors.invalid(f"{where}.mountPath", mount.mount_path, "must not already exist as a path in volumeDevices")
        _check_sub_paths(errors, where, mount)
        _check_propagation(errors, where, mount, container)


def _check_sub_paths(errors: Errors, path: str, mount: VolumeMount) -> None:
    if mount.sub_path:
        check_relative_path(errors, f"{path}.subPath", mount.sub_path)
    if mount.sub_path_expr:
        if mount.sub_path:
            errors.invalid(f"{path}.subPathExpr", mount.sub_path_expr, "subPathExpr and subPath are mutually exclusive")
        check_relative_path(errors, f"{path}.subPathExpr", mount.sub_path_expr)


def _check_propagation(errors: Errors, path: str, mount: VolumeMount, container: Container) -> None:
    propagation = mount.mount_propagation
    privileged = container.security_context is not None and container.security_context.privileged
    if propagation is not None and propagation not in _PROPAGATIONS:
        errors.unsupported(f"{path}.mountPropagation", propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        errors.forbidden(f"{path}.mountPropagation", text)
    recursive, where = mount.recursive_read_only, f"{path}.recursiveReadOnly"
    if recursive is None:
        return
    if recursive not in _RECURSIVE:
        errors.unsupported(where, recursive, _RECURSIVE)
    elif recursive != "Disabled":
        if not mount.read_only:
            errors.forbidden(where, "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            errors.forbidden(where, "may only be specified when mountPropagation is None or not specified")


def check_devices(errors: Errors, path: str, container: Container, volumes: dict[str, Volume]) -> None:
    """Block volumes come from claims only."""
    taken_paths: set[str] = set()
    taken_names: set[str] = set()
    for i, device in enumerate(container.volume_devices):
        where = f"{path}.volumeDevices[{i}]"
        volume = volumes.get(device.name)
        if not device.name:
            errors.required(f"{where}.name")
        elif volume is None:
            errors.not_found(f"{where}.name", device.name)
        elif volume.persistent_volume_claim is None and volume.ephemeral is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.invalid(f"{where}.name", device.name, text)
        if device.name in taken_names:
            errors.invalid(f"{where}.name", device.name, "must be unique")
        taken_names.add(device.name)
        if not device.device_path:
            errors.required(f"{where}.devicePath")
        else:
            if device.device_path in taken_paths:
                errors.invalid(f"{where}.devicePath", device.device_path, "must be unique")
            check_no_upward_path(errors, f"{where}.devicePath", device.device_path)
        taken_paths.add(device.device_path)
