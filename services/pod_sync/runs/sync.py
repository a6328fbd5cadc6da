"""One sync: bring a pod that may run to what its spec says. Source: upstream `kubelet.SyncPod`."""

import asyncio

from services.pod_sync.containers.core import compute_pod_actions
from services.pod_sync.ports import StatusInputs, Waited
from services.pod_sync.runs.acting import PlanRun
from services.pod_sync.runs.parts import ActClock, Parts
from services.pod_sync.runtime.model import NORMAL, WARNING
from services.pod_sync.status import deadline
from services.pod_sync.status.conditions import RESTARTING, is_true
from services.pod_sync.status.deadline import past_deadline
from services.pod_sync.workers.dispatcher import RunResult
from services.pod_sync.workers.model import Cancelled, Done, Failed, NetworkNotReady
from shared.errors import OctoletError
from shared.kube.pods import host_network
from shared.kube.types import Pod
from shared.messages.container_manager import PodCgroupPhase

TERMINAL = frozenset({"Failed", "Succeeded"})


async def sync_pod(parts: Parts, pod: Pod, cancel: asyncio.Event) -> RunResult:
    """Status first, then what must be ready, then the plan."""
    uid = pod.metadata.uid
    event = parts.events_of(pod)
    seen = parts.observations.latest(uid).pod
    if seen is not None and seen.error:
        event(None, WARNING, "FailedSync", f"error determining status: {seen.error}")
        return RunResult(Failed())
    status = await parts.statuses.update(uid, StatusInputs(pod=pod, seen=seen))
    if status.phase in TERMINAL:
        if past_deadline(pod, status, now=parts.wall()):
            event(None, NORMAL, deadline.REASON, deadline.MESSAGE)
        return RunResult(Done(terminal=True))
    network_error = parts.peers.network_error()
    if network_error is not None and not host_network(pod):
        event(None, WARNING, "NetworkNotReady", f"network is not ready: {network_error}")
        return RunResult(NetworkNotReady())
    resetting = is_true(status.conditions, RESTARTING)
    if compute_pod_actions(pod, seen, parts.peers.probes(), resetting=resetting).nothing:
        return RunResult(Done())
    waited = await _wait_ready(parts, pod, cancel)
    if waited is not None:
        return waited
    seen = parts.observations.latest(uid).pod  # the wait may have been long
    clock = ActClock(parts.now)
    plan = compute_pod_actions(pod, seen, parts.peers.probes(), resetting=resetting)
    outcome = await PlanRun(parts, pod, seen, cancel, clock).run(plan)
    if not isinstance(outcome, Done | Cancelled):
        await _show_failure(parts, pod, acted=clock.acted_mono is not None)
    return RunResult(outcome, clock.acted_mono)


async def _show_failure(parts: Parts, pod: Pod, *, acted: bool) -> None:
    """The next run may be long in coming: say now why containers wait, and show what was started beside them.

    Not on a listing from before the acts: it would take back what was said of them.
    """
    uid = pod.metadata.uid
    if not acted or await parts.observations.relist(uid):
        await parts.statuses.update(uid, StatusInputs(pod=pod, seen=parts.observations.latest(uid).pod))


async def _wait_ready(parts: Parts, pod: Pod, cancel: asyncio.Event) -> RunResult | None:
    """Wait for the pod's group and volumes; a result when the run cannot go on."""
    uid = pod.metadata.uid
    event = parts.events_of(pod)
    waited = await parts.peers.wait_resources(uid, cancel)
    if waited is not Waited.DONE:
        return RunResult(Cancelled())
    resources = parts.peers.resources(uid)
    if resources is not None and resources.phase is PodCgroupPhase.FAILED:
        error = await _prepare_again(parts, pod)
        if error is not None:
            text = f"unable to ensure pod container exists: {error}"
            event(None, WARNING, "FailedCreatePodContainer", text)
            return RunResult(Failed())
    waited = await parts.peers.wait_volumes(uid, cancel, parts.volumes_timeout_s)
    match waited:
        case Waited.DONE:
            return None
        case Waited.CANCELLED:
            return RunResult(Cancelled())
        case Waited.TIMED_OUT:  # what is wrong with which volume, volume_manager's own events say
            return RunResult(Failed())


async def _prepare_again(parts: Parts, pod: Pod) -> str | None:
    """What kept the pod's group from being made may be over. The error if it is not."""
    try:
        resources = await parts.peers.prepare(pod)
    except OctoletError as error:
        return str(error)
    return resources.error if resources.phase is PodCgroupPhase.FAILED else None
