"""What a pod's runtime acts take and give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self, TypeVar

import msgspec

from services.pod_sync.environment import metadata
from services.pod_sync.environment.model import (
    CONTAINER_NAME_LABEL,
    POD_NAME_LABEL,
    POD_NAMESPACE_LABEL,
    POD_UID_LABEL,
    AnyContainer,
    ConfigError,
)
from shared.errors import OctoletError
from shared.kube.pods import pod_format
from shared.kube.types import Container, ContainerPort, LifecycleHandler, Pod
from shared.messages.pleg import ContainerState

T = TypeVar("T")

EventSink = Callable[[str | None, str, str, str], None]
"""`event(container name | None for the pod itself, type, reason, message)`, `type` being Normal or Warning."""

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

CREATE_SANDBOX: Final = "CreatePodSandboxError"
CONFIG_SANDBOX: Final = "ConfigPodSandboxError"
CREATE_CONTAINER_CONFIG: Final = "CreateContainerConfigError"
PRE_CREATE_HOOK: Final = "PreCreateHookError"
CREATE_CONTAINER: Final = "CreateContainerError"
RUN_CONTAINER: Final = "RunContainerError"
POST_START_HOOK: Final = "PostStartHookError"


class StartError(OctoletError):
    """A sandbox or a container could not be started this time; its events were emitted already.

    `reason` and `message` are the container's `state.waiting` (upstream `kuberuntime`, errors of startContainer and
    of the image manager). A later sync tries again.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message


@dataclass(frozen=True)
class Sandbox:
    """A sandbox that is ready. `ips` has the primary address first; empty for a pod in the host's network."""

    id: str
    attempt: int
    ips: tuple[str, ...] = ()


class KillReason(StrEnum):
    """Why a container is killed, as far as its grace depends on it."""

    OTHER = "other"
    LIVENESS = "liveness"
    STARTUP = "startup"


def _nothing(container_id: str) -> None:
    """Default of callbacks that nobody waits for."""


@dataclass(frozen=True, kw_only=True)
class KillOrder:
    """How to kill. `message` is the text of the event Killing (empty: `Stopping container <name>`).

    `grace_s` overrides the grace that the pod asks for. `skip_pre_stop` has ids of containers whose preStop hook ended
    in a former life of this process; `pre_stop_ended` is told each id whose hook ended now.
    """

    message: str = ""
    reason: KillReason = KillReason.OTHER
    grace_s: int | None = None
    skip_pre_stop: frozenset[str] = frozenset()
    pre_stop_ended: Callable[[str], None] = _nothing


@dataclass(frozen=True, kw_only=True)
class KillTarget:
    """One running container with what killing it needs; known even when its pod is not.

    `pod` is how the pod is named in texts (`name_namespace(uid)`); `ports` are the container's named ports.
    """

    container_id: str
    name: str
    pod: str
    sandbox_id: str = ""
    pre_stop: LifecycleHandler | None = None
    ports: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    deletion_grace_s: int | None = None
    termination_grace_s: int | None = None
    probe_grace_s: Mapping[KillReason, int] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, state: ContainerState, pod: Pod | None) -> Self:
        """From the container as the runtime knows it, and its pod when that is known.

        Without the pod, or when the pod no longer has such a container, labels and annotations tell what is needed.
        """
        identity = (state.labels.get(label, "") for label in (POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL))
        name, namespace, uid = identity
        container: AnyContainer | None = None
        if pod is not None:
            try:
                container = metadata.find_container(pod, state.name)
            except ConfigError:
                container = None
        if pod is None or container is None:
            return cls._from_annotations(state, f"{name}_{namespace}({uid})")
        return cls.for_container(pod, container, container_id=state.id, sandbox_id=state.sandbox_id)

    @classmethod
    def for_container(cls, pod: Pod, container: AnyContainer, *, container_id: str, sandbox_id: str) -> Self:
        """From the spec of a pod that is known."""
        return cls(
            container_id=container_id,
            name=container.name,
            pod=pod_format(pod),
            sandbox_id=sandbox_id,
            pre_stop=container.lifecycle.pre_stop if container.lifecycle is not None else None,
            ports=named_ports(container.ports),
            deletion_grace_s=pod.metadata.deletion_grace_period_seconds,
            termination_grace_s=pod.spec.termination_grace_period_seconds,
            probe_grace_s=_probe_grace(container),
        )

    @classmethod
    def _from_annotations(cls, state: ContainerState, pod: str) -> Self:
        notes = state.annotations
        return cls(
            container_id=state.id,
            name=state.labels.get(CONTAINER_NAME_LABEL, state.name),
            pod=pod,
            sandbox_id=state.sandbox_id,
            pre_stop=_decoded(notes.get(metadata.PRE_STOP_HANDLER), LifecycleHandler),
            ports=named_ports(_decoded(notes.get(metadata.PORTS), list[ContainerPort]) or []),
            deletion_grace_s=_number(notes.get(metadata.POD_DELETION_GRACE)),
            termination_grace_s=_number(notes.get(metadata.POD_TERMINATION_GRACE)),
        )


def named_ports(ports: list[ContainerPort]) -> Mapping[str, int]:
    """Port numbers by name."""
    return {port.name: port.container_port for port in ports if port.name}


def _probe_grace(container: AnyContainer) -> dict[KillReason, int]:
    if not isinstance(container, Container):
        return {}
    probes = ((KillReason.LIVENESS, container.liveness_probe), (KillReason.STARTUP, container.startup_probe))
    return {
        reason: probe.termination_grace_period_seconds
        for reason, probe in probes
        if probe is not None and probe.termination_grace_period_seconds is not None
    }


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None


def _decoded(text: str | None, kind: type[T]) -> T | None:
    """An annotation's JSON; None when it is missing or was written by somebody else in another form."""
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return None
