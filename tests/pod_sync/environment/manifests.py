"""Pods for tests, written as users write them."""

from typing import Any

import msgspec

from services.pod_sync.environment.model import NodeFacts, PodContext
from shared.kube.types import Pod

UID = "6b1a6c39-7d5f-4a8a-9c5b-0d6a3f6f0b11"


def make_pod(spec: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    """A pod `web` in namespace `shop` with one container `app`, changed by API fields of spec and metadata."""
    manifest = {
        "metadata": {"name": "web", "namespace": "shop", "uid": UID, **metadata},
        "spec": {
            "enableServiceLinks": True,
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "containers": [make_container()],
            **(spec or {}),
        },
    }
    return msgspec.convert(manifest, Pod)


def make_container(**fields: Any) -> dict[str, Any]:
    """One container in API form with what the API defaults."""
    return {
        "name": "app",
        "image": "busybox:1.36",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **fields,
    }


def context(pod: Pod | None = None, **fields: Any) -> PodContext:
    """The pod with what a node would have made for it."""
    made = {"pod": pod or make_pod(), "pod_dir": f"/var/lib/kubelet/pods/{UID}", "ips": ("10.88.0.7",), **fields}
    return PodContext(**made)


NODE = NodeFacts(
    node_name="n1",
    node_ips=("192.0.2.10",),
    cluster_domain="cluster.local",
    cluster_dns=("10.96.0.10",),
    memory_capacity_bytes=8 << 30,
    allocatable={"cpu": "4", "memory": "7Gi", "ephemeral-storage": "50Gi"},
    hugepage_sizes_bytes=(2 << 20, 1 << 30),
)
