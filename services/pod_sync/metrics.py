"""Prometheus metrics under upstream's names (`kubelet/metrics`)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client import Counter as CounterMetric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from services.pod_sync.intake import Intake
from services.pod_sync.watch import Watch
from services.pod_sync.workers.answers import may_run
from services.pod_sync.workers.model import Asked, Finished, Terminated, Terminating, Worker
from services.pod_sync.workers.pool import Pool
from shared.kube.pods import is_mirror, is_static
from shared.kube.types import Pod

_SHORT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LONG: Final = (
    0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
)  # fmt: skip
_KNOWN_REASONS: Final = frozenset(
    {
        "AppArmor",
        "DiskPressure",
        "Evicted",
        "InvalidNodeInfo",
        "MemoryPressure",
        "NodeShutdown",
        "OutOfcpu",
        "OutOfephemeral-storage",
        "OutOfmemory",
        "OutOfpods",
        "PIDPressure",
        "PodFeatureUnsupported",
        "PodLevelResourcesNotSupported",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SupplementalGroupsPolicyNotSupported",
        "SysctlForbidden",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "UnexpectedPredicateFailureType",
        "UnknownReason",
        "VolumeAttachmentLimitExceeded",
    }
)
"""reasons that are labels of their own (upstream `kubelet.recordAdmissionRejection`)"""


class PodSyncMetrics(Watch):
    """All of this daemon's metrics, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(
            name: str, text: str, labels: tuple[str, ...] = (), buckets: tuple[float, ...] = _SHORT
        ) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        def counter(name: str, text: str, labels: tuple[str, ...] = ()) -> CounterMetric:
            return CounterMetric(name, text, labels, registry=registry)

        self._run = histogram(
            "kubelet_pod_worker_duration_seconds", "Time of one run of a pod worker.", ("operation_type",)
        )
        self._begin = histogram(
            "kubelet_pod_worker_start_duration_seconds", "From seeing a pod to its worker's first run."
        )
        self._running = histogram(
            "kubelet_pod_start_duration_seconds", "From first sight of a pod to it running.", buckets=_LONG
        )
        self._sandbox = histogram(
            "kubelet_run_podsandbox_duration_seconds", "Time to make a sandbox.", ("runtime_handler",)
        )
        self._sandbox_errors = counter(
            "kubelet_run_podsandbox_errors", "Sandboxes that could not be made.", ("runtime_handler",)
        )
        self._pods = counter("kubelet_started_pods", "Pod starts.")
        self._pod_errors = counter("kubelet_started_pods_errors", "Failed pod starts.")
        self._containers = counter("kubelet_started_containers", "Container starts.", ("container_type",))
        self._container_errors = counter(
            "kubelet_started_containers_errors", "Failed container starts.", ("container_type", "code")
        )
        self._sizes = histogram("kubelet_containers_per_pod_count", "Containers per pod.", buckets=(1, 2, 4, 8, 16))
        self._rejections = counter("kubelet_admission_rejections", "Pods that were not admitted.", ("reason",))
        self._orphans = counter("kubelet_orphaned_runtime_pods", "Pods in the runtime that nobody knew.")
        self._restarted = counter("kubelet_restarted_pods", "Pods that came again with the same UID.", ("static",))

    def run_ended(self, operation: str, duration_s: float) -> None:
        self._run.labels(operation).observe(duration_s)

    def worker_began(self, after_s: float) -> None:
        self._begin.observe(after_s)

    def pod_running(self, after_s: float) -> None:
        self._running.observe(after_s)

    def sandbox_made(self, handler: str, duration_s: float) -> None:
        self._pods.inc()
        self._sandbox.labels(handler).observe(duration_s)

    def sandbox_failed(self, handler: str) -> None:
        self._pods.inc()
        self._pod_errors.inc()
        self._sandbox_errors.labels(handler).inc()

    def container_started(self, kind: str) -> None:
        self._containers.labels(kind).inc()

    def container_failed(self, kind: str, reason: str) -> None:
        self._containers.labels(kind).inc()
        self._container_errors.labels(kind, reason).inc()

    def admitted(self, containers: int) -> None:
        self._sizes.observe(containers)

    def rejected(self, reason: str) -> None:
        self._rejections.labels(rejection_label(reason)).inc()

    def orphan_found(self) -> None:
        self._orphans.inc()

    def pod_restarted(self, *, static: bool) -> None:
        self._restarted.labels("true" if static else "").inc()


def rejection_label(reason: str) -> str:
    """A bounded set: reasons that are not known are one, extended resources another."""
    if reason in _KNOWN_REASONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"


class PodCounts(Collector):
    """How many pods there are, counted when asked."""

    def __init__(self, intake: Intake, pool: Pool) -> None:
        self._intake = intake
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        desired, workers = self._intake.desired, self._pool.workers
        yield _by_static("kubelet_desired_pods", "Pods that sources have.", desired.values())
        active = [w.pod for w in workers.values() if w.pod is not None and may_run(w)]
        yield _by_static("kubelet_active_pods", "Pods that count as active.", active)
        mirrors = GaugeMetricFamily("kubelet_mirror_pods", "Mirror pods.")
        mirrors.add_metric([], sum(is_mirror(pod) for pod in desired.values()))
        yield mirrors
        yield _working(workers, desired)


def _by_static(name: str, text: str, pods: Iterable[Pod]) -> GaugeMetricFamily:
    counts = Counter("true" if is_static(pod) else "" for pod in pods)
    family = GaugeMetricFamily(name, text, labels=["static"])
    for label in ("", "true"):
        family.add_metric([label], counts[label])
    return family


def _working(workers: Mapping[str, Worker], desired: Mapping[str, Pod]) -> GaugeMetricFamily:
    family = GaugeMetricFamily("kubelet_working_pods", "Pods with a worker.", labels=["lifecycle", "config", "static"])
    counts = Counter((_lifecycle(w), _config(w, desired), _static(w)) for w in workers.values())
    for labels in counts.keys() | {("sync", "desired", ""), ("sync", "desired", "true")}:
        family.add_metric(list(labels), counts[labels])
    return family


def _lifecycle(worker: Worker) -> str:
    match worker.life:
        case Asked() | Terminating():
            return "terminating"
        case Terminated() | Finished():
            return "terminated"
        case _:
            return "sync"


def _config(worker: Worker, desired: Mapping[str, Pod]) -> str:
    if worker.pod is None:
        return "runtime_only"
    return "desired" if worker.uid in desired else "orphan"


def _static(worker: Worker) -> str:
    return "unknown" if worker.pod is None else ("true" if worker.static else "")
