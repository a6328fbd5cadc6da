"""image: the content of an OCI image, read-only. The runtime mounts it and pod_sync pulls it; here it is only named."""

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Machine
from services.volume_manager.volumes.base import VolumeRequest
from shared.messages.volume_manager import MountedVolume


class Image:
    """See `base.VolumeType` (upstream `volume/image`, a plugin that does nothing)."""

    plugin = "kubernetes.io/image"
    source = "image"
    follows_pod = False
    has_usage = False

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        source = request.volume.image
        assert source is not None
        return MountedVolume(host_path="", read_only=True, image=source.reference or "")

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        return
