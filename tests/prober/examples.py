"""Pods to probe."""

import msgspec

from shared.kube.types import Container, Pod
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState
from shared.messages.pod_sync import PodEntry, PodPhase


def container(**fields: object) -> Container:
    """A container, fields spelled as the API does."""
    return msgspec.convert({"name": "c", "image": "i", **fields}, Container)


def pod(name: str = "p", *, inits: list[Container] | None = None, containers: list[Container] | None = None) -> Pod:
    whole = msgspec.convert(
        {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": {"containers": []}}, Pod
    )
    spec = msgspec.structs.replace(whole.spec, init_containers=inits or [], containers=containers or [])
    return msgspec.structs.replace(whole, spec=spec)


def entry(of: Pod, phase: PodPhase = PodPhase.SYNC, *, may_run: bool = True) -> PodEntry:
    return PodEntry(pod=of, source="api", phase=phase, may_run=may_run)


def in_runtime(
    container_id: str, state: str, started_at: float, name: str = "c", *, ip: str = "127.0.0.1"
) -> RuntimePod:
    """A pod with one sandbox and one container that started at that wall time."""
    at = int(started_at * 1e9)
    sandbox = SandboxState(id="s", name="p", namespace="default", attempt=0, ready=True, created_at_ns=at, ips=[ip])
    one = ContainerState(
        id=container_id, name=name, attempt=0, sandbox_id="s", state=state, created_at_ns=at, started_at_ns=at
    )
    return RuntimePod(name="p", namespace="default", listed_at_mono=1.0, sandboxes=[sandbox], containers=[one])
