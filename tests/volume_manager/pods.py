"""Pods to test with."""

import msgspec

from shared.kube.types import Pod
from shared.messages.pleg import ContainerState, RuntimePod
from shared.messages.pod_sync import PodEntry, PodPhase


def pod(name: str, volumes: list[dict[str, object]], **spec: object) -> Pod:
    """A pod with one container that mounts every volume. `spec` adds fields as the API spells them."""
    mounts = [{"name": v["name"], "mountPath": f"/mnt/{v['name']}"} for v in volumes]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"volumes": volumes, "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], **spec},
    }
    return msgspec.convert(body, Pod)


def running(of: Pod) -> PodEntry:
    return PodEntry(pod=of, source="file", phase=PodPhase.SYNC)


def stopping(of: Pod) -> PodEntry:
    return PodEntry(pod=of, source="file", phase=PodPhase.TERMINATING)


def stopped(of: Pod) -> PodEntry:
    return PodEntry(pod=of, source="file", phase=PodPhase.TERMINATED, may_run=False, runtime_removable=True)


def finished(of: Pod) -> PodEntry:
    return PodEntry(
        pod=of,
        source="file",
        phase=PodPhase.FINISHED,
        may_run=False,
        runtime_removable=True,
        content_removable=True,
    )


def in_runtime(state: str) -> RuntimePod:
    """A pod of which the runtime has one container in that state."""
    container = ContainerState(id="c1", name="c", attempt=0, sandbox_id="s1", state=state)
    return RuntimePod(name="p", namespace="default", listed_at_mono=1.0, containers=[container])
