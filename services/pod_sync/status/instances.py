"""One instance of a container, as the runtime lists it, in the words of the API (upstream `convertToAPIContainerStatuses`)."""

from typing import Final

from msgspec.structs import replace

from services.pod_sync.status.model import KILLED, RESTARTING_ALL, STATUS_UNKNOWN, StatusContext, wire_time_ns
from services.pod_sync.status.resources import running_resources
from shared.kube.types import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    LinuxContainerUser,
    ResourceRequirements,
)
from shared.messages import pleg

RESTART_COUNT: Final = "io.kubernetes.container.restartCount"
LOST_AT_END: Final = "The container could not be located when the pod was terminated"


def container_id(ctx: StatusContext, instance: pleg.ContainerState) -> str:
    """`containerd://<id>`"""
    return f"{ctx.runtime_name}://{instance.id}"


def state_of(
    ctx: StatusContext, instance: pleg.ContainerState, old: ContainerStatus | None, *, restarting_all: bool
) -> ContainerState:
    """The instance's state. One that the runtime lost track of while it ran counts as killed."""
    match instance.state:
        case "running":
            return ContainerState(running=ContainerStateRunning(started_at=wire_time_ns(instance.started_at_ns)))
        case "exited":
            return ContainerState(
                terminated=ContainerStateTerminated(
                    exit_code=instance.exit_code,
                    reason=instance.reason or None,
                    message=ctx.messages.get(instance.id, instance.message) or None,
                    started_at=wire_time_ns(instance.started_at_ns),
                    finished_at=wire_time_ns(instance.finished_at_ns),
                    container_id=container_id(ctx, instance),
                )
            )
        case "unknown" if _counts_as_lost(ctx, instance, old):
            reason = RESTARTING_ALL if restarting_all else STATUS_UNKNOWN
            ended = ContainerStateTerminated(exit_code=KILLED, reason=reason, message=LOST_AT_END)
            # Upstream does not say which container it was; logs of its last words could then not be found.
            return ContainerState(terminated=replace(ended, container_id=container_id(ctx, instance)))
        case _:
            return ContainerState(waiting=ContainerStateWaiting())


def _counts_as_lost(ctx: StatusContext, instance: pleg.ContainerState, old: ContainerStatus | None) -> bool:
    """It ran when it was last seen, or was already said to be lost (which may have become the last state since)."""
    if old is None:
        return False
    if old.state.running is not None:
        return True
    said = old.state.terminated or (old.last_state.terminated if old.state.waiting is not None else None)
    return said is not None and said.message == LOST_AT_END and old.container_id == container_id(ctx, instance)


def newest_status(
    ctx: StatusContext,
    container: Container,
    instance: pleg.ContainerState,
    old: ContainerStatus | None,
    *,
    restarting_all: bool,
) -> ContainerStatus:
    """The status that the newest instance gives; what it cannot know (last state, mounts) comes from the old one."""
    state = state_of(ctx, instance, old, restarting_all=restarting_all)
    status = ContainerStatus(
        name=container.name,
        container_id=container_id(ctx, instance),
        image=instance.image,
        image_id=instance.image_ref,
        state=state,
        resources=container.resources or ResourceRequirements(),
        user=_user(instance),
    )
    if state.running is not None:
        status = replace(status, resources=running_resources(container, instance, status, old))
    return replace(
        status,
        restart_count=_restart_count(instance, status, old),
        last_state=_last_state_without_instance(status, old),
    )


def _user(instance: pleg.ContainerState) -> ContainerUser | None:
    if instance.user_uid is None or instance.user_gid is None:
        return None
    groups = list(instance.supplemental_groups)
    return ContainerUser(
        linux=LinuxContainerUser(uid=instance.user_uid, gid=instance.user_gid, supplemental_groups=groups)
    )


def _restart_count(instance: pleg.ContainerState, status: ContainerStatus, old: ContainerStatus | None) -> int:
    """The count the container was created with, but never less than was said before; a start after an end is one more."""
    annotation = instance.annotations.get(RESTART_COUNT, "")
    count = int(annotation) if annotation.isascii() and annotation.isdigit() else instance.attempt
    if old is None:
        return count
    lost_now = status.state.terminated is not None and status.state.terminated.message == LOST_AT_END
    if lost_now and old.state.running is not None:
        return max(count, old.restart_count + 1)
    started_again = status.state.running is not None and old.state.terminated is not None
    if started_again and old.restart_count >= count:
        return old.restart_count + 1
    return max(count, old.restart_count)


def _last_state_without_instance(status: ContainerStatus, old: ContainerStatus | None) -> ContainerState:
    """The last state when no second instance is left to tell it. An end is never its own last state."""
    if old is None:
        return ContainerState()
    if old.state.terminated is not None and old.container_id != status.container_id:
        return ContainerState(terminated=old.state.terminated)
    ended = old.last_state.terminated
    if ended is not None and ended.container_id != status.container_id:
        return ContainerState(terminated=ended)
    return ContainerState()
