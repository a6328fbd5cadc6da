"""The last run: wait until nothing of the pod is left on the node. Source: upstream `SyncTerminatedPod`."""

from services.pod_sync.runs.parts import Parts
from services.pod_sync.workers.dispatcher import RunResult
from services.pod_sync.workers.model import Done
from shared.kube.types import Pod


async def finish_pod(parts: Parts, pod: Pod) -> RunResult:
    """Containers stay, so that their logs can be read, until they are collected."""
    uid = pod.metadata.uid
    await parts.peers.wait_unmounted(uid)
    await parts.peers.wait_released(uid)
    parts.statuses.finish(uid, pod)
    return RunResult(Done())
