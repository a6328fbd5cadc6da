"""Metrics with upstream's names (`kubelet/metrics`)."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class ManagerMetrics:
    """What this daemon counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._groups = Histogram(
            "kubelet_cgroup_manager_duration_seconds",
            "Duration in seconds for cgroup manager operations. Broken down by method.",
            ("operation_type",),
            registry=registry,
        )
        self.cgroup_version = Gauge("kubelet_cgroup_version", "cgroup version on the hosts.", registry=registry)
        self.usage_seconds = Histogram(
            "octolet_usage_read_seconds", "Duration of one reading of all groups.", registry=registry
        )
        self.admissions = Counter(
            "octolet_admission_answers", "Pods that were granted or refused resources.", ("result",), registry=registry
        )

    def group_done(self, operation: str, seconds: float) -> None:
        """A group was made, updated or destroyed."""
        self._groups.labels(operation).observe(seconds)
