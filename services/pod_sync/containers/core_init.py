"""Init containers and sidecars: which are to be started or killed, and is the pod initialized?

They are walked from last to first, because finished ones may have been removed from the runtime: the last one that is
known says how far initialization came. Only instances in the current sandbox count. Source: upstream
`kuberuntime.computeInitContainerActions`.
"""

from dataclasses import dataclass, field

from services.pod_sync.containers.core_restart import matching_action, restarts_on_failure
from services.pod_sync.containers.hashing import definition_changed
from services.pod_sync.containers.model import Kill, Probes, Why
from shared.kube.pods import is_restartable_init
from shared.kube.types import Container, Pod
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.prober import ProbeOutcome


@dataclass(frozen=True)
class InitActions:
    """`initialized`: regular containers may be started. `kill_pod`: an init container failed for good."""

    initialized: bool
    to_start: tuple[str, ...] = ()
    to_kill: tuple[Kill, ...] = ()
    kill_pod: bool = False


@dataclass
class _Walk:
    """What the walk found so far. `settled`: everything before the current one has been done already."""

    pod: Pod
    probes: Probes
    initialized: bool
    settled: bool
    start: list[int] = field(default_factory=list)
    kill: list[Kill] = field(default_factory=list)
    kill_pod: bool = False


def compute_init_actions(pod: Pod, seen: RuntimePod, sandbox_id: str, probes: Probes) -> InitActions:
    """`sandbox_id` is the current, ready sandbox."""
    containers = pod.spec.init_containers
    if not containers:
        return InitActions(initialized=True)
    here = {c.name: c for c in reversed(seen.containers) if c.sandbox_id == sandbox_id}
    initialized = any(c.name in here for c in pod.spec.containers)
    walk = _Walk(pod, probes, initialized=initialized, settled=initialized)
    for index in range(len(containers) - 1, -1, -1):
        last = here.get(containers[index].name)
        if last is None:
            if walk.settled and is_restartable_init(containers[index]):
                walk.start.append(index)
            continue
        if walk.settled and not is_restartable_init(containers[index]):
            continue
        _look_at(walk, index, last)
        if walk.kill_pod:
            return InitActions(initialized=False, to_kill=tuple(walk.kill), kill_pod=True)
        walk.settled = True
    if not walk.settled:
        walk.start.append(0)
    names = tuple(containers[index].name for index in sorted(set(walk.start)))
    return InitActions(walk.initialized, names, tuple(walk.kill))


def _look_at(walk: _Walk, index: int, last: ContainerState) -> None:
    container = walk.pod.spec.init_containers[index]
    sidecar = is_restartable_init(container)
    match last.state:
        case "created":
            walk.start.append(index)  # made and started in one go: the runtime failed to start it
        case "running":
            if sidecar:
                _look_at_running_sidecar(walk, index, last)
        case "exited" if sidecar:
            walk.start.append(index)
        case "exited":
            if _failed(last):
                _restart_or_give_up(walk, index, last.exit_code)
            else:
                _go_on_after(walk, index)
        case _:
            if not sidecar and not restarts_on_failure(walk.pod, container):
                walk.kill_pod = True
                return
            message = 'Init container is in "unknown" state, try killing it before restart'
            walk.kill.append(Kill(last.id, container.name, message, Why.UNKNOWN_STATE))
            walk.start.append(index)


def _look_at_running_sidecar(walk: _Walk, index: int, last: ContainerState) -> None:
    container = walk.pod.spec.init_containers[index]
    results = walk.probes.get(last.id)
    if container.startup_probe is not None:
        startup = results.startup if results is not None else None
        if startup is ProbeOutcome.FAILURE:
            message = f"Init container {container.name} failed startup probe"
            _kill_and_start(walk, index, Kill(last.id, container.name, message, Why.STARTUP_PROBE))
        if startup is not ProbeOutcome.SUCCESS:
            return
    _go_on_after(walk, index)
    if _changed(container, last):
        message = f"Init container {container.name} definition changed"
        _kill_and_start(walk, index, Kill(last.id, container.name, message))
        return
    if container.liveness_probe is not None and results is not None and results.liveness is ProbeOutcome.FAILURE:
        message = f"Init container {container.name} failed liveness probe"
        _kill_and_start(walk, index, Kill(last.id, container.name, message, Why.LIVENESS_PROBE))


def _go_on_after(walk: _Walk, index: int) -> None:
    """Init container `index` is done (or, a sidecar, has started): the next one may start, if it is not past it."""
    if index == len(walk.pod.spec.init_containers) - 1:
        walk.initialized = True
    elif not walk.settled:
        walk.start.append(index + 1)


def _restart_or_give_up(walk: _Walk, index: int, exit_code: int) -> None:
    container = walk.pod.spec.init_containers[index]
    ruled = container.restart_policy is not None and matching_action(container, exit_code) is not None
    if ruled or restarts_on_failure(walk.pod, container):
        walk.start.append(index)
    else:
        walk.kill_pod = True


def _kill_and_start(walk: _Walk, index: int, kill: Kill) -> None:
    walk.kill.append(kill)
    walk.start.append(index)


def _failed(last: ContainerState) -> bool:
    return last.exit_code != 0 or last.reason == "OOMKilled"


def _changed(container: Container, last: ContainerState) -> bool:
    return definition_changed(container.name, container.image, last.annotations)
