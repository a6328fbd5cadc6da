"""Name, namespace, labels and annotations (`apimachinery/pkg/api/validation`, `ValidateObjectMeta`)."""

from typing import Final

from shared.kube.types import ObjectMeta
from shared.kube.validation import names
from shared.kube.validation.errors import Errors

ANNOTATIONS_MAX_BYTES: Final = 256 * 1024


def check_metadata(errors: Errors, metadata: ObjectMeta) -> None:
    """Of a namespaced object whose name is a DNS subdomain."""
    path = "metadata"
    if not metadata.name:
        errors.required(f"{path}.name", "name or generateName is required")
    else:
        errors.all(f"{path}.name", metadata.name, names.dns_subdomain(metadata.name))
    if not metadata.namespace:
        errors.required(f"{path}.namespace")
    else:
        errors.all(f"{path}.namespace", metadata.namespace, names.dns_label(metadata.namespace))
    errors.not_negative(f"{path}.generation", metadata.generation)
    check_labels(errors, f"{path}.labels", metadata.labels)
    _check_annotations(errors, f"{path}.annotations", metadata.annotations)
    for i, owner in enumerate(metadata.owner_references):
        for name, value in (
            ("apiVersion", owner.api_version),
            ("kind", owner.kind),
            ("name", owner.name),
            ("uid", owner.uid),
        ):
            if not value:
                errors.invalid(f"{path}.ownerReferences[{i}].{name}", value, f"{name} must not be empty")
    for finalizer in metadata.finalizers:
        errors.all(f"{path}.finalizers", finalizer, names.qualified_name(finalizer))


def check_labels(errors: Errors, path: str, labels: dict[str, str]) -> None:
    """Keys are qualified names, values short words. Errors name the map, as upstream does."""
    for key, value in labels.items():
        errors.all(path, key, names.qualified_name(key))
        errors.all(path, value, names.label_value(value))


def _check_annotations(errors: Errors, path: str, annotations: dict[str, str]) -> None:
    for key in annotations:
        errors.all(path, key, names.qualified_name(key.lower()))
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > ANNOTATIONS_MAX_BYTES:
        errors.too_long(path, ANNOTATIONS_MAX_BYTES)
