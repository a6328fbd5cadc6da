"""What pleg counts and logs, with upstream's metric names (`kubelet/metrics`) where upstream has the metric."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge, Histogram
from structlog.typing import FilteringBoundLogger

from services.pleg.lifecycle import happened
from services.pleg.model import EVERYTHING
from shared.bus import OwnedTable
from shared.messages.pleg import RuntimePod

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""upstream's (the default buckets of Prometheus' Go library)"""
STATES = ("created", "running", "exited", "unknown")


class PlegMetrics:
    """The `Observer` of the relister, and what the other tasks count."""

    def __init__(self, registry: CollectorRegistry, table: OwnedTable[RuntimePod], log: FilteringBoundLogger) -> None:
        self._table = table
        self._log = log
        self._last_start: float | None = None
        self._baseline = False

        def histogram(name: str, text: str) -> Histogram:
            return Histogram(name, text, buckets=BUCKETS_S, registry=registry)

        self._duration = histogram("kubelet_pleg_relist_duration_seconds", "Time of one full relist.")
        self._interval = histogram("kubelet_pleg_relist_interval_seconds", "Gap between relists.")
        self._pod_duration = histogram("kubelet_pleg_pod_relist_duration_seconds", "Time of a single-pod relist.")
        self._last_seen = Gauge(
            "kubelet_pleg_last_seen_seconds", "Unix time of the last completed relist.", registry=registry
        )
        # Counts whose upstream names lack the `_total` that the library puts behind a Counter's.
        Gauge("kubelet_pleg_discard_events", "Always 0: changes are states, none is dropped.", registry=registry)
        self.event_latency = histogram(
            "kubelet_evented_pleg_connection_latency_seconds", "Delay between event creation and receipt."
        )
        self.event_connections = Gauge(
            "kubelet_evented_pleg_connection_success_count", "Event streams that held.", registry=registry
        )
        self.event_failures = Gauge(
            "kubelet_evented_pleg_connection_error_count", "Event streams that failed.", registry=registry
        )
        self.losing_support = Gauge(
            "kubelet_cri_losing_support",
            "Set when the runtime lacks calls that a future release requires.",
            ["version"],
            registry=registry,
        )
        pods = Gauge("kubelet_running_pods", "Pods with a ready sandbox.", registry=registry)
        pods.set_function(self._running_pods)
        containers = Gauge("kubelet_running_containers", "Containers by state.", ["container_state"], registry=registry)
        for state in STATES:
            containers.labels(state).set_function(self._containers_in(state))

    def relisted(self, only: str, started_mono: float, ended_mono: float) -> None:
        if only != EVERYTHING:
            self._pod_duration.observe(ended_mono - started_mono)
            return
        self._duration.observe(ended_mono - started_mono)
        if self._last_start is not None:
            self._interval.observe(started_mono - self._last_start)
        self._last_start = started_mono
        self._last_seen.set(time.time())
        self._baseline = True

    def row_changed(self, uid: str, old: RuntimePod | None, new: RuntimePod | None) -> None:
        """Logs what happened, except in the first listing: that shows what is, not what happened."""
        row = new or old
        if not self._baseline or row is None:
            return
        for event in happened(old, new):
            self._log.info(event.event, pod_uid=uid, pod=f"{row.namespace}/{row.name}", **event.fields)
        if new is not None and new.error and (old is None or old.error != new.error):
            self._log.warning("pod.inspection_failed", pod_uid=uid, pod=f"{row.namespace}/{row.name}", error=new.error)

    def _running_pods(self) -> float:
        return sum(any(s.ready for s in row.sandboxes) for _, row in self._table.items())

    def _containers_in(self, state: str) -> Callable[[], float]:
        return lambda: sum(c.state == state for _, row in self._table.items() for c in row.containers)
