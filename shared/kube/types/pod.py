"""The Pod object and its list."""

from msgspec import field

from shared.kube.types.base import ApiObject, always_written
from shared.kube.types.meta import ListMeta, ObjectMeta
from shared.kube.types.pod_spec import PodSpec
from shared.kube.types.pod_status import PodStatus


class Pod(ApiObject, frozen=True, kw_only=True):
    """One pod."""

    api_version: str = field(default_factory=lambda: "v1")
    kind: str = field(default_factory=lambda: "Pod")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class PodList(ApiObject, frozen=True, kw_only=True):
    """Pods; `items` is written even when empty."""

    api_version: str = field(default_factory=lambda: "v1")
    kind: str = field(default_factory=lambda: "PodList")
    items: list[Pod] = field(default_factory=always_written)
    metadata: ListMeta = field(default_factory=ListMeta)
