"""hostPath: a path of the machine, handed to the runtime as it is after the check that its `type` asks for.

Nothing is mounted here, so nothing is torn down. Texts are upstream's (`volume/hostpath`), in both of its forms: a
colon after "failed" when the path is something else, a comma when it cannot be said what it is.
"""

from typing import Final

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import FileKind, Filesystem, Machine
from services.volume_manager.volumes.base import VolumeRequest
from shared.errors import Invalid
from shared.messages.volume_manager import MountedVolume

_UNRECOGNISED: Final = "only recognise file, directory, socket, block device and character device"
_WANTED: Final = {
    "DirectoryOrCreate": (FileKind.DIRECTORY, "directory"),
    "Directory": (FileKind.DIRECTORY, "directory"),
    "FileOrCreate": (FileKind.FILE, "file"),
    "File": (FileKind.FILE, "file"),
    "Socket": (FileKind.SOCKET, "socket file"),
    "CharDevice": (FileKind.CHAR_DEVICE, "character device"),
    "BlockDevice": (FileKind.BLOCK_DEVICE, "block device"),
}
_NEW_DIRECTORY_MODE: Final = 0o755
_NEW_FILE_MODE: Final = 0o644


def check_type(path: str, wanted: str, files: Filesystem) -> None:
    """Check, and for the `...OrCreate` types make, what a hostPath leads to. Raises Invalid with upstream's text."""
    if ".." in path.split("/"):
        raise Invalid(f"invalid HostPath `{path}`: must not contain '..'")
    if not wanted:
        return
    if wanted not in _WANTED:
        raise Invalid(f"{wanted} is an invalid volume type")
    seen = files.stat(path)
    if seen is None and wanted == "DirectoryOrCreate":
        files.make_dir(path, _NEW_DIRECTORY_MODE)
        return
    if seen is None and wanted == "FileOrCreate":
        files.make_file(path, _NEW_FILE_MODE)
        return
    kind, words = _WANTED[wanted]
    if seen is None:
        unknown = f'unable to determine its type: path "{path}" does not exist'
    elif seen.kind is FileKind.OTHER:
        unknown = f"unable to determine its type: {_UNRECOGNISED}"
    elif seen.kind is kind:
        return
    else:
        raise Invalid(f"hostPath type check failed: {path} is not a {words}, it's a {seen.kind}")
    raise Invalid(f"hostPath type check failed, {path} is not a {words}, {unknown}")


class HostPath:
    """See `base.VolumeType`."""

    plugin = "kubernetes.io/host-path"
    source = "host_path"
    follows_pod = False
    has_usage = False

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        source = request.volume.host_path
        assert source is not None
        path = source.path or ""
        await machine.run(lambda: check_type(path, source.type or "", machine.files))
        return MountedVolume(host_path=path)

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        return
