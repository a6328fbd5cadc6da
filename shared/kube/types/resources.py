"""What a container or a pod asks for: quantities by resource name, and claims."""

from shared.kube.types.base import ApiObject, Quantity


class ResourceClaim(ApiObject, frozen=True, kw_only=True):
    """A claim of the pod, by the name it has in the pod; `request` picks a part of it."""

    name: str = ""
    request: str | None = None


class ResourceRequirements(ApiObject, frozen=True, kw_only=True):
    """Requests and limits by resource name, and names of claims that are used."""

    claims: list[ResourceClaim] = []
    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}


class ContainerResizePolicy(ApiObject, frozen=True, kw_only=True):
    """Whether a change of that resource in place needs a restart: NotRequired or RestartContainer."""

    resource_name: str = ""
    restart_policy: str = ""


class VolumeResourceRequirements(ApiObject, frozen=True, kw_only=True):
    """Storage asked of a claim."""

    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}
