"""The pod's conditions, in the order in which upstream lists them (upstream `status`, `generate.go`)."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from services.pod_sync.containers.core_sandbox import sandbox_decision
from services.pod_sync.status.model import FAILED, SUCCEEDED, TERMINAL, StatusContext
from shared.kube.pods import is_restartable_init
from shared.kube.types import Container, ContainerStatus, PodCondition, PodSpec

READY: Final = "Ready"
CONTAINERS_READY: Final = "ContainersReady"
INITIALIZED: Final = "Initialized"
SCHEDULED: Final = "PodScheduled"
READY_TO_START: Final = "PodReadyToStartContainers"
RESIZE_PENDING: Final = "PodResizePending"
RESIZE_IN_PROGRESS: Final = "PodResizeInProgress"
RESTARTING: Final = "AllContainersRestarting"
DISRUPTION: Final = "DisruptionTarget"

OWNED: Final = frozenset(
    {
        READY,
        CONTAINERS_READY,
        INITIALIZED,
        SCHEDULED,
        READY_TO_START,
        RESIZE_PENDING,
        RESIZE_IN_PROGRESS,
        RESTARTING,
    }
)
"""conditions that only this node sets; DisruptionTarget is shared with others"""
TIMED: Final = (CONTAINERS_READY, READY, INITIALIZED, READY_TO_START, SCHEDULED, DISRUPTION, RESTARTING)
"""those whose transition time is computed here; resize conditions bring theirs along"""

_TRUE: Final = "True"
_FALSE: Final = "False"


def find(conditions: Iterable[PodCondition], kind: str) -> PodCondition | None:
    """The condition of that type."""
    return next((c for c in conditions if c.type == kind), None)


def is_true(conditions: Iterable[PodCondition], kind: str) -> bool:
    """Whether it is there and True."""
    found = find(conditions, kind)
    return found is not None and found.status == _TRUE


def put(conditions: Iterable[PodCondition], new: PodCondition) -> list[PodCondition]:
    """The list with `new` in the place of the one of its type, or at its end."""
    listed = list(conditions)
    if find(listed, new.type) is None:
        return [*listed, new]
    return [new if c.type == new.type else c for c in listed]


def all_conditions(
    ctx: StatusContext, statuses: list[ContainerStatus], phase: str, *, restarting_all: bool | None
) -> list[PodCondition]:
    """Of init and regular `statuses`. `restarting_all` None: no rule of the pod can ask for that."""
    spec, generation = ctx.pod.spec, ctx.pod.metadata.generation
    conditions = [c for c in ctx.pod.status.conditions if c.type not in OWNED]
    if not ctx.stopped and phase not in TERMINAL:
        conditions += _resize(ctx)
    disruption = _disruption(ctx)
    if disruption is not None:
        conditions = put(conditions, disruption)
    was_initialized = is_true(ctx.last.conditions, INITIALIZED)
    own = [_sandbox(ctx), _initialized(spec, statuses, phase, was_initialized)]
    ready = containers_ready(spec, statuses, phase)
    own += [_ready(spec, conditions, ready), ready, PodCondition(type=SCHEDULED, status=_TRUE)]
    conditions += [replace(c, observed_generation=generation) for c in own]
    if restarting_all is not None:
        conditions.append(_restarting(phase, restarting_all))
    return conditions


def _disruption(ctx: StatusContext) -> PodCondition | None:
    """Set by an end for the node's sake, kept from then on."""
    if ctx.override is None or not ctx.override.disruption_message:
        return find(ctx.last.conditions, DISRUPTION)
    return PodCondition(
        type=DISRUPTION,
        status=_TRUE,
        reason="TerminationByKubelet",
        message=ctx.override.disruption_message,
        observed_generation=ctx.pod.metadata.generation,
    )


def _resize(ctx: StatusContext) -> Sequence[PodCondition]:
    if ctx.resize is not None:
        return ctx.resize
    kept = (find(ctx.last.conditions, kind) for kind in (RESIZE_PENDING, RESIZE_IN_PROGRESS))
    return [c for c in kept if c is not None]


