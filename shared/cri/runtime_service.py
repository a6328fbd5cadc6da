"""The 37 rpcs of RuntimeService as typed coroutines. What each does is said in `protos/runtime/v1/api.proto`."""

import math
from collections.abc import AsyncGenerator

from shared.cri import api, checks
from shared.cri.calls import ServiceCalls
from shared.cri.deadlines import Deadlines
from shared.errors import Invalid, Transient
from shared.kube.duration import format_go_duration
from shared.rpc.errors import RpcError, RpcUnsupported


class CommandTimedOut(Transient):
    """A command run by ExecSync was not done in its time."""


class RuntimeService(Deadlines):
    """Pods and containers. Docstrings only where a method does more than its rpc."""

    _runtime: ServiceCalls

    async def version(
        self, request: api.VersionRequest | None = None, *, timeout_s: float | None = None
    ) -> api.VersionResponse:
        """Name and versions of the runtime; all four are set."""
        request = request or api.VersionRequest(version=checks.API_VERSION)
        reply = await self._runtime.unary("Version", request, api.VersionResponse, self._deadline(timeout_s))
        return checks.checked_version(reply)

    async def run_pod_sandbox(
        self, request: api.RunPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.RunPodSandboxResponse:
        """Makes and starts a sandbox. Twice the usual deadline: the network plugins work in here."""
        deadline = self._deadline(timeout_s, factor=2)
        reply = await self._runtime.unary("RunPodSandbox", request, api.RunPodSandboxResponse, deadline)
        if not reply.pod_sandbox_id:
            raise Transient(f"PodSandboxId is not set for sandbox {request.config.metadata.name!r}")
        return reply

    async def stop_pod_sandbox(
        self, request: api.StopPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.StopPodSandboxResponse:
        return await self._runtime.unary(
            "StopPodSandbox", request, api.StopPodSandboxResponse, self._deadline(timeout_s)
        )

    async def remove_pod_sandbox(
        self, request: api.RemovePodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.RemovePodSandboxResponse:
        return await self._runtime.unary(
            "RemovePodSandbox", request, api.RemovePodSandboxResponse, self._deadline(timeout_s)
        )

    async def pod_sandbox_status(
        self, request: api.PodSandboxStatusRequest, *, timeout_s: float | None = None
    ) -> api.PodSandboxStatusResponse:
        """One sandbox in full. Raises NotFound when it is gone."""
        deadline = self._deadline(timeout_s)
        reply = await self._runtime.unary("PodSandboxStatus", request, api.PodSandboxStatusResponse, deadline)
        return checks.checked_sandbox(reply)

    async def list_pod_sandbox(
        self, request: api.ListPodSandboxRequest, *, timeout_s: float | None = None
    ) -> api.ListPodSandboxResponse:
        return await self._runtime.listing(
            "ListPodSandbox", request, api.ListPodSandboxResponse, self._deadline(timeout_s)
        )

    def stream_pod_sandboxes(
        self, request: api.StreamPodSandboxesRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[api.StreamPodSandboxesResponse, None]:
        return self._runtime.stream(
            "StreamPodSandboxes", request, api.StreamPodSandboxesResponse, self._deadline(timeout_s)
        )

    async def create_container(
        self, request: api.CreateContainerRequest, *, timeout_s: float | None = None
    ) -> api.CreateContainerResponse:
        return await self._runtime.unary(
            "CreateContainer", request, api.CreateContainerResponse, self._deadline(timeout_s)
        )

    async def start_container(
        self, request: api.StartContainerRequest, *, timeout_s: float | None = None
    ) -> api.StartContainerResponse:
        return await self._runtime.unary(
            "StartContainer", request, api.StartContainerResponse, self._deadline(timeout_s)
        )

    async def stop_container(
        self, request: api.StopContainerRequest, *, timeout_s: float | None = None
    ) -> api.StopContainerResponse:
        """Stop signal, then KILL after `request.timeout` seconds, which the deadline is extended by."""
        deadline = self._deadline(timeout_s, more_s=request.timeout)
        return await self._runtime.unary("StopContainer", request, api.StopContainerResponse, deadline)

    async def remove_container(
        self, request: api.RemoveContainerRequest, *, timeout_s: float | None = None
    ) -> api.RemoveContainerResponse:
        return await self._runtime.unary(
            "RemoveContainer", request, api.RemoveContainerResponse, self._deadline(timeout_s)
        )

    async def list_containers(
        self, request: api.ListContainersRequest, *, timeout_s: float | None = None
    ) -> api.ListContainersResponse:
        return await self._runtime.listing(
            "ListContainers", request, api.ListContainersResponse, self._deadline(timeout_s)
        )

    def stream_containers(
        self, request: api.StreamContainersRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[api.StreamContainersResponse, None]:
        return self._runtime.stream(
            "StreamContainers", request, api.StreamContainersResponse, self._deadline(timeout_s)
        )

    async def container_status(
        self, request: api.ContainerStatusRequest, *, timeout_s: float | None = None
    ) -> api.ContainerStatusResponse:
        """One container in full. Raises NotFound when it is gone."""
        deadline = self._deadline(timeout_s)
        reply = await self._runtime.unary("ContainerStatus", request, api.ContainerStatusResponse, deadline)
        return checks.checked_container(reply)

    async def update_container_resources(
        self, request: api.UpdateContainerResourcesRequest, *, timeout_s: float | None = None
    ) -> api.UpdateContainerResourcesResponse:
        return await self._runtime.unary(
            "UpdateContainerResources", request, api.UpdateContainerResourcesResponse, self._deadline(timeout_s)
        )

    async def reopen_container_log(
        self, request: api.ReopenContainerLogRequest, *, timeout_s: float | None = None
    ) -> api.ReopenContainerLogResponse:
        return await self._runtime.unary(
            "ReopenContainerLog", request, api.ReopenContainerLogResponse, self._deadline(timeout_s)
        )

    async def exec_sync(self, request: api.ExecSyncRequest, *, timeout_s: float | None = None) -> api.ExecSyncResponse:
        """Runs a command to its end. Raises CommandTimedOut after `request.timeout` seconds; 0 waits for ever."""
        deadline = self._deadline(timeout_s, more_s=request.timeout or math.inf)
        try:
            return await self._runtime.unary("ExecSync", request, api.ExecSyncResponse, deadline)
        except RpcError as error:
            if error.code != "DeadlineExceeded":
                raise
            command = " ".join(request.cmd)
            after = format_go_duration(request.timeout)
            raise CommandTimedOut(f'command timed out: "{command}" timed out after {after}') from error

    async def exec(self, request: api.ExecRequest, *, timeout_s: float | None = None) -> api.ExecResponse:
        reply = await self._runtime.unary("Exec", request, api.ExecResponse, self._deadline(timeout_s))
        checks.checked_url(reply.url)
        return reply

    async def attach(self, request: api.AttachRequest, *, timeout_s: float | None = None) -> api.AttachResponse:
        reply = await self._runtime.unary("Attach", request, api.AttachResponse, self._deadline(timeout_s))
        checks.checked_url(reply.url)
        return reply

    async def port_forward(
        self, request: api.PortForwardRequest, *, timeout_s: float | None = None
    ) -> api.PortForwardResponse:
        reply = await self._runtime.unary("PortForward", request, api.PortForwardResponse, self._deadline(timeout_s))
        checks.checked_url(reply.url)
        return reply

    async def container_stats(
        self, request: api.ContainerStatsRequest, *, timeout_s: float | None = None
    ) -> api.ContainerStatsResponse:
        return await self._runtime.unary(
            "ContainerStats", request, api.ContainerStatsResponse, self._deadline(timeout_s)
        )

    async def list_container_stats(
        self, request: api.ListContainerStatsRequest, *, timeout_s: float | None = None
    ) -> api.ListContainerStatsResponse:
        return await self._runtime.listing(
            "ListContainerStats", request, api.ListContainerStatsResponse, self._deadline(timeout_s)
        )

    def stream_container_stats(
        self, request: api.StreamContainerStatsRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[api.StreamContainerStatsResponse, None]:
        return self._runtime.stream(
            "StreamContainerStats", request, api.StreamContainerStatsResponse, self._deadline(timeout_s)
        )

    async def pod_sandbox_stats(
        self, request: api.PodSandboxStatsRequest, *, timeout_s: float | None = None
    ) -> api.PodSandboxStatsResponse:
        return await self._runtime.unary(
            "PodSandboxStats", request, api.PodSandboxStatsResponse, self._deadline(timeout_s)
        )

    async def list_pod_sandbox_stats(
        self, request: api.ListPodSandboxStatsRequest, *, timeout_s: float | None = None
    ) -> api.ListPodSandboxStatsResponse:
        return await self._runtime.listing(
            "ListPodSandboxStats", request, api.ListPodSandboxStatsResponse, self._deadline(timeout_s)
        )

    def stream_pod_sandbox_stats(
        self, request: api.StreamPodSandboxStatsRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[api.StreamPodSandboxStatsResponse, None]:
        return self._runtime.stream(
            "StreamPodSandboxStats", request, api.StreamPodSandboxStatsResponse, self._deadline(timeout_s)
        )

    async def update_runtime_config(
        self, request: api.UpdateRuntimeConfigRequest, *, timeout_s: float | None = None
    ) -> api.UpdateRuntimeConfigResponse:
        return await self._runtime.unary(
            "UpdateRuntimeConfig", request, api.UpdateRuntimeConfigResponse, self._deadline(timeout_s)
        )

    async def status(self, request: api.StatusRequest, *, timeout_s: float | None = None) -> api.StatusResponse:
        """Conditions (RuntimeReady and NetworkReady at least), handlers and features."""
        reply = await self._runtime.unary("Status", request, api.StatusResponse, self._deadline(timeout_s))
        return checks.checked_status(reply)

    async def checkpoint_container(
        self, request: api.CheckpointContainerRequest, *, timeout_s: float | None = None
    ) -> api.CheckpointContainerResponse:
        """Writes a checkpoint. A shorter `request.timeout` than the request timeout is raised to it, as upstream."""
        if request.timeout < 0:
            raise Invalid(f"checkpoint container {request.container_id}: timeout {request.timeout} is negative")
        raised = api.CheckpointContainerRequest()
        raised.CopyFrom(request)
        raised.timeout = max(request.timeout, math.ceil(self._timeout_s))
        deadline = max(self._deadline(timeout_s), raised.timeout)
        return await self._runtime.unary("CheckpointContainer", raised, api.CheckpointContainerResponse, deadline)

    async def checkpoint_pod(
        self, request: api.CheckpointPodRequest, *, timeout_s: float | None = None
    ) -> api.CheckpointPodResponse:
        return await self._runtime.unary("CheckpointPod", request, api.CheckpointPodResponse, self._deadline(timeout_s))

    async def restore_pod(
        self, request: api.RestorePodRequest, *, timeout_s: float | None = None
    ) -> api.RestorePodResponse:
        return await self._runtime.unary("RestorePod", request, api.RestorePodResponse, self._deadline(timeout_s))

    def get_container_events(
        self, request: api.GetEventsRequest | None = None
    ) -> AsyncGenerator[api.ContainerEventResponse, None]:
        """Changes of containers from now on, without a deadline. Raises Unsupported at the first step, if ever."""
        request = request or api.GetEventsRequest()
        return self._runtime.stream("GetContainerEvents", request, api.ContainerEventResponse, math.inf)

    async def list_metric_descriptors(
        self, request: api.ListMetricDescriptorsRequest, *, timeout_s: float | None = None
    ) -> api.ListMetricDescriptorsResponse:
        return await self._runtime.unary(
            "ListMetricDescriptors", request, api.ListMetricDescriptorsResponse, self._deadline(timeout_s)
        )

    async def list_pod_sandbox_metrics(
        self, request: api.ListPodSandboxMetricsRequest, *, timeout_s: float | None = None
    ) -> api.ListPodSandboxMetricsResponse:
        return await self._runtime.listing(
            "ListPodSandboxMetrics", request, api.ListPodSandboxMetricsResponse, self._deadline(timeout_s)
        )

    def stream_pod_sandbox_metrics(
        self, request: api.StreamPodSandboxMetricsRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[api.StreamPodSandboxMetricsResponse, None]:
        return self._runtime.stream(
            "StreamPodSandboxMetrics", request, api.StreamPodSandboxMetricsResponse, self._deadline(timeout_s)
        )

    async def runtime_config(
        self, request: api.RuntimeConfigRequest, *, timeout_s: float | None = None
    ) -> api.RuntimeConfigResponse:
        return await self._runtime.unary("RuntimeConfig", request, api.RuntimeConfigResponse, self._deadline(timeout_s))

    async def update_pod_sandbox_resources(
        self, request: api.UpdatePodSandboxResourcesRequest, *, timeout_s: float | None = None
    ) -> api.UpdatePodSandboxResourcesResponse:
        """Tells of changed limits of a pod. Raises Unsupported also where a runtime says so in an UNKNOWN."""
        deadline, reply = self._deadline(timeout_s), api.UpdatePodSandboxResourcesResponse
        try:
            return await self._runtime.unary("UpdatePodSandboxResources", request, reply, deadline)
        except RpcError as error:
            if error.code == "Unknown" and "not implemented" in error.details:
                raise RpcUnsupported(error.code, error.details) from error
            raise
