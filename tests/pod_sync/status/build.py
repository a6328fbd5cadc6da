"""Builders for pods, listings and statuses."""

from typing import Any

import msgspec

from services.pod_sync.status.core import compute_status
from services.pod_sync.status.model import StatusContext
from shared.kube.types import ContainerStatus, Pod, PodStatus
from shared.messages.pleg import ContainerState, RuntimePod, SandboxState

START = 1_700_000_000
"""seconds; 2023-11-14T22:13:20Z"""
T0 = "2023-11-14T22:13:20Z"
T1 = "2023-11-14T22:13:21Z"
RESTART_COUNT = "io.kubernetes.container.restartCount"


def container(name: str = "c", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": f"{name}-image", **fields}


def sidecar(name: str, **fields: Any) -> dict[str, Any]:
    return container(name, restartPolicy="Always", **fields)


def pod(
    *containers: dict[str, Any],
    init: list[dict[str, Any]] | None = None,
    policy: str = "Always",
    source: str | None = "api",
    status: dict[str, Any] | None = None,
    deleted: bool = False,
    generation: int | None = None,
    **spec: Any,
) -> Pod:
    metadata: dict[str, Any] = {"name": "web", "namespace": "default", "uid": "u1", "annotations": {}}
    if source is not None:
        metadata["annotations"]["kubernetes.io/config.source"] = source
    if deleted:
        metadata["deletionTimestamp"] = T0
    if generation is not None:
        metadata["generation"] = generation
    containers = containers or (container(),)
    spec = {"restartPolicy": policy, "containers": list(containers), "initContainers": init or [], **spec}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {"phase": "Pending"}}, Pod)


def instance(
    name: str = "c",
    state: str = "running",
    code: int = 0,
    *,
    number: int = 0,
    sandbox: str = "s0",
    count: int | None = None,
    **fields: Any,
) -> ContainerState:
    """Instance `number` of the container; its id is `<name>-<number>`."""
    made: dict[str, Any] = {
        "id": f"{name}-{number}",
        "name": name,
        "attempt": number,
        "sandbox_id": sandbox,
        "state": state,
        "exit_code": code,
        "image": f"{name}-image",
        "image_ref": f"sha256:{name}",
        "created_at_ns": START * 10**9 + number,
        "started_at_ns": START * 10**9 + 500 if state in ("running", "exited") else 0,
        "finished_at_ns": (START + 1) * 10**9 if state == "exited" else 0,
        "reason": ("Completed" if code == 0 else "Error") if state == "exited" else "",
        "annotations": {RESTART_COUNT: str(number if count is None else count)},
    }
    return ContainerState(**(made | fields))


def sandbox(
    number: int = 0, *, ready: bool = True, ips: list[str] | None = None, network_mode: int = 0
) -> SandboxState:
    return SandboxState(
        id=f"s{number}",
        name="web",
        namespace="default",
        attempt=number,
        ready=ready,
        created_at_ns=number,
        ips=["10.1.0.5"] if ips is None else ips,
        network_mode=network_mode,
    )


def listed(*instances: ContainerState, sandboxes: list[SandboxState] | None = None) -> RuntimePod:
    """A listing, newest first."""
    found = [sandbox()] if sandboxes is None else sandboxes
    return RuntimePod(name="web", namespace="default", listed_at_mono=1.0, sandboxes=found, containers=list(instances))


def status_of(subject: Pod, seen: RuntimePod | None, *, now: float = START, **context: Any) -> PodStatus:
    computed = compute_status(StatusContext(pod=subject, seen=seen, now=now, **context))
    assert not computed.refused
    return computed.status


def only(statuses: list[ContainerStatus], name: str) -> ContainerStatus:
    (found,) = [s for s in statuses if s.name == name]
    return found


def plain(value: Any) -> Any:
    """As decoded JSON."""
    return msgspec.to_builtins(value)


def terminated(code: int = 0, *, number: int = 0, name: str = "c", **fields: Any) -> dict[str, Any]:
    made = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": T0,
        "finishedAt": T1,
        "containerID": f"containerd://{name}-{number}",
    }
    return {"terminated": made | fields}


def waiting(reason: str | None = None, message: str | None = None) -> dict[str, Any]:
    return {"waiting": {k: v for k, v in (("reason", reason), ("message", message)) if v is not None}}


RUNNING = {"running": {"startedAt": T0}}


def old(*statuses: dict[str, Any], kind: str = "containerStatuses", **fields: Any) -> PodStatus:
    """A status published before, with these container statuses."""
    return msgspec.convert({"phase": "Running", kind: list(statuses), **fields}, PodStatus)


def was(name: str = "c", state: Any = None, *, number: int = 0, **fields: Any) -> dict[str, Any]:
    """One container status published before."""
    return {"name": name, "state": state or RUNNING, "containerID": f"containerd://{name}-{number}", **fields}
