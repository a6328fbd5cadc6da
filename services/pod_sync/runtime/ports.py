"""What the runtime acts need from others: the CRI client, the managers' answers, objects, the node's facts."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from services.pod_sync.environment.model import EnvObjects, NodeFacts
from services.pod_sync.environment.variables import ObjectNames
from shared.cri import api
from shared.kube.types import Pod
from shared.messages.container_manager import ContainerExtras


class RuntimeService(Protocol):
    """The part of the runtime client used here. Every method raises `shared.errors` classes."""

    async def run_pod_sandbox(
        self, request: api.RunPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.RunPodSandboxResponse: ...

    async def stop_pod_sandbox(
        self, request: api.StopPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.StopPodSandboxResponse: ...

    async def remove_pod_sandbox(
        self, request: api.RemovePodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.RemovePodSandboxResponse: ...

    async def pod_sandbox_status(
        self, request: api.PodSandboxStatusRequest, *, timeout_s: float | None = None
    ) -> api.PodSandboxStatusResponse: ...

    async def list_pod_sandbox(
        self, request: api.ListPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.ListPodSandboxResponse: ...

    async def create_container(
        self, request: api.CreateContainerRequest, *, timeout_s: float | None = None
    ) -> api.CreateContainerResponse: ...

    async def start_container(
        self, request: api.StartContainerRequest, *, timeout_s: float | None = None
    ) -> api.StartContainerResponse: ...

    async def stop_container(
        self, request: api.StopContainerRequest, *, timeout_s: float | None = None
    ) -> api.StopContainerResponse: ...

    async def remove_container(
        self, request: api.RemoveContainerRequest, *, timeout_s: float | None = None
    ) -> api.RemoveContainerResponse: ...

    async def list_containers(
        self, request: api.ListContainersRequest, *, timeout_s: float | None = None
    ) -> api.ListContainersResponse: ...

    async def container_status(
        self, request: api.ContainerStatusRequest, *, timeout_s: float | None = None
    ) -> api.ContainerStatusResponse: ...

    async def update_container_resources(
        self, request: api.UpdateContainerResourcesRequest, *, timeout_s: float | None = None
    ) -> api.UpdateContainerResourcesResponse: ...

    async def exec_sync(
        self, request: api.ExecSyncRequest, *, timeout_s: float | None = None
    ) -> api.ExecSyncResponse: ...


async def no_credentials(pod: Pod, image: str) -> tuple[api.AuthConfig, ...]:
    """Pulls are anonymous."""
    return ()


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Answers of other rooms and daemons.

    `node` gives the facts as they are now. `prepare_container(pod uid, container)` asks container_manager: Transient
    when it is away (try again), Invalid when it refuses (shown on the container). `objects(pod, names)` fetches config
    maps and secrets; names that do not exist are left out of the answer; Transient when they cannot be told now.
    """

    node: Callable[[], NodeFacts]
    prepare_container: Callable[[str, str], Awaitable[ContainerExtras]]
    objects: Callable[[Pod, ObjectNames], Awaitable[EnvObjects]]
    credentials: Callable[[Pod, str], Awaitable[tuple[api.AuthConfig, ...]]] = no_credentials
