"""Leases (`coordination.k8s.io/v1`): a node's heartbeat."""

from msgspec import field

from shared.kube.types.base import ApiObject, always_written
from shared.kube.types.meta import ListMeta, ObjectMeta


class LeaseSpec(ApiObject, frozen=True, kw_only=True):
    """Who holds it and when it was last renewed (RFC 3339 with microseconds)."""

    acquire_time: str | None = None
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    renew_time: str | None = None
    strategy: str | None = None


class Lease(ApiObject, frozen=True, kw_only=True):
    """One lease."""

    api_version: str = field(default_factory=lambda: "coordination.k8s.io/v1")
    kind: str = field(default_factory=lambda: "Lease")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: LeaseSpec = field(default_factory=LeaseSpec)


class LeaseList(ApiObject, frozen=True, kw_only=True):
    """Leases; `items` is written even when empty."""

    api_version: str = field(default_factory=lambda: "coordination.k8s.io/v1")
    kind: str = field(default_factory=lambda: "LeaseList")
    items: list[Lease] = field(default_factory=always_written)
    metadata: ListMeta = field(default_factory=ListMeta)
