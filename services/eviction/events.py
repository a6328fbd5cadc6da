"""Kubernetes Events of this daemon: about the node and about pods."""

import socket
from collections.abc import Callable

from shared.kube.types import Pod
from shared.messages.daemon import ObjectReference

Emit = Callable[[ObjectReference, str, str, str, dict[str, str] | None], None]


class Events:
    """`emit` is the context's `event`."""

    def __init__(self, emit: Emit, node_name: str) -> None:
        self._emit = emit
        name = node_name or socket.gethostname().strip().lower()
        self._node = ObjectReference(kind="Node", name=name, uid=name)

    def node_warning(self, reason: str, message: str) -> None:
        self._emit(self._node, "Warning", reason, message, None)

    def pod_warning(self, pod: Pod, reason: str, message: str, annotations: dict[str, str]) -> None:
        meta = pod.metadata
        ref = ObjectReference(kind="Pod", name=meta.name, namespace=meta.namespace, uid=meta.uid)
        self._emit(ref, "Warning", reason, message, annotations)
