"""Prometheus metrics under upstream's names (`kubelet/prober`)."""

import contextlib

from prometheus_client import CollectorRegistry, Counter, Histogram

from services.prober.model import Verdict
from services.prober.pods import Wanted
from services.prober.ports import Finding

_RESULTS = {
    Verdict.SUCCESS: "successful",
    Verdict.WARNING: "successful",
    Verdict.FAILURE: "failed",
    Verdict.UNKNOWN: "unknown",
}


class Metrics:
    """Counted per worker; a worker's series end with it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._total = Counter(
            "prober_probe_total",
            "Probes by kind and result.",
            ("probe_type", "result", "container", "pod", "namespace", "pod_uid"),
            registry=registry,
        )
        self._duration = Histogram(
            "prober_probe_duration_seconds",
            "How long probes took.",
            ("probe_type", "container", "pod", "namespace"),
            registry=registry,
        )

    def probed(self, worker: Wanted, finding: Finding, duration_s: float) -> None:
        meta = worker.pod.metadata
        verdict = Verdict.UNKNOWN if finding.error else finding.verdict
        self._total.labels(
            worker.key.kind.words,
            _RESULTS[verdict],
            worker.key.container,
            meta.name,
            meta.namespace,
            worker.key.pod_uid,
        ).inc()
        if verdict is not Verdict.FAILURE:
            self._duration.labels(worker.key.kind.words, worker.key.container, meta.name, meta.namespace).observe(
                duration_s
            )

    def ended(self, worker: Wanted) -> None:
        meta = worker.pod.metadata
        kind, container = worker.key.kind.words, worker.key.container
        for result in set(_RESULTS.values()):
            with contextlib.suppress(KeyError):
                self._total.remove(kind, result, container, meta.name, meta.namespace, worker.key.pod_uid)
        with contextlib.suppress(KeyError):
            self._duration.remove(kind, container, meta.name, meta.namespace)
