"""Metadata that every API object has (`meta/v1`)."""

from typing import Any

from shared.kube.types.base import ApiObject


class ManagedFieldsEntry(ApiObject, frozen=True, kw_only=True):
    """Which fields a manager last set (server-side apply)."""

    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: dict[str, Any] | None = None
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: str | None = None


class OwnerReference(ApiObject, frozen=True, kw_only=True):
    """The object that this one belongs to; without it, it is collected."""

    api_version: str = ""
    kind: str = ""
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    name: str = ""
    uid: str = ""


class ObjectMeta(ApiObject, frozen=True, kw_only=True):
    """Name, identity and bookkeeping of an object. Times are RFC 3339 strings."""

    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] = []
    generate_name: str | None = None
    generation: int | None = None
    labels: dict[str, str] = {}
    managed_fields: list[ManagedFieldsEntry] = []
    name: str = ""
    namespace: str = ""
    owner_references: list[OwnerReference] = []
    resource_version: str | None = None
    self_link: str | None = None
    uid: str = ""


class ShardInfo(ApiObject, frozen=True, kw_only=True):
    """Which part of a sharded list this is."""

    selector: str = ""


class ListMeta(ApiObject, frozen=True, kw_only=True):
    """Where a list was cut and which version it shows."""

    continue_: str | None = None
    remaining_item_count: int | None = None
    resource_version: str | None = None
    self_link: str | None = None
    shard_info: ShardInfo | None = None


class LabelSelectorRequirement(ApiObject, frozen=True, kw_only=True):
    """`operator` is In, NotIn, Exists or DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(ApiObject, frozen=True, kw_only=True):
    """All of the labels and all of the expressions must match."""

    match_expressions: list[LabelSelectorRequirement] = []
    match_labels: dict[str, str] = {}
