"""Starting one container (upstream `kuberuntime`, startContainer).

Image, then what managers add, then the files on the host, CreateContainer, StartContainer, the link to the log,
postStart. Each failure emits its events and becomes a StartError with the container's waiting reason.
"""

from dataclasses import dataclass, replace

import structlog

from services.pod_sync.environment.container import container_config
from services.pod_sync.environment.hostname import host_network_hosts_file, hosts_file
from services.pod_sync.environment.metadata import container_log_path, find_container
from services.pod_sync.environment.model import (
    AnyContainer,
    ConfigError,
    ContainerInputs,
    EnvObjects,
    PodContext,
)
from services.pod_sync.environment.mounts import subpath_of, wants_hosts_file
from services.pod_sync.environment.variables import environment, referred_files, referred_objects
from services.pod_sync.images.manager import ImageManager
from services.pod_sync.images.model import EnsuredImage, ImageRequest
from services.pod_sync.images.names import default_pull_policy
from services.pod_sync.runtime import model
from services.pod_sync.runtime.creation import ContainerCreation, Created, Former
from services.pod_sync.runtime.hooks import HookError, HookPlace, HookRunner
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.kill import Kills
from services.pod_sync.runtime.model import (
    NORMAL,
    WARNING,
    EventSink,
    KillOrder,
    KillTarget,
    Sandbox,
    StartError,
    named_ports,
)
from services.pod_sync.runtime.ports import Ports
from services.pod_sync.runtime.reserved import StillBeingMade
from services.pod_sync.runtime.sandboxes import Sandboxes
from services.pod_sync.runtime.subpaths import Subpaths
from shared.cri import api
from shared.errors import Invalid, OctoletError
from shared.kube.pods import pod_format
from shared.kube.types import EphemeralContainer
from shared.messages.container_manager import ContainerExtras

POST_START_KILL_MESSAGE = "FailedPostStartHook"


@dataclass(frozen=True)
class _Start:
    """One start: which container of which pod, in which sandbox, as which instance."""

    pod: PodContext
    container: AnyContainer
    sandbox: Sandbox
    attempt: int
    event: EventSink

    @property
    def name(self) -> str:
        return self.container.name

    def failed(self, reason: str, message: str, *, text: str | None = None) -> StartError:
        """Emit the event Failed and give the error to raise. `text` replaces the event's own `Error: <message>`."""
        self.event(self.name, WARNING, "Failed", text if text is not None else f"Error: {message}")
        return StartError(reason, message)


