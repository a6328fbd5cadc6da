"""Metrics that every daemon has: log events, the bus, the process itself; all labelled with the service."""

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from shared.bus.stats import BusStats
from shared.telemetry.log import event_counts

PREFIX: Final = "octolet"


class ServiceCollector(Collector):
    """What the scaffold counts for one daemon."""

    def __init__(self, service: str, stats: BusStats) -> None:
        self._service = service
        self._stats = stats
        self._process = ProcessCollector(namespace=PREFIX, registry=CollectorRegistry())

    def collect(self) -> Iterable[Metric]:
        """All families, read at the time of the scrape."""
        yield self._family("log_events", "Log lines by event and level.", ("event", "level"), event_counts)
        yield self._family(
            "bus_dropped",
            "Bus messages that were not used, by reason and peer.",
            ("reason", "peer"),
            self._stats.dropped,
        )
        yield self._family(
            "bus_snapshots", "Table snapshots asked for, by owner and table.", ("owner", "table"), self._stats.fetched
        )
        for name, counts in (("bus_sent", self._stats.sent), ("bus_received", self._stats.received)):
            by_kind = {(kind.lower(),): count for kind, count in counts.items()}
            yield self._family(name, "Bus messages by kind.", ("kind",), by_kind)
        yield from self._process_families()

    def _family(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        counts: "dict[tuple[str, str], int] | dict[tuple[str], int]",
    ) -> CounterMetricFamily:
        family = CounterMetricFamily(f"{PREFIX}_{name}", text, labels=("service", *labels))
        for values, count in counts.items():
            family.add_metric((self._service, *values), count)
        return family

    def _process_families(self) -> Iterable[Metric]:
        """prometheus_client's own process metrics, with the service as a label."""
        for family in self._process.collect():
            samples = family.samples
            family.samples = []
            for sample in samples:
                family.add_sample(sample.name, {"service": self._service, **sample.labels}, sample.value)
            yield family


def text_of(registry: CollectorRegistry) -> str:
    """The registry in the Prometheus text format."""
    return generate_latest(registry).decode()
