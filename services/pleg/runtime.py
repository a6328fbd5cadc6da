"""The `Runtime` port over CRI: listings and statuses reduced to what the messages hold."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping

from services.pleg.model import EVERYTHING, InspectedPod, ListedPod
from services.pleg.ports import ContainerStopped, RuntimeStatus, RuntimeVersion
from services.pleg.settings import PlegSettings
from shared.cri import api
from shared.cri.client import RuntimeClient
from shared.errors import Invalid, NotFound
from shared.messages.pleg import ContainerMount, ContainerState, RuntimeCondition, RuntimeHandler, SandboxState

POD_UID = "io.kubernetes.pod.uid"
POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
CONTAINER_NAME = "io.kubernetes.container.name"
"""Labels that tie CRI objects to their pod (upstream `kubelet/types`). An object without a pod's UID is not ours."""

CONTAINER_STATES = {
    api.CONTAINER_CREATED: "created",
    api.CONTAINER_RUNNING: "running",
    api.CONTAINER_EXITED: "exited",
    api.CONTAINER_UNKNOWN: "unknown",
}
SANDBOX_STATES = {api.SANDBOX_READY: "ready", api.SANDBOX_NOTREADY: "notready"}
CGROUP_DRIVERS = {api.SYSTEMD: "systemd", api.CGROUPFS: "cgroupfs"}


class CriRuntime:
    """`client` is entered by whoever made it."""

    def __init__(self, client: RuntimeClient, settings: PlegSettings) -> None:
        self._client = client
        self._settings = settings

    async def list_pods(self, only: str) -> Mapping[str, ListedPod]:
        """Two calls side by side; a filter by label where only one pod is asked for."""
        selector = {} if only == EVERYTHING else {POD_UID: only}
        timeout_s = self._settings.runtime_request_timeout_s
        sandboxes, containers = await asyncio.gather(
            self._client.list_pod_sandbox(
                api.ListPodSandboxRequest(filter=api.PodSandboxFilter(label_selector=selector)), timeout_s=timeout_s
            ),
            self._client.list_containers(
                api.ListContainersRequest(filter=api.ContainerFilter(label_selector=selector)), timeout_s=timeout_s
            ),
        )
        return grouped(sandboxes.items, containers.containers)

    async def inspect_pod(self, listed: ListedPod) -> InspectedPod:
        """All statuses side by side: a pod has few objects, and a worker is waiting."""
        seen_sandboxes, seen_containers = await asyncio.gather(
            asyncio.gather(*(self._sandbox(sandbox) for sandbox in listed.sandboxes)),
            asyncio.gather(*(self._container(c, listed.sandbox_of.get(c, "")) for c in listed.containers)),
        )
        return InspectedPod(
            sandboxes=tuple(sandbox for sandbox in seen_sandboxes if sandbox is not None),
            containers=tuple(container for container in seen_containers if container is not None),
        )

    async def _sandbox(self, sandbox_id: str) -> SandboxState | None:
        request = api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        try:
            reply = await self._client.pod_sandbox_status(request, timeout_s=self._settings.inspect_timeout_s)
        except NotFound:
            return None
        return sandbox_state(reply.status)

    async def _container(self, container_id: str, sandbox_id: str) -> ContainerState | None:
        request = api.ContainerStatusRequest(container_id=container_id)
        try:
            reply = await self._client.container_status(request, timeout_s=self._settings.inspect_timeout_s)
        except NotFound:
            return None
        return container_state(reply.status, sandbox_id)

    async def stopped_containers(self) -> AsyncGenerator[ContainerStopped, None]:
        async for event in self._client.get_container_events():
            if event.container_event_type == api.CONTAINER_STOPPED_EVENT:
                uid = event.pod_sandbox_status.metadata.uid
                yield ContainerStopped(event.container_id, uid, event.created_at)

    async def read_version(self) -> RuntimeVersion:
        reply = await self._client.version(timeout_s=self._settings.status_timeout_s)
        return RuntimeVersion(reply.runtime_name, reply.runtime_version, reply.runtime_api_version)

    async def read_status(self) -> RuntimeStatus:
        reply = await self._client.status(api.StatusRequest(), timeout_s=self._settings.status_timeout_s)
        return runtime_status(reply)

    async def read_cgroup_driver(self) -> str:
        reply = await self._client.runtime_config(api.RuntimeConfigRequest(), timeout_s=self._settings.status_timeout_s)
        if not reply.HasField("linux"):
            return ""
        driver = CGROUP_DRIVERS.get(reply.linux.cgroup_driver)
        if driver is None:
            raise Invalid(f"read runtime config: cgroup driver {reply.linux.cgroup_driver} is not known")
        return driver


