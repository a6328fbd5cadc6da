"""/metrics/resource: CPU and memory of node, pods and containers for metrics pipelines. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.server.stats.summary import Inputs
from shared.messages.container_manager import CgroupUsage

Sample = tuple[str, str]
"""(labels in braces or nothing, value with its timestamp)"""


@dataclass(frozen=True)
class _Family:
    name: str
    kind: str
    help: str


_FAMILIES = (
    _Family(
        "container_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the container in core-seconds"
    ),
    _Family("container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes"),
    _Family("container_start_time_seconds", "gauge", "Start time of the container since unix epoch in seconds"),
    _Family("node_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the node in core-seconds"),
    _Family("node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes"),
    _Family("pod_cpu_usage_seconds_total", "counter", "Cumulative cpu time consumed by the pod in core-seconds"),
    _Family("pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes"),
)


def resource_page(inputs: Inputs) -> str:
    """The Prometheus text. Samples carry the time they were taken, except start times."""
    samples: dict[str, list[Sample]] = {f.name: [] for f in _FAMILIES}
    _add(samples, "node", "", inputs.usage.node)
    for usage in inputs.usage.pods:
        seen = inputs.runtime.get(usage.pod_uid)
        running = [c for c in seen.containers if c.state == "running"] if seen is not None else []
        if seen is None or not running:
            continue
        where = f'namespace="{seen.namespace}",pod="{seen.name}"'
        _add(samples, "pod", f"{{{where}}}", usage.pod)
        by_id = {c.container: c for c in usage.containers}
        for container in running:
            labels = f'{{container="{container.name}",{where}}}'
            started = container.created_at_ns / 1e9
            samples["container_start_time_seconds"].append((labels, f"{started:.9g}" if started < 1 else repr(started)))
            if container.id in by_id:
                _add(samples, "container", labels, by_id[container.id])
    return "".join(_lines(samples))


def _add(samples: dict[str, list[Sample]], what: str, labels: str, usage: CgroupUsage) -> None:
    if usage.cpu is not None:
        value = f"{usage.cpu.usage_ns / 1e9!r} {int(usage.cpu.at * 1000)}"
        samples[f"{what}_cpu_usage_seconds_total"].append((labels, value))
    if usage.memory is not None:
        value = f"{usage.memory.working_set_bytes} {int(usage.memory.at * 1000)}"
        samples[f"{what}_memory_working_set_bytes"].append((labels, value))


def _lines(samples: dict[str, list[Sample]]) -> Iterable[str]:
    for family in _FAMILIES:
        if samples[family.name]:
            yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n"
            for labels, value in samples[family.name]:
                yield f"{family.name}{labels} {value}\n"
