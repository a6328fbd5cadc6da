"""postStart and preStop (upstream `pkg/kubelet/lifecycle`, handlers).

Run at least once: a hook of which it is not known that it ended is run again after a restart.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from services.pod_sync.runtime.go_text import listed, quoted
from services.pod_sync.runtime.http_hook import HookRequest, run_http_hook
from services.pod_sync.runtime.model import WARNING, EventSink
from services.pod_sync.runtime.ports import RuntimeService
from services.pod_sync.runtime.sandboxes import sandbox_ips
from shared.cri import api
from shared.errors import Invalid, OctoletError
from shared.kube.types import HTTPGetAction, LifecycleHandler

NO_COMMAND_DEADLINE_S = 0


class HookError(OctoletError):
    """A hook failed. The text is what users see as the waiting message of a container whose postStart failed."""


@dataclass(frozen=True, kw_only=True)
class HookPlace:
    """Where a hook runs. `pod` is `name_namespace(uid)`, `ports` are the container's named ports."""

    container_id: str
    container: str
    pod: str
    sandbox_id: str
    ports: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


class HookRunner:
    """Runs one handler to its end. No time limit of its own: the caller knows the grace."""

    def __init__(self, cri: RuntimeService) -> None:
        self._cri = cri

    async def run(self, handler: LifecycleHandler, place: HookPlace, event: EventSink) -> None:
        """Raises HookError with upstream's text. Any HTTP status is success; only a failed exchange is a failure."""
        where = f"for Container {quoted(place.container)} in Pod {quoted(place.pod)} failed - error:"
        if handler.exec is not None:
            await self._run_command(list(handler.exec.command), place, where)
        elif handler.http_get is not None:
            try:
                await self._get(handler.http_get, place, event)
            except (OctoletError, OSError) as error:
                raise HookError(f"HTTP lifecycle hook ({handler.http_get.path or ''}) {where} {error}") from error
        elif handler.sleep is not None:
            await asyncio.sleep(handler.sleep.seconds)
        else:
            raise HookError("invalid handler: neither exec, httpGet nor sleep")

    async def _run_command(self, command: list[str], place: HookPlace, where: str) -> None:
        prefix = f"Exec lifecycle hook ({listed(command)}) {where}"
        request = api.ExecSyncRequest(container_id=place.container_id, cmd=command, timeout=NO_COMMAND_DEADLINE_S)
        try:
            reply = await self._cri.exec_sync(request)
        except OctoletError as error:
            raise HookError(f'{prefix} {error}, message: ""') from error
        if reply.exit_code:
            errors = reply.stderr.decode(errors="replace")
            output = reply.stdout.decode(errors="replace") + errors
            cause = f"command '{' '.join(command)}' exited with {reply.exit_code}: {errors}"
            raise HookError(f"{prefix} {cause}, message: {quoted(output)}")

    async def _get(self, action: HTTPGetAction, place: HookPlace, event: EventSink) -> None:
        host = action.host or await self._pod_ip(place)
        request = HookRequest(
            scheme=(action.scheme or "HTTP").lower(),
            host=host,
            port=_port_number(action.port, place),
            path=action.path or "",
            headers=tuple((header.name, header.value) for header in action.http_headers),
        )
        if await run_http_hook(request):
            text = f"request to HTTPS lifecycle hook {request.authority} got HTTP response, retry with HTTP succeeded"
            event(None, WARNING, "LifecycleHTTPFallback", text)

    async def _pod_ip(self, place: HookPlace) -> str:
        try:
            status = await self._cri.pod_sandbox_status(api.PodSandboxStatusRequest(pod_sandbox_id=place.sandbox_id))
        except OctoletError as error:
            raise Invalid(f"unable to get pod info, event handlers may be invalid: {error}") from error
        ips = sandbox_ips(status.status)
        if not ips:
            raise Invalid(f"failed to find networking container: {place.pod}")
        return ips[0]


def _port_number(port: int | str, place: HookPlace) -> int:
    """A port given as number, as digits, or by the name of a container port."""
    if isinstance(port, int):
        number = port
    elif port in place.ports:
        number = place.ports[port]
    elif port.isdecimal():
        number = int(port)
    else:
        raise Invalid(f"couldn't find port: {port} in container {place.container}")
    if not 0 < number < 65536:
        raise Invalid(f"invalid port number: {number}")
    return number
