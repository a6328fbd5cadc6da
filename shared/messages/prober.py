"""What prober publishes: probe results."""

from enum import StrEnum

from shared.messages.base import Message, Service, Table


class ProbeOutcome(StrEnum):
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
