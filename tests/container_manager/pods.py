"""Pods to test with."""

from typing import Any

import msgspec

from shared.kube.types import Pod
from shared.messages.pod_sync import PodEntry, PodPhase


def container(name: str = "c", **resources: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": resources}


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> Pod:
    """A pod with these containers (one without resources by default). `spec` adds fields as the API spells them."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": list(containers) or [container()], **spec},
    }
    return msgspec.convert(body, Pod)


def guaranteed(name: str, cpu: str = "500m", memory: str = "64Mi") -> Pod:
    amounts = {"cpu": cpu, "memory": memory}
    return pod(name, container(requests=amounts, limits=amounts))


def burstable(name: str, cpu: str = "250m") -> Pod:
    return pod(name, container(requests={"cpu": cpu}))


def running(of: Pod) -> PodEntry:
    return PodEntry(pod=of, source="file", phase=PodPhase.SYNC)


def terminating(of: Pod) -> PodEntry:
    return PodEntry(pod=of, source="file", phase=PodPhase.TERMINATING)


def stopped(of: Pod) -> PodEntry:
    return PodEntry(pod=of, source="file", phase=PodPhase.TERMINATED, may_run=False, runtime_removable=True)


def rejected(of: Pod) -> PodEntry:
    return PodEntry(
        pod=of, source="api", phase=PodPhase.FINISHED, may_run=False, runtime_removable=True, admitted=False
    )


def runtime_only(uid: str) -> PodEntry:
    body = {"metadata": {"name": uid, "namespace": "default", "uid": uid}}
    return PodEntry(pod=msgspec.convert(body, Pod), source="runtime", phase=PodPhase.TERMINATING)
