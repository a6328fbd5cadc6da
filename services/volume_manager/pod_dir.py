"""The pod's directory: its parts, what is found in it after a restart, and its removal (upstream `kubelet_volumes`)."""

from typing import Final

from services.volume_manager.model import ActualPod, ActualVolume, DirState, VolumeKey, VolumeState
from services.volume_manager.ports import Filesystem
from services.volume_manager.volumes.base import unescape
from shared.errors import Transient

MODE: Final = 0o750
_ROOT_PARTS: Final = ("pods", "plugins", "plugins_registry")
_PARTS: Final = ("volumes", "plugins")


def pod_dir_of(root_dir: str, uid: str) -> str:
    return f"{root_dir}/pods/{uid}"


def make_root(files: Filesystem, root_dir: str) -> None:
    """The root directory and the parts of it that belong to volumes (all 0750, as upstream makes them)."""
    files.make_dir(root_dir, MODE)
    for part in _ROOT_PARTS:
        files.make_dir(f"{root_dir}/{part}", MODE)


def list_uids(files: Filesystem, root_dir: str) -> list[str]:
    """UIDs that have a directory."""
    return [uid for uid in files.list_dir(f"{root_dir}/pods") if path_is_directory(files, pod_dir_of(root_dir, uid))]


def make(files: Filesystem, pod_dir: str) -> None:
    """The directory and the parts every pod has."""
    files.make_dir(pod_dir, MODE)
    for part in _PARTS:
        files.make_dir(f"{pod_dir}/{part}", MODE)


def look(files: Filesystem, pod_dir: str) -> ActualPod:
    """What an earlier run left of a pod: each volume directory counts as an uncertain volume until it is set up again.

    Nothing below a volume is looked at: it belongs to the containers, and a hung mount would hang the start.
    """
    volumes: dict[VolumeKey, ActualVolume] = {}
    for directory in files.list_dir(f"{pod_dir}/volumes"):
        for name in files.list_dir(f"{pod_dir}/volumes/{directory}"):
            volumes[VolumeKey(unescape(directory), name)] = ActualVolume(VolumeState.UNCERTAIN)
    return ActualPod(directory=DirState.FOUND, volumes=volumes)


def clean_subpaths(files: Filesystem, pod_dir: str, volume: str) -> None:
    """Take off and delete the subPath mounts of one volume (upstream `subpath.CleanSubPaths`)."""
    top = f"{pod_dir}/volume-subpaths"
    own = f"{top}/{volume}"
    containers = files.list_dir(own)
    if containers:
        for mount in files.mounts_below(own):
            files.unmount(mount.target)
    for container in containers:
        for index in files.list_dir(f"{own}/{container}"):
            _remove_leaf(files, f"{own}/{container}/{index}")
        files.remove_dir(f"{own}/{container}")
    files.remove_dir(own)
    if not files.list_dir(top):
        files.remove_dir(top)


def _remove_leaf(files: Filesystem, path: str) -> None:
    """A subPath's target is an empty directory or an empty file."""
    if path_is_directory(files, path):
        files.remove_dir(path)
    else:
        files.remove_file(path)


def path_is_directory(files: Filesystem, path: str) -> bool:
    seen = files.stat(path)
    return seen is not None and seen.kind == "Directory"


def remove(files: Filesystem, pod_dir: str, uid: str) -> None:
    """Remove the directory of a pod whose volumes are all torn down.

    Data in a volume is never deleted here: below `volumes` only empty directories go. Raises Transient when anything is
    still mounted or some volume still holds files.
    """
    for mount in files.mounts_below(pod_dir):
        raise Transient(f"cannot delete directory {mount.target}: it is a mount point")
    _remove_volume_dirs(files, pod_dir, uid)
    _remove_subpaths(files, pod_dir)
    _remove_empty(files, f"{pod_dir}/volumes")
    for name in files.list_dir(pod_dir):
        if name == "volumes":
            raise Transient(f'orphaned pod "{uid}" found, but volumes subdir was found after it was removed')
        files.remove_tree(f"{pod_dir}/{name}")
    files.remove_dir(pod_dir)


def _remove_volume_dirs(files: Filesystem, pod_dir: str, uid: str) -> None:
    for plugin in files.list_dir(f"{pod_dir}/volumes"):
        for name in files.list_dir(f"{pod_dir}/volumes/{plugin}"):
            path = f"{pod_dir}/volumes/{plugin}/{name}"
            try:
                files.remove_dir(path)
            except Transient as e:
                raise Transient(f'orphaned pod "{uid}" found, but failed to rmdir() volume at path {path}: {e}') from e


def _remove_subpaths(files: Filesystem, pod_dir: str) -> None:
    top = f"{pod_dir}/volume-subpaths"
    for volume in files.list_dir(top):
        for container in files.list_dir(f"{top}/{volume}"):
            for index in files.list_dir(f"{top}/{volume}/{container}"):
                _remove_leaf(files, f"{top}/{volume}/{container}/{index}")


def _remove_empty(files: Filesystem, path: str) -> None:
    """rmdir a tree that holds nothing but directories, three levels at most: volumes, plugin, volume."""
    for plugin in files.list_dir(path):
        files.remove_dir(f"{path}/{plugin}")
    files.remove_dir(path)
