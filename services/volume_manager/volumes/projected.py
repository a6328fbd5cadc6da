"""projected: several sources in one directory; a later one overwrites an earlier one's file (upstream `volume/projected`)."""

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Machine
from services.volume_manager.projections import downward
from services.volume_manager.projections.payload import ProjectedFile, joined
from services.volume_manager.volumes import written
from services.volume_manager.volumes.base import VolumeRequest
from services.volume_manager.volumes.unknown import api_name
from shared.errors import Invalid
from shared.kube.types import VolumeProjection
from shared.messages.volume_manager import MountedVolume


class Projected:
    """See `base.VolumeType`. All sources are read before anything is written; all errors are told."""

    plugin = "kubernetes.io/projected"
    source = "projected"
    follows_pod = True
    has_usage = True

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        source = request.volume.projected
        assert source is not None
        payload: dict[str, ProjectedFile] = {}
        errors: list[str] = []
        for projection in source.sources:
            try:
                payload |= _files(projection, source.default_mode, request, machine)
            except Invalid as e:
                errors.append(str(e))
        if errors:
            raise Invalid(joined(errors))
        return await written.set_up(request, machine, payload)

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        await written.tear_down(pod_dir, key, machine)


def _files(
    projection: VolumeProjection, default_mode: int | None, request: VolumeRequest, machine: Machine
) -> dict[str, ProjectedFile]:
    if projection.downward_api is not None:
        return downward.collect(projection.downward_api.items, default_mode, request.pod, machine.allocatable)
    kind = next((f for f in projection.__struct_fields__ if getattr(projection, f) is not None), "")
    pod = f"{request.pod.metadata.namespace}/{request.pod.metadata.name}"
    raise Invalid(f"projected source {api_name(kind)} of volume {request.key.name}, pod {pod}, is not supported")
