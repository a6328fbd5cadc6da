"""What became of a container."""

from msgspec import field

from shared.kube.types.base import ApiObject, Quantity
from shared.kube.types.resources import ResourceRequirements


class ResourceHealth(ApiObject, frozen=True, kw_only=True):
    """`health` is Healthy, Unhealthy or Unknown."""

    health: str | None = None
    message: str | None = None
    resource_id: str = ""


class ResourceStatus(ApiObject, frozen=True, kw_only=True):
    """Health of the devices of one resource or claim."""

    name: str = ""
    resources: list[ResourceHealth] = []


class ContainerStateRunning(ApiObject, frozen=True, kw_only=True):
    """Running since."""

    started_at: str | None = None


class ContainerStateTerminated(ApiObject, frozen=True, kw_only=True):
    """Over, with that exit code."""

    container_id: str | None = None
    exit_code: int = field(default_factory=int)
    finished_at: str | None = None
    message: str | None = None
    reason: str | None = None
    signal: int | None = None
    started_at: str | None = None


class ContainerStateWaiting(ApiObject, frozen=True, kw_only=True):
    """Not running yet or again; `reason` is a word in CamelCase."""

    message: str | None = None
    reason: str | None = None


class ContainerState(ApiObject, frozen=True, kw_only=True):
    """Exactly one is set; none means waiting."""

    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class LinuxContainerUser(ApiObject, frozen=True, kw_only=True):
    """Numeric user and groups of the first process."""

    gid: int = field(default_factory=int)
    supplemental_groups: list[int] = []
    uid: int = field(default_factory=int)


class ContainerUser(ApiObject, frozen=True, kw_only=True):
    """Who the first process is."""

    linux: LinuxContainerUser | None = None


class ImageVolumeStatus(ApiObject, frozen=True, kw_only=True):
    """Which image, by digest, an image volume shows."""

    image_ref: str = ""


class VolumeStatus(ApiObject, frozen=True, kw_only=True):
    """More about the mounted volume."""

    image: ImageVolumeStatus | None = None


class VolumeMountStatus(ApiObject, frozen=True, kw_only=True):
    """A mount as it was made."""

    mount_path: str = field(default_factory=str)
    name: str = field(default_factory=str)
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class ContainerStatus(ApiObject, frozen=True, kw_only=True):
    """One container as it was last seen. Scalars are always written, even when zero, as the API server does."""

    allocated_resources: dict[str, Quantity] = {}
    allocated_resources_status: list[ResourceStatus] = []
    container_id: str | None = None
    image: str = field(default_factory=str)
    image_id: str = field(default_factory=str)
    last_state: ContainerState = field(default_factory=ContainerState)
    name: str = field(default_factory=str)
    ready: bool = field(default_factory=bool)
    resources: ResourceRequirements | None = None
    restart_count: int = field(default_factory=int)
    started: bool | None = None
    state: ContainerState = field(default_factory=ContainerState)
    stop_signal: str | None = None
    user: ContainerUser | None = None
    volume_mounts: list[VolumeMountStatus] = []