def _sandbox(ctx: StatusContext) -> PodCondition:
    decision = sandbox_decision(ctx.pod, ctx.seen)
    if not decision.create:
        return PodCondition(type=READY_TO_START, status=_TRUE)
    return PodCondition(type=READY_TO_START, status=_FALSE, reason="PodSandboxNotReady", message=decision.message)


def _initialized(spec: PodSpec, statuses: list[ContainerStatus], phase: str, was: bool) -> PodCondition:
    if not statuses and spec.init_containers:
        return PodCondition(type=INITIALIZED, status=_FALSE, reason="UnknownContainerStatuses")
    by_name = {s.name: s for s in statuses}
    unknown = [c.name for c in spec.init_containers if c.name not in by_name]
    incomplete = [c.name for c in spec.init_containers if c.name in by_name and not _done(c, by_name[c.name])]
    if phase == SUCCEEDED and not unknown:
        return PodCondition(type=INITIALIZED, status=_TRUE, reason="PodCompleted")
    regular = [by_name[c.name] for c in spec.containers if c.name in by_name]
    begun = any(s.state.running is not None or s.state.terminated is not None for s in regular)
    message = _listed(("unknown", unknown), ("incomplete", incomplete))
    if not message or begun or was:
        return PodCondition(type=INITIALIZED, status=_TRUE)
    return PodCondition(type=INITIALIZED, status=_FALSE, reason="ContainersNotInitialized", message=message)


def _done(container: Container, status: ContainerStatus) -> bool:
    return bool(status.started) if is_restartable_init(container) else status.ready


def containers_ready(spec: PodSpec, statuses: list[ContainerStatus], phase: str) -> PodCondition:
    """All sidecars and regular containers are ready."""
    if not statuses:
        return _not_ready(CONTAINERS_READY, "UnknownContainerStatuses")
    by_name = {s.name: s for s in statuses}
    names = [c.name for c in spec.init_containers if is_restartable_init(c)] + [c.name for c in spec.containers]
    unknown = [n for n in names if n not in by_name]
    if phase == FAILED or (phase == SUCCEEDED and not unknown):
        return ended(CONTAINERS_READY, phase)
    unready = [n for n in names if n in by_name and not by_name[n].ready]
    message = _listed(("unknown", unknown), ("unready", unready))
    if message:
        return _not_ready(CONTAINERS_READY, "ContainersNotReady", message)
    return PodCondition(type=CONTAINERS_READY, status=_TRUE)


def ended(kind: str, phase: str) -> PodCondition:
    """Ready or ContainersReady of a pod that is over."""
    return _not_ready(kind, "PodCompleted" if phase == SUCCEEDED else "PodFailed")


def _ready(spec: PodSpec, conditions: list[PodCondition], containers: PodCondition) -> PodCondition:
    """Containers are ready, and so are the gates that others keep."""
    if containers.status != _TRUE:
        return replace(containers, type=READY)
    missing: list[str] = []
    for gate in spec.readiness_gates:
        found = find(conditions, gate.condition_type)
        if found is None:
            missing.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif found.status != _TRUE:
            text = f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {found.status}'
            missing.append(text)
    if missing:
        return _not_ready(READY, "ReadinessGatesNotReady", ", ".join(missing))
    return PodCondition(type=READY, status=_TRUE)


def _restarting(phase: str, under_way: bool) -> PodCondition:
    if under_way and phase not in TERMINAL:
        return PodCondition(
            type=RESTARTING,
            status=_TRUE,
            reason="RestartAllContainersStarted",
            message="container exited with restart policy rule",
        )
    if phase in TERMINAL:
        return ended(RESTARTING, phase)
    return PodCondition(type=RESTARTING, status=_FALSE)


def _not_ready(kind: str, reason: str, message: str | None = None) -> PodCondition:
    return PodCondition(type=kind, status=_FALSE, reason=reason, message=message)


def _listed(*groups: tuple[str, list[str]]) -> str:
    return ", ".join(f"containers with {what} status: [{' '.join(names)}]" for what, names in groups if names)
