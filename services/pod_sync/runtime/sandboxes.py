"""Making and ending sandboxes (upstream `kuberuntime`, kuberuntime_sandbox)."""

import ipaddress
from dataclasses import dataclass

from services.pod_sync.environment.model import POD_UID_LABEL, ConfigError, PodContext
from services.pod_sync.environment.sandbox import SandboxPlan, sandbox_config
from services.pod_sync.runtime.host_files import HostFiles
from services.pod_sync.runtime.model import (
    CONFIG_SANDBOX,
    CREATE_SANDBOX,
    WARNING,
    EventSink,
    Sandbox,
    StartError,
)
from services.pod_sync.runtime.ports import Ports, RuntimeService
from services.pod_sync.runtime.reserved import StillBeingMade, is_name_reserved
from shared.cri import api
from shared.errors import NotFound, OctoletError


@dataclass(frozen=True)
class Sandboxes:
    """Acts on sandboxes. Every one may be repeated."""

    cri: RuntimeService
    ports: Ports
    host: HostFiles

    def plan(self, pod: PodContext, attempt: int) -> SandboxPlan:
        """The configuration as of now. Raises ConfigError, also when the resolver file cannot be read."""
        try:
            resolver_text = self.host.resolver_text()
        except OSError as error:
            raise ConfigError(f"open {error.filename}: {(error.strerror or str(error)).lower()}") from error
        return sandbox_config(pod, attempt, node=self.ports.node(), resolver_text=resolver_text)

    async def create(self, pod: PodContext, attempt: int, event: EventSink) -> Sandbox:
        """The pod's sandbox of that attempt, made or found. Raises StartError, StillBeingMade."""
        try:
            plan = self.plan(pod, attempt)
            self.host.ensure_log_dir(plan.config.log_directory)
        except (ConfigError, OSError) as error:
            text = str(error)
            if isinstance(error, OSError):
                text = f"mkdir {error.filename}: {(error.strerror or text).lower()}"
            event(None, WARNING, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {text}")
            raise StartError(CONFIG_SANDBOX, text) from error
        for warning in plan.warnings:
            event(None, WARNING, warning.reason, warning.message)
        try:
            sandbox_id = await self._run(plan.config, pod.runtime_handler)
        except StillBeingMade:
            raise
        except OctoletError as error:
            event(None, WARNING, "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
            raise StartError(CREATE_SANDBOX, str(error)) from error
        try:
            status = await self.cri.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))
        except OctoletError as error:
            event(None, WARNING, "FailedPodSandBoxStatus", f"Unable to get pod sandbox status: {error}")
            raise StartError(CREATE_SANDBOX, str(error)) from error
        return Sandbox(sandbox_id, attempt, sandbox_ips(status.status))

    async def _run(self, config: api.PodSandboxConfig, handler: str) -> str:
        request = api.RunPodSandboxRequest(config=config, runtime_handler=handler)
        try:
            return (await self.cri.run_pod_sandbox(request)).pod_sandbox_id
        except OctoletError as error:
            if not is_name_reserved(error):
                raise
        ready = await self._settle_former(config)
        return ready or (await self.cri.run_pod_sandbox(request)).pod_sandbox_id

    async def _settle_former(self, config: api.PodSandboxConfig) -> str:
        """A sandbox of this attempt was made before this process knew it: use it when it is ready, else remove it.

        Returns the id of a ready one. Raises StillBeingMade while the runtime is at it.
        """
        wanted = config.metadata
        selector = api.PodSandboxFilter(label_selector={POD_UID_LABEL: wanted.uid})
        listed = (await self.cri.list_pod_sandbox(api.ListPodSandboxRequest(filter=selector))).items
        former = [item for item in listed if item.metadata.attempt == wanted.attempt]
        for item in former:
            if item.state == api.PodSandboxState.SANDBOX_READY:
                return item.id
            await self.remove(item.id)
        if not former:
            raise StillBeingMade(
                f"sandbox {wanted.namespace}/{wanted.name} attempt {wanted.attempt} is still being created"
            )
        return ""

    async def stop(self, sandbox_id: str) -> None:
        """Stop it and what is in it. NotFound is success."""
        try:
            await self.cri.stop_pod_sandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        except NotFound:
            return

    async def remove(self, sandbox_id: str) -> None:
        """Stop, then remove it. NotFound is success."""
        await self.stop(sandbox_id)
        try:
            await self.cri.remove_pod_sandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
        except NotFound:
            return


def sandbox_ips(status: api.PodSandboxStatus) -> tuple[str, ...]:
    """The sandbox's addresses, the primary first; none when one of them is not an address. Pure."""
    if not status.HasField("network") or not status.network.ip:
        return ()
    ips = (status.network.ip, *(extra.ip for extra in status.network.additional_ips))
    try:
        for ip in ips:
            ipaddress.ip_address(ip)
    except ValueError:
        return ()
    return ips
