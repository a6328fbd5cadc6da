"""Names, labels, annotations and log paths on CRI objects. Pure.

They are how a node recognises its containers after a restart, and how upstream's kubelet and octolet take a node over
from each other, so every key and encoding is upstream's (`kuberuntime`, labels; `kubecontainer.HashContainer`).
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from services.pod_sync.environment.model import (
    CONTAINER_NAME_LABEL,
    POD_NAME_LABEL,
    POD_NAMESPACE_LABEL,
    POD_UID_LABEL,
    AnyContainer,
    ConfigError,
)
from shared.kube.pods import all_containers
from shared.kube.types import ContainerPort, LifecycleHandler, Pod

HASH: Final = "io.kubernetes.container.hash"
RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
TERMINATION_MESSAGE_PATH: Final = "io.kubernetes.container.terminationMessagePath"
TERMINATION_MESSAGE_POLICY: Final = "io.kubernetes.container.terminationMessagePolicy"
PRE_STOP_HANDLER: Final = "io.kubernetes.container.preStopHandler"
PORTS: Final = "io.kubernetes.container.ports"
POD_DELETION_GRACE: Final = "io.kubernetes.pod.deletionGracePeriod"
POD_TERMINATION_GRACE: Final = "io.kubernetes.pod.terminationGracePeriod"

DEFAULT_TERMINATION_MESSAGE_PATH: Final = "/dev/termination-log"
DEFAULT_TERMINATION_MESSAGE_POLICY: Final = "File"

_FNV32_OFFSET: Final = 0x811C9DC5
_FNV32_PRIME: Final = 0x01000193
_GO_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_LOG_FILE: Final = re.compile(r"([0-9]+)\.log(\..*)?", re.ASCII)
_MAX_LEGACY_LOG_NAME: Final = 255


def go_json(value: Any) -> str:
    """Compact JSON with the escapes of Go's encoder, which the hash of a container depends on."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_GO_ESCAPES)


def container_hash(name: str, image: str) -> int:
    """The hash of a container's definition: only name and image count (FNV-1a, 32 bits).

    It is taken over the decimal bytes of the JSON `{"image":..,"name":..}` in the form `([]uint8)[b0 b1 ...]`, the way
    upstream's dump of a byte slice prints them. A differing hash restarts the running container.
    """
    data = go_json({"image": image, "name": name}).encode()
    digest = _FNV32_OFFSET
    for byte in f"([]uint8)[{' '.join(str(b) for b in data)}]".encode():
        digest = ((digest ^ byte) * _FNV32_PRIME) & 0xFFFFFFFF
    return digest


def find_container(pod: Pod, name: str) -> AnyContainer:
    """The pod's container of that name, of whatever kind. Raises ConfigError when there is none."""
    for container in all_containers(pod):
        if container.name == name:
            return container
    raise ConfigError(f'container "{name}" not found in pod')


def field_path(pod: Pod, name: str) -> str:
    """Where in the pod a container is, as Events name it: `spec.containers{web}`. Empty for an unknown name."""
    for field, containers in (
        ("containers", pod.spec.containers),
        ("initContainers", pod.spec.init_containers),
        ("ephemeralContainers", pod.spec.ephemeral_containers),
    ):
        if any(container.name == name for container in containers):
            return f"spec.{field}{{{name}}}"
    return ""


def is_any_privileged(pod: Pod) -> bool:
    """Whether some container of whatever kind is privileged."""
    return any(c.security_context is not None and c.security_context.privileged for c in all_containers(pod))


def pod_labels(pod: Pod) -> dict[str, str]:
    """Labels of the sandbox: the pod's own, and the three that identify it."""
    return {**pod.metadata.labels, **_identity(pod)}


def container_labels(pod: Pod, name: str) -> dict[str, str]:
    """Labels of a container: exactly four, the pod's own are not copied."""
    return {**_identity(pod), CONTAINER_NAME_LABEL: name}


def _identity(pod: Pod) -> dict[str, str]:
    meta = pod.metadata
    return {POD_NAME_LABEL: meta.name, POD_NAMESPACE_LABEL: meta.namespace, POD_UID_LABEL: meta.uid}


def container_annotations(pod: Pod, container: AnyContainer, *, attempt: int, extra: dict[str, str]) -> dict[str, str]:
    """Annotations of a container; `extra` (from device plugins) may not replace the node agent's own."""
    annotations = {
        **extra,
        HASH: f"{container_hash(container.name, container.image):x}",
        RESTART_COUNT: str(attempt),
        TERMINATION_MESSAGE_PATH: container.termination_message_path or "",
        TERMINATION_MESSAGE_POLICY: container.termination_message_policy or "",
    }
    if pod.metadata.deletion_grace_period_seconds is not None:
        annotations[POD_DELETION_GRACE] = str(pod.metadata.deletion_grace_period_seconds)
    if pod.spec.termination_grace_period_seconds is not None:
        annotations[POD_TERMINATION_GRACE] = str(pod.spec.termination_grace_period_seconds)
    if container.lifecycle is not None and container.lifecycle.pre_stop is not None:
        annotations[PRE_STOP_HANDLER] = go_json(_handler_json(container.lifecycle.pre_stop))
    if container.ports:
        annotations[PORTS] = go_json([_port_json(port) for port in container.ports])
    return annotations


def _handler_json(handler: LifecycleHandler) -> dict[str, Any]:
    """A lifecycle handler as the API writes it, in the API's field order."""
    fields: dict[str, Any] = {}
    if handler.exec is not None:
        fields["exec"] = _without_empty({"command": list(handler.exec.command)})
    if handler.http_get is not None:
        get = handler.http_get
        headers = [{"name": header.name, "value": header.value} for header in get.http_headers]
        optional_after = _without_empty({"host": get.host, "scheme": get.scheme, "httpHeaders": headers})
        fields["httpGet"] = {**_without_empty({"path": get.path}), "port": get.port, **optional_after}
    if handler.tcp_socket is not None:
        fields["tcpSocket"] = {"port": handler.tcp_socket.port, **_without_empty({"host": handler.tcp_socket.host})}
    if handler.sleep is not None:
        fields["sleep"] = {"seconds": handler.sleep.seconds}
    return fields


def _port_json(port: ContainerPort) -> dict[str, Any]:
    before = _without_empty({"name": port.name, "hostPort": port.host_port})
    after = _without_empty({"protocol": port.protocol, "hostIP": port.host_ip})
    return {**before, "containerPort": port.container_port, **after}


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def pod_log_dir(pod_logs_dir: str, namespace: str, name: str, uid: str) -> str:
    """`<podLogsDir>/<namespace>_<name>_<uid>`."""
    return f"{pod_logs_dir}/{namespace}_{name}_{uid}"


def container_log_path(name: str, attempt: int) -> str:
    """A container's log file, relative to the pod's log folder: `<name>/<restart count>.log`."""
    return f"{name}/{attempt}.log"


def attempt_after_logs(file_names: Iterable[str]) -> int:
    """One more than the highest log file number in a container's log folder; 0 for none. Rotated files count too.

    That is the restart count of a container of which the runtime has no instance left.
    """
    numbers = [int(match[1]) for name in file_names if (match := _LOG_FILE.match(name))]
    return max(numbers) + 1 if numbers else 0


def legacy_log_name(pod_name: str, namespace: str, *, container: str, container_id: str) -> str:
    """The name of the link in `/var/log/containers`, cut so that it fits a directory entry."""
    suffix = ".log"
    stem = f"{pod_name}_{namespace}_{container}-{container_id}"
    return stem[: _MAX_LEGACY_LOG_NAME - len(suffix)] + suffix
