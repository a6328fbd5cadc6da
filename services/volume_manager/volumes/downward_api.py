"""downwardAPI: facts about the pod as files, written anew when the pod changes (upstream `volume/downwardapi`)."""

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Machine
from services.volume_manager.projections import downward
from services.volume_manager.volumes import written
from services.volume_manager.volumes.base import VolumeRequest
from shared.messages.volume_manager import MountedVolume


class DownwardApi:
    """See `base.VolumeType`."""

    plugin = "kubernetes.io/downward-api"
    source = "downward_api"
    follows_pod = True
    has_usage = True

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        source = request.volume.downward_api
        assert source is not None
        payload = downward.collect(source.items, source.default_mode, request.pod, machine.allocatable)
        return await written.set_up(request, machine, payload)

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        await written.tear_down(pod_dir, key, machine)
