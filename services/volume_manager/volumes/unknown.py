"""What stands in for volume types that are not there: of a pod that asks for one, and of a directory found on disk."""

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Machine
from services.volume_manager.volumes.base import NoPlugin, VolumeRequest, is_path_element, kind_of, volume_path
from shared.messages.volume_manager import MountedVolume


def api_name(field: str) -> str:
    """`persistent_volume_claim` as the API spells it."""
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


class Unknown:
    """A volume that no type takes: never set up; whatever is mounted in its place is unmounted, no file is deleted."""

    follows_pod = False
    has_usage = False

    def __init__(self, plugin: str, source: str = "") -> None:
        self.plugin = plugin
        self.source = source

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        if not is_path_element(request.key.name):
            raise NoPlugin(f"invalid volume name {request.key.name!r}")
        kind = api_name(kind_of(request.volume))
        pod = f"{request.pod.metadata.namespace}/{request.pod.metadata.name}"
        raise NoPlugin(
            f"no volume plugin matched: volume kind {kind} of volume {request.key.name}, pod {pod}, is not supported"
        )

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        if not is_path_element(key.name):
            return
        path = volume_path(pod_dir, key)

        def clean() -> None:
            for mount in machine.files.mounts_below(path):
                machine.files.unmount(mount.target)
            # What the mount hid may be somebody's data: only an empty directory goes.
            machine.files.remove_dir(path)

        await machine.run(clean)
