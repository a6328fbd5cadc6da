"""A container's environment variables. Pure (upstream `pkg/kubelet`, makeEnvironmentVariables).

Order of meaning: `envFrom` in its order, then `env` in its order, then variables about Services for names not taken.
A later entry replaces an earlier one. Texts of objects that are not UTF-8 are kept byte by byte (surrogate escapes);
`container` writes them out as bytes again.
"""

from dataclasses import dataclass, field
from typing import Final

from services.pod_sync.environment.env_file import parse_env_file
from services.pod_sync.environment.field_path import field_value, resource_value
from services.pod_sync.environment.model import AnyContainer, ConfigError, EnvObjects, NodeFacts, PodContext
from services.pod_sync.environment.services import service_variables
from shared.kube.expansion import expand, lookup_in
from shared.kube.pods import is_static
from shared.kube.types import (
    ConfigMapKeySelector,
    EnvFromSource,
    EnvVarSource,
    FileKeySelector,
    Pod,
    SecretKeySelector,
)

_UNREAD_SERVICES: Final = "services have not yet been read at least once, cannot construct envvars"


@dataclass(frozen=True)
class ObjectNames:
    """Names of the objects in the pod's namespace that a container's environment needs."""

    config_maps: frozenset[str] = field(default_factory=frozenset)
    secrets: frozenset[str] = field(default_factory=frozenset)

    def __bool__(self) -> bool:
        return bool(self.config_maps or self.secrets)


def referred_objects(container: AnyContainer) -> ObjectNames:
    """What must be fetched before `environment` can be called for that container."""
    config_maps: set[str] = set()
    secrets: set[str] = set()
    for source in container.env_from:
        if source.config_map_ref is not None:
            config_maps.add(source.config_map_ref.name)
        if source.secret_ref is not None:
            secrets.add(source.secret_ref.name)
    for variable in container.env:
        origin = variable.value_from
        if origin is not None and not variable.value:
            if origin.config_map_key_ref is not None:
                config_maps.add(origin.config_map_key_ref.name)
            if origin.secret_key_ref is not None:
                secrets.add(origin.secret_key_ref.name)
    return ObjectNames(frozenset(config_maps), frozenset(secrets))


@dataclass(frozen=True)
class EnvFile:
    """An environment file: where its volume is on the host, and its path below. The container owns what is there."""

    volume_path: str
    below: str

    @property
    def path(self) -> str:
        """Both together, as messages name it."""
        return f"{self.volume_path}/{self.below}"


def referred_files(container: AnyContainer, pod: PodContext) -> frozenset[EnvFile]:
    """The environment files (`fileKeyRef`) that must be read before `environment` is called."""
    return frozenset(
        file
        for variable in container.env
        if variable.value_from is not None and variable.value_from.file_key_ref is not None
        if (file := _env_file(variable.value_from.file_key_ref, pod)) is not None
    )


def environment(pod: PodContext, container: AnyContainer, *, node: NodeFacts, objects: EnvObjects) -> dict[str, str]:
    """The variables by name. Raises ConfigError when something that is not optional is missing."""
    services = _service_variables(pod)
    result: dict[str, str] = {}
    for source in container.env_from:
        result.update(_from_source(source, pod.pod, objects))
    builder = _Builder(pod, container, node, objects)
    for variable in container.env:
        if variable.value:
            result[variable.name] = expand(variable.value, lookup_in(result, services))
        elif variable.value_from is not None:
            value = builder.value_from(variable.value_from)
            if value is not None:
                result[variable.name] = value
        else:
            result[variable.name] = ""
    for name, value in services.items():
        result.setdefault(name, value)
    return result


def _service_variables(pod: PodContext) -> dict[str, str]:
    links = pod.pod.spec.enable_service_links
    if links is None:
        raise ConfigError("nil pod.spec.enableServiceLinks encountered, cannot construct envvars")
    if pod.services is None:
        if not is_static(pod.pod):
            raise ConfigError(_UNREAD_SERVICES)
        return {}
    return service_variables(pod.services, namespace=pod.pod.metadata.namespace, enable_service_links=links)


def _from_source(source: EnvFromSource, pod: Pod, objects: EnvObjects) -> dict[str, str]:
    prefix = source.prefix or ""
    values: dict[str, str] = {}
    if source.config_map_ref is not None:
        name = source.config_map_ref.name
        data = objects.config_maps.get(name)
        if data is None and not source.config_map_ref.optional:
            raise ConfigError(f'configmap "{name}" not found')
        values.update({prefix + key: text for key, text in (data or {}).items()})
    elif source.secret_ref is not None:
        name = source.secret_ref.name
        content = objects.secrets.get(name)
        if content is None and not source.secret_ref.optional:
            raise ConfigError(f'secret "{name}" not found')
        values.update({prefix + key: _as_text(raw) for key, raw in (content or {}).items()})
    return values


def _as_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class _Builder:
    """Resolves `valueFrom` for one container. None: the source is optional and not there."""

    pod: PodContext
    container: AnyContainer
    node: NodeFacts
    objects: EnvObjects = field(repr=False)

    def value_from(self, source: EnvVarSource) -> str | None:
        if source.field_ref is not None:
            return field_value(source.field_ref.field_path, self.pod, self.node)
        if source.resource_field_ref is not None:
            return resource_value(source.resource_field_ref, self.pod, self.container, node=self.node)
        if source.config_map_key_ref is not None:
            return self._config_map_key(source.config_map_key_ref)
        if source.secret_key_ref is not None:
            return self._secret_key(source.secret_key_ref)
        if source.file_key_ref is not None:
            return self._file_key(source.file_key_ref)
        return ""

    def _config_map_key(self, ref: ConfigMapKeySelector) -> str | None:
        data = self.objects.config_maps.get(ref.name)
        if data is None:
            if ref.optional:
                return None
            raise ConfigError(f'configmap "{ref.name}" not found')
        if ref.key not in data:
            if ref.optional:
                return None
            raise ConfigError(f"couldn't find key {ref.key} in ConfigMap {self._namespace}/{ref.name}")
        return data[ref.key]

    def _secret_key(self, ref: SecretKeySelector) -> str | None:
        content = self.objects.secrets.get(ref.name)
        if content is None:
            if ref.optional:
                return None
            raise ConfigError(f'secret "{ref.name}" not found')
        if ref.key not in content:
            if ref.optional:
                return None
            raise ConfigError(f"couldn't find key {ref.key} in Secret {self._namespace}/{ref.name}")
        return _as_text(content[ref.key])

    def _file_key(self, ref: FileKeySelector) -> str | None:
        file = _env_file(ref, self.pod)
        if file is None:
            raise ConfigError(f'cannot find the volume "{ref.volume_name}" referenced by FileKeyRef')
        text = self.objects.files.get(file.path)
        if text is None:
            raise ConfigError("couldn't parse env file")
        value = parse_env_file(text).get(ref.key, "")
        if value:
            return value
        if ref.optional:
            return None
        raise ConfigError(f'environment variable key "{ref.key}" not found in file "{file.path}"')

    @property
    def _namespace(self) -> str:
        return self.pod.pod.metadata.namespace


def _env_file(ref: FileKeySelector, pod: PodContext) -> EnvFile | None:
    volume = pod.volumes.get(ref.volume_name)
    return EnvFile(volume.host_path, ref.path) if volume is not None and volume.host_path else None
