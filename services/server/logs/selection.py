"""Which container instance a log request means, from the pod's status (upstream `validateContainerLogStatus`)."""

from shared.kube.types import ContainerStatus, Pod, PodStatus


class NoLog(LookupError):
    """Answered with 400 and this text."""


def has_container(pod: Pod, name: str) -> bool:
    """Whether the spec has a container of any kind of that name."""
    spec = pod.spec
    names = {c.name for c in (*spec.containers, *spec.init_containers)} | {c.name for c in spec.ephemeral_containers}
    return name in names


def select_container(pod_name: str, status: PodStatus, name: str, *, previous: bool) -> str:
    """The bare id of the instance to read. Raises NoLog."""
    statuses = (*status.container_statuses, *status.init_container_statuses, *status.ephemeral_container_statuses)
    found = next((s for s in statuses if s.name == name), None)
    label = f'container "{name}" in pod "{pod_name}"'
    if found is None:
        raise NoLog(f"{label} is not available")
    if previous:
        last = _last_terminated_id(found)
        if not last:
            raise NoLog(f'previous terminated container "{name}" in pod "{pod_name}" not found')
        return bare_id(last)
    return bare_id(_current_id(found, label))


def _current_id(found: ContainerStatus, label: str) -> str:
    state = found.state
    if state and state.running:
        return found.container_id or ""
    if state and state.terminated:
        chosen = state.terminated.container_id or _last_terminated_id(found)
        if not chosen:
            raise NoLog(f"{label} is terminated")
        return chosen
    last = _last_terminated_id(found)
    if last:
        return last
    if state and state.waiting:
        texts = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}
        reason = state.waiting.reason or ""
        raise NoLog(f"{label} is waiting to start: {texts.get(reason, reason)}")
    raise NoLog(f"{label} is waiting to start - no logs yet")


def _last_terminated_id(found: ContainerStatus) -> str:
    last = found.last_state.terminated if found.last_state else None
    return (last.container_id if last else None) or ""


def bare_id(container_id: str) -> str:
    """`containerd://3f2a` without the runtime's name."""
    return container_id.partition("://")[2] or container_id
