"""What the shell needs of the world."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Protocol

from services.pleg.model import InspectedPod, ListedPod
from shared.messages.pleg import RuntimeCondition, RuntimeHandler, RuntimePod


@dataclass(frozen=True)
class RuntimeStatus:
    """The reply to CRI Status."""

    conditions: tuple[RuntimeCondition, ...]
    handlers: tuple[RuntimeHandler, ...]
    supplemental_groups_policy: bool
    user_namespaces_host_network: bool
    mount_options: bool


@dataclass(frozen=True)
class RuntimeVersion:
    """The reply to CRI Version."""

    name: str
    version: str
    api_version: str


@dataclass(frozen=True)
class ContainerStopped:
    """A hint that a container ended. `pod_uid` is empty when the runtime did not say."""

    container_id: str
    pod_uid: str
    created_at_ns: int


class Runtime(Protocol):
    """The container runtime. All raise `shared.errors` classes."""

    async def list_pods(self, only: str) -> Mapping[str, ListedPod]:
        """All pods by UID, or that one (nothing when it is not there)."""

    async def inspect_pod(self, listed: ListedPod) -> InspectedPod:
        """The statuses of the objects that were listed, without those that are gone."""

    def stopped_containers(self) -> AsyncGenerator[ContainerStopped, None]:
        """Containers that end from now on. Raises Unsupported where the runtime cannot tell."""

    async def read_version(self) -> RuntimeVersion: ...

    async def read_status(self) -> RuntimeStatus: ...

    async def read_cgroup_driver(self) -> str:
        """`systemd`, `cgroupfs`, or empty when it does not say. Raises Unsupported for a runtime without the call."""


class Observer(Protocol):
    """Who counts and logs what happens."""

    def relisted(self, only: str, started_mono: float, ended_mono: float) -> None:
        """A listing of everything or of one pod was carried out whole."""

    def row_changed(self, uid: str, old: RuntimePod | None, new: RuntimePod | None) -> None:
        """A row is about to change."""
