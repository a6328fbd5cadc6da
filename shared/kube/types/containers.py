"""Containers as a pod's spec describes them."""

from shared.kube.types.base import ApiObject
from shared.kube.types.probes import Lifecycle, Probe
from shared.kube.types.references import (
    ConfigMapKeySelector,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
    SecretKeySelector,
)
from shared.kube.types.resources import ContainerResizePolicy, ResourceRequirements
from shared.kube.types.security import SecurityContext


class EnvVarSource(ApiObject, frozen=True, kw_only=True):
    """Exactly one of the sources."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EnvVar(ApiObject, frozen=True, kw_only=True):
    """One variable: a literal value, or a source."""

    name: str = ""
    value: str | None = None
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(ApiObject, frozen=True, kw_only=True):
    """A whole ConfigMap as variables."""

    name: str = ""
    optional: bool | None = None


class SecretEnvSource(ApiObject, frozen=True, kw_only=True):
    """A whole Secret as variables."""

    name: str = ""
    optional: bool | None = None


class EnvFromSource(ApiObject, frozen=True, kw_only=True):
    """All keys of a ConfigMap or Secret, with a prefix."""

    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str | None = None
    secret_ref: SecretEnvSource | None = None


class ContainerPort(ApiObject, frozen=True, kw_only=True):
    """A port of the container; `host_port` also on the node."""

    container_port: int = 0
    host_ip: str | None = None
    host_port: int | None = None
    name: str = ""
    protocol: str | None = None


class ContainerRestartRuleOnExitCodes(ApiObject, frozen=True, kw_only=True):
    """`operator` is In or NotIn."""

    operator: str = ""
    values: list[int] = []


class ContainerRestartRule(ApiObject, frozen=True, kw_only=True):
    """What to do when the exit code matches: Restart or RestartAllContainers."""

    action: str = ""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class VolumeDevice(ApiObject, frozen=True, kw_only=True):
    """Where a block volume appears in the container."""

    device_path: str = ""
    name: str = ""


class VolumeMount(ApiObject, frozen=True, kw_only=True):
    """Where a volume appears in the container."""

    bind_mount_options: list[str] = []
    mount_path: str = ""
    mount_propagation: str | None = None
    name: str = ""
    read_only: bool | None = None
    recursive_read_only: str | None = None
    sub_path: str | None = None
    sub_path_expr: str | None = None


class Container(ApiObject, frozen=True, kw_only=True):
    """One container. Command and args as given, before `$(NAME)` is expanded."""

    args: list[str] = []
    command: list[str] = []
    env: list[EnvVar] = []
    env_from: list[EnvFromSource] = []
    image: str = ""
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = ""
    ports: list[ContainerPort] = []
    readiness_probe: Probe | None = None
    resize_policy: list[ContainerResizePolicy] = []
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] = []
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: list[VolumeDevice] = []
    volume_mounts: list[VolumeMount] = []
    working_dir: str | None = None


class EphemeralContainer(ApiObject, frozen=True, kw_only=True):
    """A container added to a running pod for debugging; `target_container_name` is whose processes it sees."""

    args: list[str] = []
    command: list[str] = []
    env: list[EnvVar] = []
    env_from: list[EnvFromSource] = []
    image: str = ""
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    name: str = ""
    ports: list[ContainerPort] = []
    readiness_probe: Probe | None = None
    resize_policy: list[ContainerResizePolicy] = []
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] = []
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    target_container_name: str | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: list[VolumeDevice] = []
    volume_mounts: list[VolumeMount] = []
    working_dir: str | None = None
