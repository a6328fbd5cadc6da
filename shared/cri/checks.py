"""What a reply must hold to be believed (upstream `cri-client`, its checks after each call).

Each function returns the reply's own part or raises Transient: a runtime that answers half a status is expected to
answer a whole one later, and its caller treats it like a failed call.
"""

from shared.cri import api
from shared.errors import Transient

API_VERSION = "0.1.0"
"""The version a client names in Version, and the one a runtime must answer."""


def checked_version(reply: api.VersionResponse) -> api.VersionResponse:
    """All four fields are set."""
    missing = [
        name
        for name in ("version", "runtime_name", "runtime_version", "runtime_api_version")
        if not getattr(reply, name)
    ]
    if missing:
        raise Transient(f"not all fields are set in VersionResponse (missing {', '.join(missing)})")
    return reply


def checked_status(reply: api.StatusResponse) -> api.StatusResponse:
    """Both required conditions are there, whatever they say."""
    if len(reply.status.conditions) < 2:
        raise Transient("RuntimeReady or NetworkReady condition are not set")
    return reply


def checked_sandbox(reply: api.PodSandboxStatusResponse) -> api.PodSandboxStatusResponse:
    """The status has an id, a full name and a creation time."""
    if not reply.HasField("status"):
        raise Transient("pod sandbox status is nil")
    status = reply.status
    if not status.id:
        raise Transient("status.Id is not set")
    for part in ("name", "namespace", "uid"):
        if not getattr(status.metadata, part):
            raise Transient(f"status.Metadata.{part.title()} is not set for sandbox {status.id!r}")
    if status.created_at == 0:
        raise Transient(f"status.CreatedAt is not set for sandbox {status.id!r}")
    return reply


def checked_container(reply: api.ContainerStatusResponse) -> api.ContainerStatusResponse:
    """The status has an id, a name, a creation time and an image."""
    if not reply.HasField("status"):
        raise Transient("container status is nil")
    status = reply.status
    if not status.id:
        raise Transient("status.Id is not set")
    wrong = [
        name
        for name, value in (
            ("Metadata.Name", status.metadata.name),
            ("CreatedAt", status.created_at),
            ("Image.Image", status.image.image),
            ("ImageRef", status.image_ref),
        )
        if not value
    ]
    if wrong:
        raise Transient(f"status.{wrong[0]} is not set for container {status.id!r}")
    return reply


def checked_image(reply: api.ImageStatusResponse, asked: str) -> api.ImageStatusResponse:
    """An image that is present has an id and a size."""
    if reply.HasField("image") and (not reply.image.id or reply.image.size == 0):
        raise Transient(f'Id or size of image "{asked}" is not set')
    return reply


def checked_url(url: str) -> None:
    """Exec, Attach and PortForward name where to stream."""
    if not url:
        raise Transient("URL is not set")
