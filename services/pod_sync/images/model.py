"""What the image manager is asked and what it answers."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from shared.cri import api
from shared.kube.types import Pod

INVALID_NAME: Final = "InvalidImageName"
INSPECT: Final = "ImageInspectError"
NEVER_PULL: Final = "ErrImageNeverPull"
PULL: Final = "ErrImagePull"
BACK_OFF: Final = "ImagePullBackOff"
REGISTRY_UNAVAILABLE: Final = "RegistryUnavailable"
SIGNATURE: Final = "SignatureValidationFailed"

ALWAYS: Final = "Always"
NEVER: Final = "Never"
IF_NOT_PRESENT: Final = "IfNotPresent"


@dataclass(frozen=True, kw_only=True)
class PullSettings:
    """How images are pulled. Names and defaults are KubeletConfiguration's.

    `max_parallel_pulls` bounds pulls at a time when `serialize_pulls` is false; None: no bound. `registry_qps` is pulls
    per second over all pods with bursts of `registry_burst`; 0: no limit.
    """

    serialize_pulls: bool = True
    max_parallel_pulls: int | None = None
    registry_qps: float = 5
    registry_burst: int = 10

    @property
    def pulls_at_a_time(self) -> int | None:
        """One when serialized; None: no bound."""
        return 1 if self.serialize_pulls else self.max_parallel_pulls


@dataclass(frozen=True, kw_only=True)
class ImageRequest:
    """One image that a pod needs, for `container` or (None) for an image volume.

    `image` is as written in the pod, `policy` one of Always, IfNotPresent, Never. `credentials` are tried in order;
    without any the pull is anonymous.
    """

    pod: Pod
    image: str
    policy: str
    sandbox_config: api.PodSandboxConfig
    container: str | None = None
    credentials: tuple[api.AuthConfig, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class EnsuredImage:
    """An image on the node. `ref` is what CreateContainer is given (the runtime's id of it).

    The image's own user: `uid` when numeric, else `username`; root (`uid` 0) when it names none.
    """

    ref: str
    size_bytes: int = 0
    uid: int | None = 0
    username: str = ""


class ImageService(Protocol):
    """The part of the runtime client that pulling needs. Raises `shared.errors` classes."""

    async def image_status(
        self, request: api.ImageStatusRequest, *, timeout_s: float | None = None
    ) -> api.ImageStatusResponse: ...

    async def pull_image(
        self, request: api.PullImageRequest, *, timeout_s: float | None = None
    ) -> api.PullImageResponse: ...
