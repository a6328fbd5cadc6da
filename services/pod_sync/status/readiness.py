"""Has a container started, and is it ready (upstream `prober`, `UpdatePodStatus`).

A container that goes on running keeps what was said of it while the prober, or this daemon, is away or new: a restart of
ours must not take a pod out of a Service.
"""

from msgspec.structs import replace

from services.pod_sync.status.model import StatusContext
from shared.kube.pods import is_restartable_init
from shared.kube.types import Container, ContainerStatus
from shared.messages.prober import ContainerProbes, ProbeOutcome


def with_readiness(
    ctx: StatusContext, containers: list[Container], statuses: list[ContainerStatus], *, init: bool
) -> list[ContainerStatus]:
    """The statuses with `started` and `ready`. Ephemeral containers have neither and do not belong here."""
    by_name = {c.name: c for c in containers}
    before = ctx.last.init_container_statuses if init else ctx.last.container_statuses
    old = {s.name: s for s in before if s.container_id}
    return [_one(ctx, by_name[s.name], s, old.get(s.name), init=init) for s in statuses]


def _one(
    ctx: StatusContext, container: Container, status: ContainerStatus, old: ContainerStatus | None, *, init: bool
) -> ContainerStatus:
    same = old if old is not None and old.container_id == status.container_id else None
    probes = ctx.probes.get((status.container_id or "").partition("://")[2])
    started = _started(container, status, same, probes)
    if init and not is_restartable_init(container):
        ended = status.state.terminated
        ready = ended is not None and ended.exit_code == 0
    else:
        ready = started and _ready(container, same, probes)
    return replace(status, started=started, ready=ready)


def _started(
    container: Container, status: ContainerStatus, same: ContainerStatus | None, probes: ContainerProbes | None
) -> bool:
    """`same` is the old status if it was of this very container."""
    if status.state.running is None:
        return False
    outcome = probes.startup if probes is not None else None
    if outcome in (ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE):
        return outcome is ProbeOutcome.SUCCESS
    if same is not None and same.started:
        return True
    return container.startup_probe is None


def _ready(container: Container, same: ContainerStatus | None, probes: ContainerProbes | None) -> bool:
    """Of a started container."""
    if container.readiness_probe is None:
        return True
    outcome = probes.readiness if probes is not None else None
    if outcome in (ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE):
        return outcome is ProbeOutcome.SUCCESS
    return same is not None and same.ready
