"""What every daemon says of itself: readiness, metrics, Kubernetes Events to post."""

from shared.messages.base import ANY_OWNER, Empty, Message, Request, Service, Table


class DaemonState(Message, frozen=True):
    """One daemon as it sees itself. Published when its own state is rebuilt and its tables are out.

    `degraded` lists dependencies that are away (a peer, the runtime, the API server), one clear sentence each; a
    degraded daemon is still ready.
    """

    ready: bool
    pid: int
    started_at_mono: float
    version: str = ""
    degraded: list[str] = []


DAEMON = Table("daemon", key="service", value=DaemonState, owner=ANY_OWNER)


class ObjectReference(Message, frozen=True):
    """The object an Event is about (API type `v1.ObjectReference`)."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"
    resource_version: str = ""
    field_path: str = ""


class EventRecord(Message, frozen=True):
    """One Kubernetes Event. Each daemon publishes a bounded table of them; node_status posts them.

    `type` is `Normal` or `Warning`; `at` is wall time in seconds since the epoch.
    """

    involved_object: ObjectReference
    type: str
    reason: str
    message: str
    at: float
    annotations: dict[str, str] = {}


EVENTS = Table("events", key="generation.number", value=EventRecord, owner=ANY_OWNER)


class MetricsText(Message, frozen=True):
    """One daemon's metrics in the Prometheus text format."""

    text: str


METRICS = Request("metrics", request=Empty, reply=MetricsText, owner=ANY_OWNER, callers=frozenset({Service.SERVER}))
