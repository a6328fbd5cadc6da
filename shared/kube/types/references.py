"""How one object names another, within a namespace or across groups."""

from shared.kube.types.base import ApiObject, Quantity


class LocalObjectReference(ApiObject, frozen=True, kw_only=True):
    """An object of a known kind in the same namespace."""

    name: str = ""


class ObjectReference(ApiObject, frozen=True, kw_only=True):
    """Any object. `field_path` points inside it, such as `spec.containers{web}`."""

    api_version: str | None = None
    kind: str = ""
    field_path: str | None = None
    name: str = ""
    namespace: str = ""
    resource_version: str | None = None
    uid: str = ""


class TypedLocalObjectReference(ApiObject, frozen=True, kw_only=True):
    """An object of a named kind in the same namespace."""

    kind: str = ""
    api_group: str | None = None
    name: str = ""


class TypedObjectReference(ApiObject, frozen=True, kw_only=True):
    """An object of a named kind, possibly in another namespace."""

    kind: str = ""
    api_group: str | None = None
    name: str = ""
    namespace: str | None = None


class ObjectFieldSelector(ApiObject, frozen=True, kw_only=True):
    """A field of the pod itself, such as `metadata.name`."""

    api_version: str | None = None
    field_path: str = ""


class ResourceFieldSelector(ApiObject, frozen=True, kw_only=True):
    """A request or limit of a container, divided by `divisor` and rounded up."""

    container_name: str | None = None
    divisor: Quantity | None = None
    resource: str = ""


class ConfigMapKeySelector(ApiObject, frozen=True, kw_only=True):
    """One key of a ConfigMap."""

    key: str = ""
    name: str = ""
    optional: bool | None = None


class SecretKeySelector(ApiObject, frozen=True, kw_only=True):
    """One key of a Secret."""

    key: str = ""
    name: str = ""
    optional: bool | None = None


class FileKeySelector(ApiObject, frozen=True, kw_only=True):
    """One variable of an env file on a volume."""

    key: str = ""
    optional: bool | None = None
    path: str = ""
    volume_name: str = ""


class KeyToPath(ApiObject, frozen=True, kw_only=True):
    """Which file a key becomes; `mode` as a decimal number."""

    key: str = ""
    mode: int | None = None
    path: str = ""
    user: int | None = None
