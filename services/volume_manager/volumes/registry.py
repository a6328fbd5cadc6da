"""The volume types there are. A kind of volume that is not listed stays pending with an event that names it."""

from typing import Final

from services.volume_manager.model import VolumeKey
from services.volume_manager.volumes.base import VolumeType, is_path_element, kind_of
from services.volume_manager.volumes.downward_api import DownwardApi
from services.volume_manager.volumes.empty_dir import EmptyDir
from services.volume_manager.volumes.host_path import HostPath
from services.volume_manager.volumes.image import Image
from services.volume_manager.volumes.projected import Projected
from services.volume_manager.volumes.unknown import Unknown
from shared.kube.types import Volume

TYPES: Final[tuple[VolumeType, ...]] = (
    DownwardApi(),
    EmptyDir(),
    HostPath(),
    Image(),
    Projected(),
)
_BY_PLUGIN: Final = {t.plugin: t for t in TYPES}
_BY_SOURCE: Final = {t.source: t for t in TYPES}


def type_of_volume(volume: Volume) -> VolumeType:
    """The type that takes a pod's volume; one that only explains itself when there is none."""
    source = kind_of(volume)
    if not is_path_element(volume.name or ""):
        return Unknown("kubernetes.io/invalid-name", source)
    known = _BY_SOURCE.get(source)
    return known if known is not None else Unknown(f"kubernetes.io/{source.replace('_', '-')}", source)


def type_of_key(key: VolumeKey) -> VolumeType:
    """The type whose directory was found on disk; one that only unmounts when there is none."""
    known = _BY_PLUGIN.get(key.plugin)
    return known if known is not None else Unknown(key.plugin)
