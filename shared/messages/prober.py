"""What prober publishes: probe results."""

from enum import StrEnum

from shared.messages.base import Message, Service, Table


class ProbeOutcome(StrEnum):
    """What a probe has come to. A container starts with startup unknown, liveness success, readiness failure.

    Liveness or readiness `unknown`: the container is older than the prober, and nothing is known of it yet; whatever was
    so before (ready or not) is kept until there is a result.
    """

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class ContainerProbes(Message, frozen=True):
    """The current outcome of each probe that the container has; None: no such probe."""

    pod_uid: str
    container: str
    startup: ProbeOutcome | None = None
    liveness: ProbeOutcome | None = None
    readiness: ProbeOutcome | None = None


PROBE_RESULTS = Table("probe_results", key="container_id", value=ContainerProbes, owner=Service.PROBER)
