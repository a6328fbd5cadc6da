"""Environment variables and where they come from (`core/validation`, `ValidateEnv` and `ValidateEnvFrom`)."""

import re
from typing import Final

from shared.kube import quantity
from shared.kube.types import (
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
)
from shared.kube.validation import names
from shared.kube.validation.errors import Errors

_SOURCES: Final = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_ENV_FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
_FILE_FIELDS: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}
)
_KNOWN_FIELDS: Final = _ENV_FIELDS | _FILE_FIELDS | {"spec.restartPolicy", "spec.schedulerName", "status.phase"}
_SUBSCRIPT: Final = re.compile(r"(metadata\.(?:labels|annotations))\['(.*)'\]", re.DOTALL)
_CPU: Final = frozenset({"limits.cpu", "requests.cpu"})
_RESOURCES: Final = _CPU | {
    "limits.memory",
    "requests.memory",
    "limits.ephemeral-storage",
    "requests.ephemeral-storage",
}
_CPU_DIVISORS: Final = ("0", "1m", "1")
_DIVISORS: Final = ("0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def check_env(errors: Errors, path: str, variables: list[EnvVar]) -> None:
    for i, variable in enumerate(variables):
        where = f"{path}[{i}]"
        if not variable.name:
            errors.required(f"{where}.name")
        else:
            errors.all(f"{where}.name", variable.name, names.env_var_name(variable.name))
        if variable.value_from is not None:
            _check_value_from(errors, f"{where}.valueFrom", variable.value_from, bool(variable.value))


def _check_value_from(errors: Errors, path: str, source: EnvVarSource, has_value: bool) -> None:
    count = 0
    if source.field_ref is not None:
        count += 1
        check_field_ref(errors, f"{path}.fieldRef", source.field_ref)
    if source.resource_field_ref is not None:
        count += 1
        check_resource_field_ref(errors, f"{path}.resourceFieldRef", source.resource_field_ref)
    for name, ref in (("configMapKeyRef", source.config_map_key_ref), ("secretKeyRef", source.secret_key_ref)):
        if ref is not None:
            count += 1
            _check_key_ref(errors, f"{path}.{name}", ref.name, ref.key)
    if source.file_key_ref is not None:
        count += 1
        _check_file_key_ref(errors, f"{path}.fileKeyRef", source.file_key_ref)
    if count == 0:
        errors.invalid(path, "", f"must specify one of: {_SOURCES}")
    elif has_value:
        errors.invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        errors.invalid(path, "", "may not have more than one field specified at a time")


def _check_key_ref(errors: Errors, path: str, name: str, key: str) -> None:
    if not name:
        errors.required(f"{path}.name")
    if not key:
        errors.required(f"{path}.key")
    else:
        errors.all(f"{path}.key", key, names.config_key(key))


def _check_file_key_ref(errors: Errors, path: str, ref: FileKeySelector) -> None:
    if not ref.key:
        errors.required(f"{path}.key")
    else:
        errors.all(f"{path}.key", ref.key, names.env_var_name(ref.key))
    if not ref.volume_name:
        errors.required(f"{path}.volumeName")
    if not ref.path:
        errors.required(f"{path}.path")
    else:
        check_relative_path(errors, f"{path}.path", ref.path)


def check_env_from(errors: Errors, path: str, sources: list[EnvFromSource]) -> None:
    for i, source in enumerate(sources):
        where = f"{path}[{i}]"
        if source.prefix:
            errors.all(f"{where}.prefix", source.prefix, names.env_var_name(source.prefix))
        present = [
            (name, ref.name)
            for name, ref in (("configMapRef", source.config_map_ref), ("secretRef", source.secret_ref))
            if ref is not None
        ]
        for name, target in present:
            if not target:
                errors.required(f"{where}.{name}.name")
        if not present:
            errors.invalid(where, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(present) > 1:
            errors.invalid(where, "", "may not have more than one field specified at a time")


def check_field_ref(errors: Errors, path: str, ref: ObjectFieldSelector, *, in_file: bool = False) -> None:
    """A field of the pod; files may hold whole maps of labels and annotations, variables only single values."""
    where = f"{path}.fieldPath"
    if not ref.field_path:
        errors.required(where)
        return
    subscript = _SUBSCRIPT.fullmatch(ref.field_path)
    if subscript is not None:
        key = subscript[2]
        errors.all(where, key, names.qualified_name(key.lower() if "annotations" in subscript[1] else key))
    elif ref.field_path not in _KNOWN_FIELDS:
        errors.invalid(
            where, ref.field_path, f"error converting fieldPath: field label not supported: {ref.field_path}"
        )
    elif ref.field_path not in (_FILE_FIELDS if in_file else _ENV_FIELDS):
        errors.unsupported(where, ref.field_path, _FILE_FIELDS if in_file else _ENV_FIELDS)


def check_resource_field_ref(errors: Errors, path: str, ref: ResourceFieldSelector, *, in_file: bool = False) -> None:
    """A request or limit; files must name the container that they speak of."""
    if in_file and not ref.container_name:
        errors.required(f"{path}.containerName")
    if not ref.resource:
        errors.required(f"{path}.resource")
        return
    if ref.resource not in _RESOURCES and not ref.resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        errors.unsupported(f"{path}.resource", ref.resource, _RESOURCES)
        return
    divisors = _CPU_DIVISORS if ref.resource in _CPU else _DIVISORS
    if ref.divisor and not any(quantity.equal(ref.divisor, d) for d in divisors):
        kind = ref.resource.partition(".")[2]
        text = f"only divisor's values {', '.join(divisors[1:])} are supported with the {kind} resource"
        errors.invalid(f"{path}.divisor", quantity.canonical(ref.divisor), text)


def check_relative_path(errors: Errors, path: str, value: str) -> None:
    """Inside of something: neither absolute nor upwards."""
    if value.startswith("/"):
        errors.invalid(path, value, "must be a relative path")
    check_no_upward_path(errors, path, value)


def check_no_upward_path(errors: Errors, path: str, value: str) -> None:
    if ".." in value.split("/"):
        errors.invalid(path, value, "must not contain '..'")
