"""Metrics with upstream's names (`kubelet/metrics`)."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class EvictionMetrics:
    """What this daemon counts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # A count whose upstream name lacks the `_total` that the library puts behind a Counter's.
        self.evictions = Gauge(
            "kubelet_evictions",
            "Cumulative number of pod evictions by eviction signal",
            ("eviction_signal",),
            registry=registry,
        )
        self.stats_age = Histogram(
            "kubelet_eviction_stats_age_seconds",
            "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal",
            ("eviction_signal",),
            registry=registry,
        )
        self.images_removed = Counter(
            "kubelet_image_garbage_collected",
            "Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
            ("reason",),
            registry=registry,
        )
        self.removed = Counter(
            "octolet_garbage_removed",
            "What was thrown away: containers, sandboxes, log folders.",
            ("kind",),
            registry=registry,
        )
        self.rotations = Counter("octolet_log_rotations", "Container logs that were rotated.", registry=registry)
