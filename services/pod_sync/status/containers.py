"""Statuses of the containers of one kind (upstream `kubelet_pods`, `convertToAPIContainerStatuses`).

In this order, each over the one before: a default from the spec and the old status; what became of containers that the
runtime does not list; the newest and second newest instance; why a container that is to be started again waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from services.pod_sync.containers.core_restart import should_restart
from services.pod_sync.status.instances import newest_status, state_of
from services.pod_sync.status.model import KILLED, RESTARTING_ALL, STATUS_UNKNOWN, StatusContext
from shared.kube.pods import is_restartable_init
from shared.kube.types import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    EphemeralContainer,
    ResourceRequirements,
    VolumeMount,
    VolumeMountStatus,
)
from shared.messages import pleg

Kind = Literal["init", "regular", "ephemeral"]

_LOST: Final = "The container could not be located when the pod was deleted.  The container used to be Running"
_REMOVED: Final = "The container is removed because RestartAllContainers in place"
_INIT_LOST: Final = (
    "Unable to get init container status from container runtime and pod has been initialized,"
    " treat it as exited normally"
)


@dataclass(frozen=True)
class _Around:
    """What is the same for all containers of the pod."""

    ctx: StatusContext
    kind: Kind
    restarting_all: bool
    any_regular: bool
    """a regular container was ever created, in whatever sandbox"""


def container_statuses(ctx: StatusContext, kind: Kind, *, restarting_all: bool) -> list[ContainerStatus]:
    """One status per container of the spec: init containers in its order, others by name."""
    spec, last = ctx.pod.spec, ctx.last
    containers, before = {
        "init": (list(spec.init_containers), last.init_container_statuses),
        "regular": (list(spec.containers), last.container_statuses),
        "ephemeral": ([as_container(e) for e in spec.ephemeral_containers], last.ephemeral_container_statuses),
    }[kind]
    regular = {c.name for c in spec.containers}
    any_regular = ctx.seen is not None and any(i.name in regular for i in ctx.seen.containers)
    around = _Around(ctx, kind, restarting_all, any_regular)
    old = {status.name: status for status in before}
    statuses = [_status(around, c, old.get(c.name)) for c in containers]
    return statuses if kind == "init" else sorted(statuses, key=lambda s: s.name)


def as_container(ephemeral: EphemeralContainer) -> Container:
    """An ephemeral container has all fields of a container, and one more."""
    fields = msgspec.structs.asdict(ephemeral)
    del fields["target_container_name"]
    return Container(**fields)


def _status(around: _Around, container: Container, old: ContainerStatus | None) -> ContainerStatus:
    instances = _instances(around.ctx, container.name)
    own = _from_instances(around, container, instances, old) if instances else _without_instance(around, container, old)
    status = _common(around, container, own, old)
    return _waiting_for_start(around, container, status, instances[0] if instances else None)


def _instances(ctx: StatusContext, name: str) -> Sequence[pleg.ContainerState]:
    """Newest first, as pleg lists them."""
    return [i for i in ctx.seen.containers if i.name == name] if ctx.seen is not None else []


def _from_instances(
    around: _Around, container: Container, instances: Sequence[pleg.ContainerState], old: ContainerStatus | None
) -> ContainerStatus:
    again = around.restarting_all
    status = newest_status(around.ctx, container, instances[0], old, restarting_all=again)
    before = state_of(around.ctx, instances[1], None, restarting_all=again) if len(instances) > 1 else ContainerState()
    return replace(status, last_state=before) if before.terminated is not None else status


def _without_instance(around: _Around, container: Container, old: ContainerStatus | None) -> ContainerStatus:
    """Never created, or gone from the runtime."""
    status = ContainerStatus(
        name=container.name,
        image=container.image,
        state=ContainerState(waiting=ContainerStateWaiting(reason=_default_reason(around))),
        resources=container.resources or ResourceRequirements(),
    )
    removed = around.restarting_all and around.kind != "ephemeral"
    if removed and old is not None and old.state.waiting is None:
        return _removed(status, old)
    ended = old.state.terminated if old is not None else None
    must_be_done = around.kind == "init" and around.any_regular and not removed and not is_restartable_init(container)
    if must_be_done and (ended is None or ended.exit_code != 0):
        done = ContainerStateTerminated(exit_code=0, reason="Completed", message=_INIT_LOST)
        return replace(_carried(status, old), state=ContainerState(terminated=done))
    if old is not None and ended is not None:
        return old
    if old is None:
        return status
    status = _carried(status, old)
    if old.state.waiting is not None and old.state.waiting.reason == RESTARTING_ALL:
        return replace(status, state=old.state)
    if old.state.running is None or old.last_state.terminated is not None:
        return status
    lost = ContainerStateTerminated(exit_code=KILLED, reason=STATUS_UNKNOWN, message=_LOST)
    more = 0 if around.ctx.pod.metadata.deletion_timestamp is not None else 1
    return replace(status, last_state=ContainerState(terminated=lost), restart_count=old.restart_count + more)


def _default_reason(around: _Around) -> str:
    return "PodInitializing" if around.ctx.pod.spec.init_containers else "ContainerCreating"


def _carried(status: ContainerStatus, old: ContainerStatus | None) -> ContainerStatus:
    """Restart count and last state, and which container that was, if it is told as the last state."""
    if old is None:
        return status
    status = replace(status, restart_count=old.restart_count, last_state=old.last_state)
    ended = old.last_state.terminated
    if ended is None or ended.container_id is None or ended.container_id != old.container_id:
        return status
    return replace(
        status,
        container_id=old.container_id,
        image=old.image,
        image_id=old.image_id,
        user=old.user,
        resources=old.resources,
    )


def _removed(status: ContainerStatus, old: ContainerStatus) -> ContainerStatus:
    """RestartAllContainers removed it; kept until it is made anew."""
    ended = ContainerStateTerminated(exit_code=KILLED, reason=RESTARTING_ALL, message=_REMOVED)
    return replace(
        status,
        state=ContainerState(waiting=ContainerStateWaiting(reason=RESTARTING_ALL, message=_REMOVED)),
        last_state=ContainerState(terminated=ended),
        restart_count=old.restart_count + 1,
    )


def _common(
    around: _Around, container: Container, status: ContainerStatus, old: ContainerStatus | None
) -> ContainerStatus:
    """What does not depend on how far the container is. Mounts stay as they were first told."""
    mounts = old.volume_mounts if old is not None and old.volume_mounts else _mounts(around.ctx, container)
    health = old.allocated_resources_status if old is not None else []
    if around.ctx.health is not None:
        health = around.ctx.health.get(container.name, [])
    requests = container.resources.requests if container.resources is not None else {}
    return replace(status, volume_mounts=mounts, allocated_resources_status=health, allocated_resources=dict(requests))


def _mounts(ctx: StatusContext, container: Container) -> list[VolumeMountStatus]:
    return [
        VolumeMountStatus(
            name=mount.name,
            mount_path=mount.mount_path,
            read_only=mount.read_only or None,
            recursive_read_only=_recursive(ctx, mount) if mount.read_only else None,
        )
        for mount in container.volume_mounts
    ]


def _recursive(ctx: StatusContext, mount: VolumeMount) -> str:
    wanted = mount.recursive_read_only == "Enabled" or (
        mount.recursive_read_only == "IfPossible" and ctx.recursive_read_only
    )
    return "Enabled" if wanted else "Disabled"


def _waiting_for_start(
    around: _Around, container: Container, status: ContainerStatus, newest: pleg.ContainerState | None
) -> ContainerStatus:
    """A container that is to be started and could not be is waiting, with the reason; its end becomes the last state."""
    ended = status.state.terminated
    if around.kind == "init" and ended is not None and ended.exit_code == 0:
        return status
    reason = around.ctx.reasons.get(container.name)
    if reason is None or not should_restart(around.ctx.pod, container, newest):
        return status
    waiting = ContainerState(waiting=ContainerStateWaiting(reason=reason.reason, message=reason.message or None))
    if ended is not None:
        status = replace(status, last_state=status.state)
    return replace(status, state=waiting)
