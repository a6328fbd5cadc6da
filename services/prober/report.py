"""Tells people what probes found: Kubernetes Events for each failing attempt, metrics for each probe."""

from typing import Any, Final

from services.prober.metrics import Metrics
from services.prober.model import Verdict
from services.prober.pods import Wanted
from services.prober.ports import Finding
from shared.messages.daemon import ObjectReference
from shared.service import Context

UNHEALTHY: Final = "Unhealthy"
PROBE_WARNING: Final = "ProbeWarning"
"""event reasons (upstream `kubelet/events`)"""


def event_of(worker: Wanted, finding: Finding) -> tuple[str, str] | None:
    """Reason and message of the Event that a probe makes; None for success (upstream `prober.probe`)."""
    kind = worker.key.kind.words
    if finding.error:
        return UNHEALTHY, f"{kind} probe errored and resulted in {finding.verdict} state: {finding.output}"
    match finding.verdict:
        case Verdict.FAILURE:
            return UNHEALTHY, f"{kind} probe failed: {finding.output}"
        case Verdict.WARNING:
            return PROBE_WARNING, f"{kind} probe warning: {finding.output}"
        case _:
            return None


class EventsAndMetrics:
    """See `workers.Report`."""

    def __init__(self, ctx: Context[Any], metrics: Metrics) -> None:
        self._ctx = ctx
        self._metrics = metrics

    def probed(self, worker: Wanted, finding: Finding, duration_s: float) -> None:
        self._metrics.probed(worker, finding, duration_s)
        made = event_of(worker, finding)
        if made is None:
            return
        meta = worker.pod.metadata
        reference = ObjectReference(
            kind="Pod", name=meta.name, namespace=meta.namespace, uid=worker.key.pod_uid, field_path=worker.field_path
        )
        self._ctx.event(reference, "Warning", *made)
        self._ctx.log.debug(  # the event is logged too, with the text; this has the time it took
            "probe.failed",
            pod=f"{meta.namespace}/{meta.name}",
            pod_uid=worker.key.pod_uid,
            container=worker.key.container,
            probe=worker.key.kind.value,
            verdict=finding.verdict.value,
            error=finding.error,
            duration_s=round(duration_s, 3),
        )

    def ended(self, worker: Wanted) -> None:
        self._metrics.ended(worker)
