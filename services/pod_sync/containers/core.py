"""The plan of one sync. Source: upstream `kuberuntime.computePodActions`.

The caller guarantees that `seen` was listed after the end of its own last action; otherwise a container that was just
started would be planned again.
"""

from dataclasses import replace as _replace

from services.pod_sync.containers.core_init import compute_init_actions
from services.pod_sync.containers.core_reset import plan_reset
from services.pod_sync.containers.core_restart import (
    newest,
    restarts_on_failure,
    should_restart,
    succeeded_for_good,
)
from services.pod_sync.containers.core_sandbox import sandbox_decision
from services.pod_sync.containers.hashing import definition_changed
from services.pod_sync.containers.model import Kill, PodActions, Probes, SandboxDecision, Why
from shared.kube.types import Container, Pod
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.prober import ProbeOutcome


def compute_pod_actions(pod: Pod, seen: RuntimePod | None, probes: Probes, *, resetting: bool = False) -> PodActions:
    """What this pod needs now. An empty plan means that it is as it should be.

    `resetting`: its condition AllContainersRestarting is true.
    """
    decision = sandbox_decision(pod, seen)
    if decision.create or seen is None:
        return _with_new_sandbox(pod, seen, decision)
    base = PodActions(sandbox_id=decision.sandbox_id, attempt=decision.attempt)
    if resetting and (reset := plan_reset(pod, seen, base)) is not None:
        return reset
    ephemeral = tuple(c.name for c in pod.spec.ephemeral_containers if newest(seen, c.name) is None)
    init = compute_init_actions(pod, seen, decision.sandbox_id, probes)
    if init.kill_pod or not init.initialized:
        return _replace(
            base,
            kill_pod=init.kill_pod,
            to_kill=init.to_kill,
            ephemeral_to_start=ephemeral,
            init_to_start=init.to_start,
        )
    start: list[str] = []
    kill: list[Kill] = list(init.to_kill)
    kept = 0
    for container in pod.spec.containers:
        last = newest(seen, container.name)
        if last is None or last.state != "running":
            if should_restart(pod, container, last):
                start.append(container.name)
                kill += _kill_unknown(last)
            continue
        order, restart = _why_kill(pod, container, last, probes)
        if order is None:
            kept += 1
            continue
        kill.append(order)
        if restart:
            start.append(container.name)
    over = kept == 0 and not start
    return _replace(
        base,
        kill_pod=over,
        to_kill=tuple(kill),
        ephemeral_to_start=ephemeral,
        init_to_start=() if over else init.to_start,
        to_start=tuple(start),
    )


def prunable_init_instances(pod: Pod, seen: RuntimePod | None) -> tuple[str, ...]:
    """Ids of dead init container instances to remove before init containers are started: all but the newest of a name."""
    return _dead_init_instances(pod, seen, keep=1)


def all_init_instances(pod: Pod, seen: RuntimePod | None) -> tuple[str, ...]:
    """Ids of all init container instances: they are removed, with their logs, when a new sandbox is made."""
    names = {c.name for c in pod.spec.init_containers}
    return tuple(c.id for c in seen.containers if c.name in names) if seen is not None else ()


def _with_new_sandbox(pod: Pod, seen: RuntimePod | None, decision: SandboxDecision) -> PodActions:
    only_kill = PodActions(kill_pod=True, sandbox_id=decision.sandbox_id, attempt=decision.attempt)
    has_run = seen is not None and any(c.state != "created" for c in seen.containers)
    if not restarts_on_failure(pod) and decision.attempt != 0 and has_run:
        return only_kill
    start = [c for c in pod.spec.containers if not succeeded_for_good(pod, c, newest(seen, c.name))]
    if not start and any(newest(seen, c.name) is not None for c in pod.spec.containers):
        return only_kill
    first = pod.spec.init_containers[:1]
    return _replace(
        only_kill,
        create_sandbox=True,
        sandbox_changed=decision.sandbox_id != "",
        init_to_start=tuple(c.name for c in first),
        to_start=() if first else tuple(c.name for c in start),
    )


def _why_kill(pod: Pod, container: Container, last: ContainerState, probes: Probes) -> tuple[Kill | None, bool]:
    """Why this running container must go, if it must, and whether it is started anew."""
    results = probes.get(last.id)
    restart = restarts_on_failure(pod, container)
    why = Why.OTHER
    if definition_changed(container.name, container.image, last.annotations):
        message, restart = f"Container {container.name} definition changed", True
    elif results is not None and results.liveness is ProbeOutcome.FAILURE:
        message, why = f"Container {container.name} failed liveness probe", Why.LIVENESS_PROBE
    elif results is not None and results.startup is ProbeOutcome.FAILURE:
        message, why = f"Container {container.name} failed startup probe", Why.STARTUP_PROBE
    else:
        return None, False
    if restart:
        message += ", will be restarted"
    return Kill(last.id, container.name, message, why), restart


def _kill_unknown(last: ContainerState | None) -> list[Kill]:
    if last is None or last.state != "unknown":
        return []
    message = 'Container is in "unknown" state, try killing it before restart'
    return [Kill(last.id, last.name, message, Why.UNKNOWN_STATE)]


def _dead_init_instances(pod: Pod, seen: RuntimePod | None, *, keep: int) -> tuple[str, ...]:
    names = {c.name for c in pod.spec.init_containers}
    kept: dict[str, int] = {}
    out: list[str] = []
    for instance in seen.containers if seen is not None else []:
        if instance.name not in names or instance.state not in ("exited", "unknown"):
            continue
        kept[instance.name] = kept.get(instance.name, 0) + 1
        if kept[instance.name] > keep:
            out.append(instance.id)
    return tuple(out)
