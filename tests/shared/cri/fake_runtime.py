"""A container runtime in memory, served over a real socket: pods and containers have states and nothing runs.

What it promises is kept honest by `tests/contract/test_runtime.py`, which runs the same cases against containerd.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from shared.cri import api
from shared.rpc.methods import service_methods
from shared.rpc.server import service_handler


class FakeRuntime:
    """RuntimeService. Tests reach into `sandboxes` and `containers`, and steer it with the attributes below.

    `failing`: rpc to (status, details) that it answers with. `hanging`: rpcs that are not answered until removed.
    `calls`: rpc names in the order they came. `has_events`, `has_config`: whether these calls are implemented.
    """

    def __init__(self) -> None:
        self.sandboxes: dict[str, api.PodSandboxStatus] = {}
        self.containers: dict[str, tuple[str, api.ContainerStatus]] = {}
        self.failing: dict[str, tuple[grpc.StatusCode, str]] = {}
        self.hanging: set[str] = set()
        self.calls: list[str] = []
        self.has_events = True
        self.has_config = True
        self.runtime_version = "1.0.0"
        self.network_ready = True
        self.cgroup_driver = api.CGROUPFS
        self._streams: set[asyncio.Queue[api.ContainerEventResponse]] = set()
        self._numbers = itertools.count(1)

    async def _enter(self, rpc: str, context: Any) -> None:
        self.calls.append(rpc)
        while rpc in self.hanging:
            await asyncio.sleep(0.01)
        if rpc in self.failing:
            await context.abort(*self.failing[rpc])

    def _event(self, kind: Any, container_id: str) -> None:
        sandbox_id, status = self.containers[container_id]
        event = api.ContainerEventResponse(
            container_id=container_id,
            container_event_type=kind,
            created_at=time.time_ns(),
            pod_sandbox_status=self.sandboxes.get(sandbox_id),
            containers_statuses=[status],
        )
        for stream in self._streams:
            stream.put_nowait(event)

    def exit_container(self, container_id: str, exit_code: int = 0, *, silent: bool = False) -> None:
        """Let a container end by itself. `silent`: its event is lost."""
        _, status = self.containers[container_id]
        if status.state != api.CONTAINER_RUNNING:
            return
        status.state = api.CONTAINER_EXITED
        status.exit_code, status.finished_at = exit_code, time.time_ns()
        status.reason = "Error" if exit_code else "Completed"
        if not silent:
            self._event(api.CONTAINER_STOPPED_EVENT, container_id)

    async def version(self, _request: Any, context: Any) -> api.VersionResponse:
        await self._enter("Version", context)
        version = self.runtime_version
        return api.VersionResponse(
            version="0.1.0", runtime_name="fake", runtime_version=version, runtime_api_version="v1"
        )

    async def status(self, _request: Any, context: Any) -> api.StatusResponse:
        await self._enter("Status", context)
        network = api.RuntimeCondition(type="NetworkReady", status=self.network_ready)
        if not self.network_ready:
            network.reason, network.message = "NetworkPluginNotReady", "cni plugin not initialized"
        ready = api.RuntimeCondition(type="RuntimeReady", status=True)
        return api.StatusResponse(
            status=api.RuntimeStatus(conditions=[ready, network]),
            runtime_handlers=[
                api.RuntimeHandler(name="runc", features=api.RuntimeHandlerFeatures(user_namespaces=True)),
                api.RuntimeHandler(name=""),
            ],
            features=api.RuntimeFeatures(supplemental_groups_policy=True),
        )

    async def runtime_config(self, _request: Any, context: Any) -> api.RuntimeConfigResponse:
        await self._enter("RuntimeConfig", context)
        if not self.has_config:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method RuntimeConfig")
        return api.RuntimeConfigResponse(linux=api.LinuxRuntimeConfiguration(cgroup_driver=self.cgroup_driver))

    async def run_pod_sandbox(self, request: api.RunPodSandboxRequest, context: Any) -> api.RunPodSandboxResponse:
        await self._enter("RunPodSandbox", context)
        number = next(self._numbers)
        sandbox_id = f"sandbox{number}"
        self.sandboxes[sandbox_id] = api.PodSandboxStatus(
            id=sandbox_id,
            metadata=request.config.metadata,
            state=api.SANDBOX_READY,
            created_at=time.time_ns(),
            network=api.PodSandboxNetworkStatus(ip=f"10.0.0.{number}"),
            linux=api.LinuxPodSandboxStatus(
                namespaces=api.Namespace(options=request.config.linux.security_context.namespace_options)
            ),
            labels=request.config.labels,
            annotations=request.config.annotations,
            runtime_handler=request.runtime_handler,
        )
        return api.RunPodSandboxResponse(pod_sandbox_id=sandbox_id)

    async def stop_pod_sandbox(self, request: api.StopPodSandboxRequest, context: Any) -> api.StopPodSandboxResponse:
        await self._enter("StopPodSandbox", context)
        if request.pod_sandbox_id not in self.sandboxes:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"sandbox {request.pod_sandbox_id}: not found")
        sandbox = self.sandboxes[request.pod_sandbox_id]
        for container_id in self._containers_of(sandbox.id):
            self.exit_container(container_id, 137)
        sandbox.state = api.SANDBOX_NOTREADY
        sandbox.network.Clear()
        return api.StopPodSandboxResponse()

    async def remove_pod_sandbox(
        self, request: api.RemovePodSandboxRequest, context: Any
    ) -> api.RemovePodSandboxResponse:
        await self._enter("RemovePodSandbox", context)
        for container_id in self._containers_of(request.pod_sandbox_id):
            del self.containers[container_id]
        self.sandboxes.pop(request.pod_sandbox_id, None)
        return api.RemovePodSandboxResponse()

    async def create_container(self, request: api.CreateContainerRequest, context: Any) -> api.CreateContainerResponse:
        await self._enter("CreateContainer", context)
        if request.pod_sandbox_id not in self.sandboxes:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"sandbox {request.pod_sandbox_id}: not found")
        config = request.config
        container_id = f"container{next(self._numbers)}"
        status = api.ContainerStatus(
            id=container_id,
            metadata=config.metadata,
            state=api.CONTAINER_CREATED,
            created_at=time.time_ns(),
            image=config.image,
            image_ref=f"sha256:{config.image.image}",
            labels=config.labels,
            annotations=config.annotations,
            mounts=config.mounts,
            log_path=config.log_path,
            resources=api.ContainerResources(linux=config.linux.resources),
        )
        self.containers[container_id] = (request.pod_sandbox_id, status)
        self._event(api.CONTAINER_CREATED_EVENT, container_id)
        return api.CreateContainerResponse(container_id=container_id)

    async def start_container(self, request: api.StartContainerRequest, context: Any) -> api.StartContainerResponse:
        await self._enter("StartContainer", context)
        _, status = await self._container(request.container_id, context)
        status.state, status.started_at = api.CONTAINER_RUNNING, time.time_ns()
        self._event(api.CONTAINER_STARTED_EVENT, request.container_id)
        return api.StartContainerResponse()

    async def stop_container(self, request: api.StopContainerRequest, context: Any) -> api.StopContainerResponse:
        await self._enter("StopContainer", context)
        await self._container(request.container_id, context)
        self.exit_container(request.container_id, 137)
        return api.StopContainerResponse()

    async def remove_container(self, request: api.RemoveContainerRequest, context: Any) -> api.RemoveContainerResponse:
        await self._enter("RemoveContainer", context)
        if request.container_id in self.containers:
            self._event(api.CONTAINER_DELETED_EVENT, request.container_id)
            del self.containers[request.container_id]
        return api.RemoveContainerResponse()

    async def list_pod_sandbox(self, request: api.ListPodSandboxRequest, context: Any) -> api.ListPodSandboxResponse:
        await self._enter("ListPodSandbox", context)
        items = [
            api.PodSandbox(
                id=s.id,
                metadata=s.metadata,
                state=s.state,
                created_at=s.created_at,
                labels=s.labels,
                annotations=s.annotations,
            )
            for s in self.sandboxes.values()
            if _matches(request.filter, s.id, s.labels)
        ]
        return api.ListPodSandboxResponse(items=items)

    async def list_containers(self, request: api.ListContainersRequest, context: Any) -> api.ListContainersResponse:
        await self._enter("ListContainers", context)
        containers = [
            api.Container(
                id=c.id,
                pod_sandbox_id=sandbox_id,
                metadata=c.metadata,
                image=c.image,
                image_ref=c.image_ref,
                state=c.state,
                created_at=c.created_at,
                labels=c.labels,
                annotations=c.annotations,
            )
            for sandbox_id, c in self.containers.values()
            if _matches(request.filter, c.id, c.labels)
        ]
        return api.ListContainersResponse(containers=containers)

    async def pod_sandbox_status(
        self, request: api.PodSandboxStatusRequest, context: Any
    ) -> api.PodSandboxStatusResponse:
        await self._enter("PodSandboxStatus", context)
        status = self.sandboxes.get(request.pod_sandbox_id)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"sandbox {request.pod_sandbox_id}: not found")
        return api.PodSandboxStatusResponse(status=status)

    async def container_status(self, request: api.ContainerStatusRequest, context: Any) -> api.ContainerStatusResponse:
        await self._enter("ContainerStatus", context)
        _, status = await self._container(request.container_id, context)
        return api.ContainerStatusResponse(status=status)

    async def get_container_events(
        self, _request: api.GetEventsRequest, context: Any
    ) -> AsyncIterator[api.ContainerEventResponse]:
        await self._enter("GetContainerEvents", context)
        if not self.has_events:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method GetContainerEvents")
        stream: asyncio.Queue[api.ContainerEventResponse] = asyncio.Queue()
        self._streams.add(stream)
        try:
            while True:
                yield await stream.get()
        finally:
            self._streams.discard(stream)

    async def exec_sync(self, _request: Any, context: Any) -> api.ExecSyncResponse:
        await self._enter("ExecSync", context)
        return api.ExecSyncResponse()

    async def update_pod_sandbox_resources(self, _request: Any, context: Any) -> api.UpdatePodSandboxResourcesResponse:
        await self._enter("UpdatePodSandboxResources", context)
        return api.UpdatePodSandboxResourcesResponse()

    async def pull_image(self, request: api.PullImageRequest, context: Any) -> api.PullImageResponse:
        await self._enter("PullImage", context)
        return api.PullImageResponse(image_ref=f"sha256:{request.image.image}")

    async def _container(self, container_id: str, context: Any) -> tuple[str, api.ContainerStatus]:
        if container_id not in self.containers:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"container {container_id}: not found")
        return self.containers[container_id]

    def _containers_of(self, sandbox_id: str) -> list[str]:
        return [container_id for container_id, (of, _) in self.containers.items() if of == sandbox_id]

    @asynccontextmanager
    async def served(self, socket: Path) -> AsyncIterator[str]:
        """Serve on that path; gives the endpoint. Leaving ends every call and removes the socket."""
        async with serving(self, socket) as endpoint:
            yield endpoint


@asynccontextmanager
async def serving(servicer: object, socket: Path) -> AsyncIterator[str]:
    """Serve an object's methods as both services of CRI."""
    server = grpc.aio.server()
    services = [service_methods(api.DESCRIPTOR, name) for name in ("RuntimeService", "ImageService")]
    server.add_generic_rpc_handlers([service_handler(methods, servicer) for methods in services])
    endpoint = f"unix://{socket}"
    server.add_insecure_port(endpoint)
    await server.start()
    try:
        yield endpoint
    finally:
        await server.stop(None)


def _matches(wanted: Any, object_id: str, labels: Mapping[str, str]) -> bool:
    return (not wanted.id or wanted.id == object_id) and all(
        labels.get(key) == value for key, value in wanted.label_selector.items()
    )
