"""What all volumes of files written here share: a tmpfs, the atomic writer, and places for other mounts."""

from collections.abc import Mapping
from typing import Final

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Filesystem, Machine
from services.volume_manager.projections import atomic_writer
from services.volume_manager.projections.nested import nested_mount_points
from services.volume_manager.projections.payload import ProjectedFile, validated
from services.volume_manager.volumes import empty_dir
from services.volume_manager.volumes.base import VolumeRequest, marker_dir
from shared.messages.volume_manager import MountedVolume

_MODE: Final = 0o750


def _marker(pod_dir: str, key: VolumeKey) -> str:
    """Upstream keeps these volumes' markers as those of an emptyDir `wrapped_<volume>`."""
    return marker_dir(pod_dir, VolumeKey(empty_dir.PLUGIN, f"wrapped_{key.name}"))


async def set_up(request: VolumeRequest, machine: Machine, payload: Mapping[str, ProjectedFile]) -> MountedVolume:
    """Make the volume hold exactly these files. The payload is whole, so an error up to here has touched nothing."""
    files = validated(payload)
    size = empty_dir.tmpfs_size_bytes(request.pod, None, machine.allocatable_memory())
    noswap = machine.mount_tmpfs_option_noswap
    await machine.run(
        lambda: _write(machine.files, request, files, version=machine.version(), size=size, noswap=noswap())
    )
    return MountedVolume(host_path=request.path, read_only=True, selinux_relabel=machine.relabels())


def _write(
    files: Filesystem,
    request: VolumeRequest,
    payload: Mapping[str, ProjectedFile],
    *,
    version: str,
    size: int,
    noswap: bool,
) -> None:
    empty_dir.set_up_tmpfs(files, request.path, size, noswap=noswap)
    for place in sorted(nested_mount_points(request.pod, request.key.name)):
        files.make_dir(f"{request.path}/{place}", 0o755)

    def give() -> None:
        if request.fs_group is not None:
            files.give_to_group(request.path, request.fs_group, read_only=True)

    atomic_writer.write(files, request.path, payload, version=version, set_permissions=give)
    marker = _marker(request.pod_dir, request.key)
    files.make_dir(marker, _MODE)
    files.make_file(f"{marker}/ready", 0o644)


async def tear_down(pod_dir: str, key: VolumeKey, machine: Machine) -> None:
    """Unmount and delete."""
    files = machine.files

    def undo() -> None:
        files.remove_file(f"{_marker(pod_dir, key)}/ready")
        empty_dir.tear_down(files, pod_dir, key)

    await machine.run(undo)