def grouped(sandboxes: Collection[api.PodSandbox], containers: Collection[api.Container]) -> dict[str, ListedPod]:
    """Both listings by pod. A pod's name is taken from the first object seen of it."""
    pods: dict[str, ListedPod] = {}
    states: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str]]] = {}

    def maps(labels: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str], dict[str, str]] | None:
        uid = labels.get(POD_UID, "")
        if uid and uid not in pods:
            states[uid] = ({}, {}, {})
            pods[uid] = ListedPod(labels.get(POD_NAME, ""), labels.get(POD_NAMESPACE, ""), *states[uid])
        return states.get(uid)

    for sandbox in sandboxes:
        if (found := maps(sandbox.labels)) is not None:
            found[0][sandbox.id] = SANDBOX_STATES.get(sandbox.state, "notready")
    for container in containers:
        if (found := maps(container.labels)) is not None:
            found[1][container.id] = CONTAINER_STATES.get(container.state, "unknown")
            found[2][container.id] = container.pod_sandbox_id
    return pods


def sandbox_state(status: api.PodSandboxStatus) -> SandboxState:
    ips = [status.network.ip, *(other.ip for other in status.network.additional_ips)]
    return SandboxState(
        id=status.id,
        name=status.metadata.name,
        namespace=status.metadata.namespace,
        attempt=status.metadata.attempt,
        ready=status.state == api.SANDBOX_READY,
        created_at_ns=status.created_at,
        ips=[ip for ip in ips if ip],
        network_mode=status.linux.namespaces.options.network,
        labels=dict(status.labels),
        annotations=dict(status.annotations),
        runtime_handler=status.runtime_handler,
    )


def container_state(status: api.ContainerStatus, sandbox_id: str) -> ContainerState:
    user = status.user.linux if status.HasField("user") and status.user.HasField("linux") else None
    return ContainerState(
        id=status.id,
        name=status.labels.get(CONTAINER_NAME, "") or status.metadata.name,
        attempt=status.metadata.attempt,
        sandbox_id=sandbox_id,
        state=CONTAINER_STATES.get(status.state, "unknown"),
        image=status.image.image,
        image_ref=status.image_ref,
        image_id=status.image_id,
        created_at_ns=status.created_at,
        started_at_ns=status.started_at,
        finished_at_ns=status.finished_at,
        exit_code=status.exit_code,
        reason=status.reason,
        message=status.message,
        log_path=status.log_path,
        labels=dict(status.labels),
        annotations=dict(status.annotations),
        mounts=[container_mount(mount) for mount in status.mounts],
        resources=set_fields(status.resources.linux),
        user_uid=None if user is None else user.uid,
        user_gid=None if user is None else user.gid,
        supplemental_groups=[] if user is None else list(user.supplemental_groups),
    )


def container_mount(mount: api.Mount) -> ContainerMount:
    return ContainerMount(
        container_path=mount.container_path,
        host_path=mount.host_path,
        read_only=mount.readonly,
        recursive_read_only=mount.recursive_read_only,
        propagation=mount.propagation,
    )


def set_fields(resources: api.LinuxContainerResources) -> dict[str, int | str]:
    """The plain fields that are set, by name; in CRI zero and empty mean: not set."""
    return {field.name: value for field, value in resources.ListFields() if isinstance(value, int | str)}


def runtime_status(reply: api.StatusResponse) -> RuntimeStatus:
    return RuntimeStatus(
        conditions=tuple(
            RuntimeCondition(type=c.type, status=c.status, reason=c.reason, message=c.message)
            for c in reply.status.conditions
        ),
        handlers=tuple(
            RuntimeHandler(
                name=handler.name,
                recursive_read_only_mounts=handler.features.recursive_read_only_mounts,
                user_namespaces=handler.features.user_namespaces,
            )
            for handler in sorted(reply.runtime_handlers, key=lambda h: h.name)
        ),
        supplemental_groups_policy=reply.features.supplemental_groups_policy,
        user_namespaces_host_network=reply.features.user_namespaces_host_network,
        mount_options=reply.features.mount_options,
    )