@dataclass(frozen=True)
class Starts:
    """Starts containers."""

    ports: Ports
    host: HostFiles
    images: ImageManager
    sandboxes: Sandboxes
    creation: ContainerCreation
    subpaths: Subpaths
    hooks: HookRunner
    kills: Kills

    async def start(self, pod: PodContext, name: str, *, sandbox: Sandbox, attempt: int, event: EventSink) -> str:
        """The id of the started container. Raises StartError; Transient for what is not the pod's fault."""
        start = _Start(pod, find_container(pod.pod, name), sandbox, attempt, event)
        try:
            sandbox_config = self.sandboxes.plan(pod, sandbox.attempt).config
        except ConfigError as error:
            raise start.failed(model.CREATE_CONTAINER_CONFIG, str(error)) from error
        self._check_image_volumes(start)
        image = await self._image(start, sandbox_config)
        extras = await self._extras(start)
        objects = await self._objects(start)
        try:
            inputs = await self._inputs(start, image, extras=extras, objects=objects)
            config = container_config(pod, start.container, inputs, node=self.ports.node())
            self.host.ensure_log_dir(f"{sandbox_config.log_directory}/{name}")
        except (ConfigError, OSError) as error:
            raise start.failed(model.CREATE_CONTAINER_CONFIG, str(error)) from error
        created = await self._create(start, config, sandbox_config)
        if created.former is Former.NOTHING:
            await self._run(start, created.id)
        self._link_log(start, created.id, sandbox_config.log_directory)
        if created.former is not Former.EXITED:
            await self._post_start(start, created.id)
        return created.id

    def _check_image_volumes(self, start: _Start) -> None:
        """A container that mounts an image that could not be had fails with the pull's own reason."""
        for mount in start.container.volume_mounts:
            failure = start.pod.image_volume_failures.get(mount.name)
            if failure is not None:
                raise start.failed(*failure, text=f"Error: {failure[0]}")

    async def _image(self, start: _Start, sandbox_config: api.PodSandboxConfig) -> EnsuredImage:
        image = start.container.image or ""
        request = ImageRequest(
            pod=start.pod.pod,
            image=image,
            policy=start.container.image_pull_policy or default_pull_policy(image),
            sandbox_config=sandbox_config,
            container=start.name,
            credentials=await self.ports.credentials(start.pod.pod, image),
        )
        try:
            return await self.images.ensure(request, start.event)
        except StartError as error:
            start.event(start.name, WARNING, "Failed", f"Error: {error.reason}")
            raise

    async def _extras(self, start: _Start) -> ContainerExtras:
        if isinstance(start.container, EphemeralContainer):
            return ContainerExtras()  # managers hold nothing for them: they take what the pod has
        try:
            return await self.ports.prepare_container(start.pod.pod.metadata.uid, start.name)
        except Invalid as error:
            text = f"Internal PreCreateContainer hook failed: {error}"
            raise start.failed(model.PRE_CREATE_HOOK, str(error), text=text) from error

    async def _objects(self, start: _Start) -> EnvObjects:
        names = referred_objects(start.container)
        if not names:
            return EnvObjects()
        try:
            return await self.ports.objects(start.pod.pod, names)
        except Invalid as error:
            raise start.failed(model.CREATE_CONTAINER_CONFIG, str(error)) from error

    async def _inputs(
        self, start: _Start, image: EnsuredImage, *, extras: ContainerExtras, objects: EnvObjects
    ) -> ContainerInputs:
        """Everything decided, and every file made, for this instance. Raises ConfigError or OSError."""
        pod, container, node = start.pod, start.container, self.ports.node()
        files = {file.path: self.host.env_file_text(file) for file in referred_files(container, pod)}
        variables = environment(pod, container, node=node, objects=replace(objects, files=files))
        subpaths = {
            index: path
            for index, mount in enumerate(container.volume_mounts)
            if (below := subpath_of(mount, variables)) and not pod.image_volume(mount.name)
            if (path := await self.subpaths.prepare(pod, container.name, index=index, below=below))
        }
        return ContainerInputs(
            attempt=start.attempt,
            image_ref=image.ref,
            image_uid=image.uid,
            image_username=image.username,
            environment=variables,
            extras=extras,
            subpaths=subpaths,
            hosts_path=self._hosts(start),
            termination_log_path=self._termination_log(start),
            target_id=self._target(start),
            exclusive_cpus=extras.exclusive_cpus,
        )

    def _hosts(self, start: _Start) -> str:
        pod = start.pod
        if not wants_hosts_file(pod, start.container):
            return ""
        if pod.pod.spec.host_network:
            text = host_network_hosts_file(pod.pod, self.host.node_hosts())
        else:
            text = hosts_file(pod.pod, pod.ips, self.ports.node().cluster_domain)
        return self.host.write_hosts(pod.pod_dir, text)

    def _termination_log(self, start: _Start) -> str:
        if not start.container.termination_message_path:
            return ""
        return self.host.make_termination_log(start.pod.pod_dir, start.name)

    def _target(self, start: _Start) -> str:
        """The container whose processes an ephemeral container shares; empty without one."""
        if not isinstance(start.container, EphemeralContainer) or not start.container.target_container_name:
            return ""
        target = start.container.target_container_name
        if target not in start.pod.container_ids:
            raise ConfigError(f"unable to find target container {target}")
        return start.pod.container_ids[target]

    async def _create(
        self, start: _Start, config: api.ContainerConfig, sandbox_config: api.PodSandboxConfig
    ) -> Created:
        request = api.CreateContainerRequest(
            pod_sandbox_id=start.sandbox.id, config=config, sandbox_config=sandbox_config
        )
        try:
            created = await self.creation.create(request)
        except StillBeingMade:
            raise
        except OctoletError as error:
            raise start.failed(model.CREATE_CONTAINER, bare_text(error)) from error
        if created.former is Former.NOTHING:
            start.event(start.name, NORMAL, "Created", "Container created")
        return created

    async def _run(self, start: _Start, container_id: str) -> None:
        try:
            await self.creation.start(container_id)
        except OctoletError as error:
            message = bare_text(error).replace(container_id, start.name)
            raise start.failed(model.RUN_CONTAINER, message) from error
        start.event(start.name, NORMAL, "Started", "Container started")

    def _link_log(self, start: _Start, container_id: str, log_directory: str) -> None:
        meta = start.pod.pod.metadata
        try:
            self.host.link_legacy_log(
                f"{log_directory}/{container_log_path(start.name, start.attempt)}",
                pod_name=meta.name,
                namespace=meta.namespace,
                container=start.name,
                container_id=container_id,
            )
        except OSError as error:  # the container runs; only log collectors miss something
            structlog.get_logger().warning(
                "container_log.link_failed", pod_uid=meta.uid, container=start.name, error=str(error)
            )

    async def _post_start(self, start: _Start, container_id: str) -> None:
        lifecycle = start.container.lifecycle
        if lifecycle is None or lifecycle.post_start is None:
            return
        place = HookPlace(
            container_id=container_id,
            container=start.name,
            pod=pod_format(start.pod.pod),
            sandbox_id=start.sandbox.id,
            ports=named_ports(start.container.ports),
        )
        try:
            await self.hooks.run(lifecycle.post_start, place, start.event)
        except HookError as error:
            start.event(start.name, WARNING, "FailedPostStartHook", "PostStartHook failed")
            target = KillTarget.for_container(
                start.pod.pod, start.container, container_id=container_id, sandbox_id=start.sandbox.id
            )
            await self.kills.kill(target, KillOrder(message=POST_START_KILL_MESSAGE), start.event)
            raise StartError(model.POST_START_HOOK, str(error).replace(container_id, start.name)) from error


def bare_text(error: OctoletError) -> str:
    """The runtime's own words without the status code in front, as container events show them."""
    return getattr(error, "details", None) or str(error)
