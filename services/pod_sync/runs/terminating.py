"""The end of a pod: stop what runs, free what it held. Source: upstream `SyncTerminatingPod`, `SyncTerminatingRuntimePod`."""

from services.pod_sync.ports import StatusInputs
from services.pod_sync.runs.parts import ActClock, Parts
from services.pod_sync.runtime.model import WARNING, EventSink, KillOrder, KillTarget
from services.pod_sync.runtime.ordering import TerminationOrder
from services.pod_sync.workers.dispatcher import RunResult
from services.pod_sync.workers.model import Done, Failed, StatusOverride
from shared.errors import OctoletError
from shared.kube.types import Pod
from shared.messages.pleg import ContainerState, RuntimePod


async def terminate_pod(parts: Parts, pod: Pod, *, grace_s: int | None, override: StatusOverride | None) -> RunResult:
    """Stop every container and sandbox of the pod within its grace, then say that they have stopped.

    May be cancelled and done again with less grace; a preStop hook that ended is not run twice.
    """
    uid = pod.metadata.uid
    event = parts.events_of(pod)
    clock = ActClock(parts.now)
    seen = parts.observations.latest(uid).pod
    if (unseen := _error(seen)) is not None:
        event(None, WARNING, "FailedSync", f"error determining status: {unseen}")
        return RunResult(Failed())
    await parts.statuses.update(uid, StatusInputs(pod=pod, seen=seen, override=override))
    order = KillOrder(
        grace_s=grace_s,
        skip_pre_stop=parts.progress.pre_stop_ended(uid),
        pre_stop_ended=lambda container_id: parts.progress.note_pre_stop(uid, container_id),
    )
    try:
        await _stop(parts, seen, pod, order=order, event=event, clock=clock)
    except OctoletError as error:
        event(None, WARNING, "FailedKillPod", f"error killing pod: {error}")
        return RunResult(Failed(), clock.acted_mono)
    after = (await parts.observations.after(uid, clock.acted_mono or 0.0)).pod
    if (unseen := _error(after)) is not None:
        event(None, WARNING, "FailedSync", f"error determining status: {unseen}")
        return RunResult(Failed(), clock.acted_mono)
    left = _running(after)
    if left:
        names = " ".join(c.name for c in left)
        text = f"detected running containers after a successful KillPod, CRI violation: [{names}]"
        parts.log.error("pod.stopped_in_vain", pod_uid=uid, error=text)
        return RunResult(Failed(), clock.acted_mono)
    try:
        await parts.peers.unprepare(uid)
    except OctoletError as error:
        parts.log.warning("pod.act_failed", pod_uid=uid, act="free devices and claims", error=str(error))
        return RunResult(Failed(), clock.acted_mono)
    await parts.statuses.update(uid, StatusInputs(pod=pod, seen=after, stopped=True, override=override))
    return RunResult(Done(), clock.acted_mono)


async def terminate_runtime_pod(parts: Parts, uid: str, *, grace_s: int | None) -> RunResult:
    """Stop a pod that only the runtime knows: no hooks, no status."""
    clock = ActClock(parts.now)
    seen = parts.observations.latest(uid).pod
    if _error(seen) is not None:
        return RunResult(Failed())
    skip = frozenset(c.id for c in _running(seen))
    order = KillOrder(grace_s=grace_s, skip_pre_stop=skip)
    try:
        await _stop(parts, seen, None, order=order, event=_nowhere, clock=clock)
    except OctoletError as error:
        parts.log.warning("pod.act_failed", pod_uid=uid, act="stop unknown pod", error=str(error))
        return RunResult(Failed(), clock.acted_mono)
    after = (await parts.observations.after(uid, clock.acted_mono or 0.0)).pod
    stopped = _error(after) is None and not _running(after)
    return RunResult(Done() if stopped else Failed(), clock.acted_mono)


async def _stop(
    parts: Parts, seen: RuntimePod | None, pod: Pod | None, *, order: KillOrder, event: EventSink, clock: ActClock
) -> None:
    """Containers side by side (sidecars last), then every sandbox."""
    if seen is None:
        return
    running = _running(seen)
    if running:
        turns = TerminationOrder.of(pod, [c.name for c in running]) if pod is not None else None
        targets = [KillTarget.of(c, pod) for c in running]
        await parts.runtime.kill_containers(targets, order, event=event, turns=turns)
        clock.acted()
    for sandbox in seen.sandboxes:
        if sandbox.ready or running:
            await parts.runtime.stop_sandbox(sandbox.id)
            clock.acted()


def _error(seen: RuntimePod | None) -> str | None:
    """Why the pod could not be inspected: what is said of its containers may then be old, or nothing."""
    return seen.error if seen is not None and seen.error else None


def _running(seen: RuntimePod | None) -> list[ContainerState]:
    return [c for c in seen.containers if c.state == "running"] if seen is not None else []


def _nowhere(container: str | None, type: str, reason: str, message: str) -> None:
    """Nobody knows the pod, so nobody is told."""
