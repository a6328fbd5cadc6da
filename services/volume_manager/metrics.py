"""Prometheus metrics under upstream's names (`kubelet/volumemanager/metrics`, `volume/util/metrics`)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client import Counter as CounterMetric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from services.volume_manager.model import VolumeKey

_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0)


class Metrics:
    """All of this daemon's metrics, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.operations = Histogram(
            "storage_operation_duration_seconds",
            "Volume operation latency.",
            ("volume_plugin", "operation_name", "status", "migrated"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.overall = Histogram(
            "volume_operation_total_seconds",
            "Time from first sight of a pod to all of its volumes being mounted.",
            ("plugin_name", "operation_name"),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.reconstructed = CounterMetric(
            "reconstruct_volume_operations", "Volumes found on disk after a restart.", registry=registry
        )
        self.reconstruct_errors = CounterMetric(
            "reconstruct_volume_operations_errors", "Of these, volumes of no known type.", registry=registry
        )
        self.force_cleaned = CounterMetric(
            "force_cleaned_failed_volume_operations", "Volumes of no known type that were unmounted.", registry=registry
        )
        self.force_clean_errors = CounterMetric(
            "force_cleaned_failed_volume_operation_errors", "Failures to do so.", registry=registry
        )
        self.orphans_cleaned = Gauge(
            "kubelet_orphan_pod_cleaned_volumes", "Orphan pods whose directory was removed.", registry=registry
        )
        self.orphan_errors = Gauge(
            "kubelet_orphan_pod_cleaned_volumes_errors",
            "Orphan pods whose directory could not be removed.",
            registry=registry,
        )
        self.usage_duration = Histogram(
            "kubelet_volume_metric_collection_duration_seconds",
            "Time to find out how much space a volume takes.",
            ("metric_source",),
            registry=registry,
        )


class VolumeCounts(Collector):
    """`volume_manager_total_volumes`, counted when it is asked for."""

    def __init__(self, actual: Callable[[], Iterable[VolumeKey]], desired: Callable[[], Iterable[VolumeKey]]) -> None:
        self._worlds = {"actual_state_of_world": actual, "desired_state_of_world": desired}

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "volume_manager_total_volumes", "Volumes by plugin and world.", labels=("plugin_name", "state")
        )
        for state, keys in self._worlds.items():
            for plugin, count in Counter(key.plugin for key in keys()).items():
                family.add_metric((plugin, state), count)
        yield family
