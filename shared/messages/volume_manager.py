"""What volume_manager publishes and answers: mounts and the pod's directory."""

from enum import StrEnum

from shared.messages.base import Message, Service, Table


class VolumesPhase(StrEnum):
    PENDING = "pending"
    MOUNTED = "mounted"
    UNMOUNTED = "unmounted"
    """said, not implied by absence: nothing of this pod is mounted any more"""


class MountedVolume(Message, frozen=True):
    """One volume of a pod, ready to be mounted into containers."""

    host_path: str
    read_only: bool = False
    selinux_relabel: bool = False
    image: str = ""
    """for image volumes: the image reference (host_path is empty)"""


class PodVolumes(Message, frozen=True):
    """A pod's volumes. `errors` maps the volume names that are not ready to the last error text."""

    phase: VolumesPhase
    volumes: dict[str, MountedVolume] = {}
    errors: dict[str, str] = {}
    pod_dir: str = ""
    """`<root-dir>/pods/<uid>`, made before the phase is published; gone once `dir_removed`"""
    dir_removed: bool = False
    dir_error: str = ""
    """why the directory could not be made or removed"""


POD_VOLUMES = Table("pod_volumes", key="pod_uid", value=PodVolumes, owner=Service.VOLUME_MANAGER)


class VolumesInUse(Message, frozen=True):
    """`node.status.volumesInUse`, under the one key `node`."""

    names: list[str] = []


VOLUMES_IN_USE = Table("volumes_in_use", key="node", value=VolumesInUse, owner=Service.VOLUME_MANAGER)


class VolumeUsage(Message, frozen=True):
    """Space one pod volume takes. Bytes and inodes; `at` is wall time."""

    name: str
    used_bytes: int
    capacity_bytes: int = 0
    available_bytes: int = 0
    inodes: int = 0
    inodes_used: int = 0
    inodes_free: int = 0
    at: float = 0.0


class PodVolumeUsage(Message, frozen=True):
    volumes: list[VolumeUsage] = []


VOLUME_USAGE = Table("volume_usage", key="pod_uid", value=PodVolumeUsage, owner=Service.VOLUME_MANAGER)
