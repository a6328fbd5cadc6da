"""A sound pod, and what is said of it when a part is changed."""

from typing import Any

import msgspec

from shared.kube.defaults import default_pod
from shared.kube.types import Pod
from shared.kube.validation import validate_pod

METADATA = {"name": "web", "namespace": "default"}


def container(name: str = "c", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **fields}


def errors(metadata: dict[str, Any] | None = None, **spec: Any) -> list[str]:
    """The errors of a pod with these parts, after its defaults were filled in."""
    spec.setdefault("containers", [container()])
    raw = {"metadata": {**METADATA, **(metadata or {})}, "spec": spec}
    return validate_pod(default_pod(msgspec.convert(raw, Pod))).texts


def of_container(**fields: Any) -> list[str]:
    """Errors of one container, without its path."""
    prefix = "spec.containers[0]."
    found = errors(containers=[container(**fields)], volumes=[{"name": "v", "emptyDir": {}}])
    assert all(text.startswith(prefix) for text in found), found
    return [text.removeprefix(prefix) for text in found]


def of_volume(**source: Any) -> list[str]:
    """Errors of one volume, without its path."""
    prefix = "spec.volumes[0]"
    found = errors(volumes=[{"name": "v", **source}])
    assert all(text.startswith(prefix) for text in found), found
    return [text.removeprefix(prefix).removeprefix(".") for text in found]
