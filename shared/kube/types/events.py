"""Kubernetes Events (`core/v1`)."""

from msgspec import field

from shared.kube.types.base import ApiObject, always_written
from shared.kube.types.meta import ListMeta, ObjectMeta
from shared.kube.types.references import ObjectReference


class EventSeries(ApiObject, frozen=True, kw_only=True):
    """How often and until when a series went on."""

    count: int | None = None
    last_observed_time: str | None = None


class EventSource(ApiObject, frozen=True, kw_only=True):
    """Which component on which host saw it."""

    component: str | None = None
    host: str | None = None


class Event(ApiObject, frozen=True, kw_only=True):
    """What happened to an object, counted when it repeats."""

    api_version: str = field(default_factory=lambda: "v1")
    kind: str = field(default_factory=lambda: "Event")
    action: str | None = None
    count: int | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    involved_object: ObjectReference = field(default_factory=ObjectReference)
    last_timestamp: str | None = None
    message: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    reason: str = ""
    related: ObjectReference | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    source: EventSource = field(default_factory=EventSource)
    type: str = ""


class EventList(ApiObject, frozen=True, kw_only=True):
    """Events; `items` is written even when empty."""

    api_version: str = field(default_factory=lambda: "v1")
    kind: str = field(default_factory=lambda: "EventList")
    items: list[Event] = field(default_factory=always_written)
    metadata: ListMeta = field(default_factory=ListMeta)
