"""A container runtime in memory, as strict about names and states as a real one (see the same tests in tests/node)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from shared.cri import api
from shared.errors import OctoletError
from shared.rpc.errors import RpcNotFound, RpcTransient


class Crash(BaseException):
    """The process died here. Nothing in it can catch this."""


def unknown(text: str) -> RpcTransient:
    """What runtimes answer for whatever failed."""
    return RpcTransient("Unknown", text)


@dataclass
class FakeContainer:
    id: str
    sandbox_id: str
    config: api.ContainerConfig
    state: api.ContainerState = api.ContainerState.CONTAINER_CREATED


@dataclass
class FakeSandbox:
    id: str
    config: api.PodSandboxConfig
    handler: str
    state: api.PodSandboxState = api.PodSandboxState.SANDBOX_READY
    ips: tuple[str, ...] = ("10.88.0.7",)


@dataclass
class FakeRuntime:
    """`calls` are the rpcs in order; `errors[rpc]` are raised in turn before anything is done.

    `crash_after` counts rpcs down and crashes when the last one was carried out, `crash_before` before it is.
    """

    sandboxes: dict[str, FakeSandbox] = field(default_factory=dict)
    containers: dict[str, FakeContainer] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    stops: list[tuple[str, int]] = field(default_factory=list)
    execs: list[api.ExecSyncRequest] = field(default_factory=list)
    updates: list[api.UpdateContainerResourcesRequest] = field(default_factory=list)
    errors: dict[str, list[OctoletError]] = field(default_factory=dict)
    exec_reply: api.ExecSyncResponse = field(default_factory=api.ExecSyncResponse)
    on_exec: Callable[[], object] | None = None
    on_stop: Callable[[str], object] | None = None
    image: api.Image = field(default_factory=lambda: api.Image(id="sha256:1", size=1))
    images: set[str] = field(default_factory=lambda: {"busybox:1.36"})
    crash_after: int | None = None
    made: int = 0

    def _begin(self, rpc: str) -> None:
        self.calls.append(rpc)
        if self.errors.get(rpc):
            raise self.errors[rpc].pop(0)

    def _end(self) -> None:
        if self.crash_after is not None:
            self.crash_after -= 1
            if self.crash_after < 0:
                self.crash_after = None
                raise Crash

    def _id(self) -> str:
        self.made += 1
        return f"{self.made:064x}"

    async def run_pod_sandbox(
        self, request: api.RunPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.RunPodSandboxResponse:
        self._begin("run_pod_sandbox")
        meta = request.config.metadata
        name = f"{meta.name}_{meta.namespace}_{meta.uid}_{meta.attempt}"
        for other in self.sandboxes.values():
            if other.config.metadata == meta:
                raise unknown(f'failed to reserve sandbox name "{name}": name "{name}" is reserved for "{other.id}"')
        sandbox = FakeSandbox(self._id(), request.config, request.runtime_handler)
        self.sandboxes[sandbox.id] = sandbox
        self._end()
        return api.RunPodSandboxResponse(pod_sandbox_id=sandbox.id)

    async def stop_pod_sandbox(
        self, request: api.StopPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.StopPodSandboxResponse:
        self._begin("stop_pod_sandbox")
        sandbox = self._sandbox(request.pod_sandbox_id)
        sandbox.state = api.PodSandboxState.SANDBOX_NOTREADY
        for container in self.containers.values():
            if container.sandbox_id == sandbox.id and container.state == api.ContainerState.CONTAINER_RUNNING:
                container.state = api.ContainerState.CONTAINER_EXITED
        self._end()
        return api.StopPodSandboxResponse()

    async def remove_pod_sandbox(
        self, request: api.RemovePodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.RemovePodSandboxResponse:
        self._begin("remove_pod_sandbox")
        sandbox = self._sandbox(request.pod_sandbox_id)
        if sandbox.state == api.PodSandboxState.SANDBOX_READY:
            raise unknown(f'sandbox container "{sandbox.id}" is not fully stopped')
        del self.sandboxes[sandbox.id]
        self.containers = {key: c for key, c in self.containers.items() if c.sandbox_id != sandbox.id}
        self._end()
        return api.RemovePodSandboxResponse()

    async def pod_sandbox_status(
        self, request: api.PodSandboxStatusRequest, *, timeout_s: float | None = None
    ) -> api.PodSandboxStatusResponse:
        self._begin("pod_sandbox_status")
        sandbox = self._sandbox(request.pod_sandbox_id)
        first, *others = sandbox.ips or ("",)
        network = api.PodSandboxNetworkStatus(ip=first, additional_ips=[api.PodIP(ip=ip) for ip in others])
        self._end()
        return api.PodSandboxStatusResponse(
            status=api.PodSandboxStatus(id=sandbox.id, metadata=sandbox.config.metadata, network=network)
        )

    async def list_pod_sandbox(
        self, request: api.ListPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.ListPodSandboxResponse:
        self._begin("list_pod_sandbox")
        wanted = dict(request.filter.label_selector).items()
        found = [s for s in self.sandboxes.values() if wanted <= dict(s.config.labels).items()]
        self._end()
        return api.ListPodSandboxResponse(
            items=[api.PodSandbox(id=s.id, metadata=s.config.metadata, state=s.state) for s in found]
        )

    async def create_container(
        self, request: api.CreateContainerRequest, *, timeout_s: float | None = None
    ) -> api.CreateContainerResponse:
        self._begin("create_container")
        self._sandbox(request.pod_sandbox_id)
        for other in self.containers.values():
            if (other.sandbox_id, other.config.metadata) == (request.pod_sandbox_id, request.config.metadata):
                name = request.config.metadata.name
                raise unknown(f'failed to reserve container name "{name}": name "{name}" is reserved for "{other.id}"')
        container = FakeContainer(self._id(), request.pod_sandbox_id, request.config)
        self.containers[container.id] = container
        self._end()
        return api.CreateContainerResponse(container_id=container.id)

    async def start_container(
        self, request: api.StartContainerRequest, *, timeout_s: float | None = None
    ) -> api.StartContainerResponse:
        self._begin("start_container")
        container = self._container(request.container_id)
        if container.state != api.ContainerState.CONTAINER_CREATED:
            raise unknown(f"container is in {api.ContainerState.Name(container.state)} state")
        container.state = api.ContainerState.CONTAINER_RUNNING
        self._end()
        return api.StartContainerResponse()

    async def stop_container(
        self, request: api.StopContainerRequest, *, timeout_s: float | None = None
    ) -> api.StopContainerResponse:
        self._begin("stop_container")
        container = self._container(request.container_id)
        self.stops.append((container.config.metadata.name, request.timeout))
        if self.on_stop is not None:
            self.on_stop(container.config.metadata.name)
        container.state = api.ContainerState.CONTAINER_EXITED
        self._end()
        return api.StopContainerResponse()

    async def remove_container(
        self, request: api.RemoveContainerRequest, *, timeout_s: float | None = None
    ) -> api.RemoveContainerResponse:
        self._begin("remove_container")
        container = self._container(request.container_id)
        if container.state == api.ContainerState.CONTAINER_RUNNING:
            raise unknown("container is still running, to stop first")
        del self.containers[container.id]
        self._end()
        return api.RemoveContainerResponse()

    async def list_containers(
        self, request: api.ListContainersRequest, *, timeout_s: float | None = None
    ) -> api.ListContainersResponse:
        self._begin("list_containers")
        wanted = dict(request.filter.label_selector).items()
        found = [c for c in self.containers.values() if wanted <= dict(c.config.labels).items()]
        self._end()
        return api.ListContainersResponse(
            containers=[
                api.Container(id=c.id, pod_sandbox_id=c.sandbox_id, metadata=c.config.metadata, state=c.state)
                for c in found
            ]
        )

    async def container_status(
        self, request: api.ContainerStatusRequest, *, timeout_s: float | None = None
    ) -> api.ContainerStatusResponse:
        self._begin("container_status")
        container = self._container(request.container_id)
        self._end()
        return api.ContainerStatusResponse(status=api.ContainerStatus(id=container.id, state=container.state))

    async def update_container_resources(
        self, request: api.UpdateContainerResourcesRequest, *, timeout_s: float | None = None
    ) -> api.UpdateContainerResourcesResponse:
        self._begin("update_container_resources")
        self.updates.append(request)
        self._end()
        return api.UpdateContainerResourcesResponse()

    async def exec_sync(self, request: api.ExecSyncRequest, *, timeout_s: float | None = None) -> api.ExecSyncResponse:
        self._begin("exec_sync")
        self.execs.append(request)
        if self.on_exec is not None:
            self.on_exec()
        self._end()
        return self.exec_reply

    async def image_status(
        self, request: api.ImageStatusRequest, *, timeout_s: float | None = None
    ) -> api.ImageStatusResponse:
        self._begin("image_status")
        present = request.image.image in self.images
        self._end()
        return api.ImageStatusResponse(image=self.image if present else None)

    async def pull_image(
        self, request: api.PullImageRequest, *, timeout_s: float | None = None
    ) -> api.PullImageResponse:
        self._begin("pull_image")
        self.images |= {request.image.image, self.image.id}
        self._end()
        return api.PullImageResponse(image_ref=self.image.id)

    def _sandbox(self, sandbox_id: str) -> FakeSandbox:
        if sandbox_id not in self.sandboxes:
            raise RpcNotFound("NotFound", f'an error occurred when try to find sandbox "{sandbox_id}": not found')
        return self.sandboxes[sandbox_id]

    def _container(self, container_id: str) -> FakeContainer:
        if container_id not in self.containers:
            raise RpcNotFound("NotFound", f'an error occurred when try to find container "{container_id}": not found')
        return self.containers[container_id]
