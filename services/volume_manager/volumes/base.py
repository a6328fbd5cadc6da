"""What every volume type promises, and what it is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Machine
from shared.errors import Invalid, Transient
from shared.kube.pods import all_containers
from shared.kube.types import Pod, Volume
from shared.messages.volume_manager import MountedVolume

SET_UP_STEP: Final = "MountVolume.SetUp"
FIND_PLUGIN_STEP: Final = "MountVolume.FindPluginBySpec"
"""steps that upstream's FailedMount messages begin with (`operationexecutor`)"""


class NotKnownYet(Transient):
    """A fact of the node or of the cluster is not known yet. The volume waits; it is no failure and makes no event."""


class NoPlugin(Invalid):
    """No volume type takes this volume."""


@dataclass(frozen=True)
class VolumeRequest:
    """One volume to set up, with all that is known of its pod.

    `path` is where it must appear, `pod_dir` the pod's directory. `fs_user` is the user that every container of the pod
    runs as, None when they differ or none is set; `fs_group` is the pod's fsGroup.
    """

    pod: Pod
    volume: Volume
    key: VolumeKey
    pod_dir: str
    fs_user: int | None = None
    fs_group: int | None = None

    @property
    def path(self) -> str:
        return volume_path(self.pod_dir, self.key)

    @property
    def marker_dir(self) -> str:
        return marker_dir(self.pod_dir, self.key)


class VolumeType(Protocol):
    """One kind of volume. Both operations may be cut off between any two system calls and are then simply repeated."""

    @property
    def plugin(self) -> str:
        """Full name, `kubernetes.io/empty-dir`; its directories below a pod's are called after it."""
        ...

    @property
    def source(self) -> str:
        """The attribute of the API's Volume that selects it, `empty_dir`."""
        ...

    @property
    def follows_pod(self) -> bool:
        """Whether a change of the pod can change its content, so that it is set up again (upstream `RequiresRemount`)."""
        ...

    @property
    def has_usage(self) -> bool:
        """Whether its space is counted by walking it (upstream's `du` metrics)."""
        ...

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        """Make the volume usable; does nothing to one that already is. Raises OctoletError with the text for users."""
        ...

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        """Undo it, with the data in it, from what is on disk alone. Raises OctoletError."""
        ...


def escape(plugin: str) -> str:
    """A plugin's name as a directory name (upstream `utilstrings.EscapeQualifiedName`)."""
    return plugin.replace("/", "~")


def unescape(directory: str) -> str:
    return directory.replace("~", "/")


def is_path_element(name: str) -> bool:
    """Whether a name may become a file name below a pod's directory without leading anywhere else."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def volume_path(pod_dir: str, key: VolumeKey) -> str:
    return f"{pod_dir}/volumes/{escape(key.plugin)}/{key.name}"


def marker_dir(pod_dir: str, key: VolumeKey) -> str:
    """Where a volume type keeps what it must remember of a volume, outside of the volume."""
    return f"{pod_dir}/plugins/{escape(key.plugin)}/{key.name}"


def kind_of(volume: Volume) -> str:
    """The attribute that is set besides the name. The API has exactly one; none at all means an emptyDir."""
    for field in volume.__struct_fields__:
        if field != "name" and getattr(volume, field) is not None:
            return field
    return "empty_dir"


def referenced(pod: Pod) -> frozenset[str]:
    """Names of the volumes that a container mounts or uses as a device (upstream `GetPodVolumeNames`): only they are set up."""
    containers = all_containers(pod)
    names = {mount.name for c in containers for mount in c.volume_mounts}
    names |= {device.name for c in containers for device in c.volume_devices}
    return frozenset(name for name in names if name)


def common_user(pod: Pod) -> int | None:
    """The one user that all containers run as; None when one has none or two differ (upstream `util.FsUserFrom`)."""
    inherited = pod.spec.security_context.run_as_user if pod.spec.security_context else None
    users: set[int | None] = set()
    for c in all_containers(pod):
        own = c.security_context.run_as_user if c.security_context else None
        users.add(inherited if own is None else own)
    return users.pop() if len(users) == 1 else None


Registry = Mapping[str, VolumeType]
"""Volume types by plugin name."""
