"""Pods and candidates to test with."""

from typing import Any

import msgspec

from services.eviction.pressure.model import Amounts, Candidate, ContainerUse, PodUse
from shared.kube.types import Pod
from shared.messages.pod_sync import PodEntry, PodPhase

MI = 1 << 20


def container(name: str = "c", **resources: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": resources}


def pod(name: str, *containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
    """A pod with these containers. `spec` adds fields as the API spells them."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "annotations": annotations or {},
        },
        "spec": {"containers": list(containers) or [container()], **spec},
    }
    return msgspec.convert(body, Pod)


def using_memory(of: Pod, mib: int, **containers: int) -> Candidate:
    """Of that working set, and containers with theirs."""
    uses = tuple(ContainerUse(name, n * MI) for name, n in containers.items())
    return Candidate(of.metadata.uid, of, PodUse(memory_bytes=mib * MI, containers=uses))


def using_disk(
    of: Pod, *, layer: int = 0, logs: int = 0, volumes: dict[str, int] | None = None, inodes: int = 1
) -> Candidate:
    """MiB in one container `c` and in volumes, each with so many inodes."""
    use = PodUse(
        containers=(ContainerUse("c", None, Amounts(layer * MI, inodes), Amounts(logs * MI, inodes)),),
        volumes={name: Amounts(n * MI, inodes) for name, n in (volumes or {}).items()},
    )
    return Candidate(of.metadata.uid, of, use)


def entry(of: Pod, **fields: Any) -> PodEntry:
    """An active pod's row, with these fields changed."""
    return msgspec.structs.replace(PodEntry(pod=of, source="api", phase=PodPhase.SYNC), **fields)
