"""Metrics of calls to the runtime, with upstream's names (`kubelet/metrics`)."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from shared.rpc.errors import RpcError

OPERATIONS = {
    "RunPodSandbox": "run_podsandbox",
    "StopPodSandbox": "stop_podsandbox",
    "RemovePodSandbox": "remove_podsandbox",
    "PodSandboxStatus": "podsandbox_status",
    "ListPodSandbox": "list_podsandbox",
    "StreamPodSandboxes": "list_podsandbox",
    "CreateContainer": "create_container",
    "StartContainer": "start_container",
    "StopContainer": "stop_container",
    "RemoveContainer": "remove_container",
    "ListContainers": "list_containers",
    "StreamContainers": "list_containers",
    "ContainerStatus": "container_status",
    "UpdateContainerResources": "update_container",
    "ReopenContainerLog": "reopen_container_log",
    "ExecSync": "exec_sync",
    "Exec": "exec",
    "Attach": "attach",
    "PortForward": "port_forward",
    "ContainerStats": "container_stats",
    "ListContainerStats": "list_container_stats",
    "StreamContainerStats": "list_container_stats",
    "PodSandboxStats": "podsandbox_stats",
    "ListPodSandboxStats": "list_podsandbox_stats",
    "StreamPodSandboxStats": "list_podsandbox_stats",
    "UpdateRuntimeConfig": "update_runtime_config",
    "Status": "status",
    "Version": "version",
    "CheckpointContainer": "checkpoint_container",
    "CheckpointPod": "checkpoint_pod",
    "RestorePod": "restore_pod",
    "GetContainerEvents": "get_container_events",
    "ListMetricDescriptors": "list_metric_descriptors",
    "ListPodSandboxMetrics": "list_podsandbox_metrics",
    "StreamPodSandboxMetrics": "list_podsandbox_metrics",
    "RuntimeConfig": "runtime_config",
    "UpdatePodSandboxResources": "update_podsandbox_resources",
    "ListImages": "list_images",
    "StreamImages": "list_images",
    "ImageStatus": "image_status",
    "PullImage": "pull_image",
    "RemoveImage": "remove_image",
    "ImageFsInfo": "image_fs_info",
}
"""Each rpc and its label `operation_type`. Listings in parts count as the listing."""

BUCKETS_S = tuple(0.005 * 2.5**step for step in range(14))
"""5 ms to 12 min (upstream: exponential, factor 2.5)."""


class RuntimeMetrics:
    """An observer for `RuntimeClient`. Every failure counts as an error, NotFound too, as upstream."""

    def __init__(self, registry: CollectorRegistry) -> None:
        label = ["operation_type"]
        self._total = Counter("kubelet_runtime_operations", "CRI calls by operation.", label, registry=registry)
        self._errors = Counter(
            "kubelet_runtime_operations_errors", "Failed CRI calls by operation.", label, registry=registry
        )
        self._seconds = Histogram(
            "kubelet_runtime_operations_duration_seconds",
            "CRI call latency by operation.",
            label,
            buckets=BUCKETS_S,
            registry=registry,
        )

    def __call__(self, rpc: str, seconds: float, error: RpcError | None) -> None:
        operation = OPERATIONS[rpc]
        self._total.labels(operation).inc()
        self._seconds.labels(operation).observe(seconds)
        if error is not None:
            self._errors.labels(operation).inc()
