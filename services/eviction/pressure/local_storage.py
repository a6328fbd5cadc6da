"""Pods that use more local storage than they may. Pure. Source: upstream `eviction` (localStorageEviction).

Unlike pressure these limits are the pod's own: every offender goes in the same pass, without a disruption condition.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from services.eviction.pressure import texts
from services.eviction.pressure.core import HARD_GRACE_S
from services.eviction.pressure.disk import ephemeral, layers, logs
from services.eviction.pressure.model import Amounts, Candidate, ContainerUse, Eviction
from shared.kube.pods import effective_limits, is_restartable_init
from shared.kube.quantity import InvalidQuantity, value
from shared.kube.types import Container, Pod

_STORAGE: Final = "ephemeral-storage"
EMPTY_DIR_SIGNAL: Final = "emptydirfs.limit"
POD_SIGNAL: Final = "ephemeralpodfs.limit"
CONTAINER_SIGNAL: Final = "ephemeralcontainerfs.limit"


def has_limits(pod: Pod) -> bool:
    """Whether there is anything to check: an emptyDir with a size, or a storage limit."""
    if any(v.empty_dir is not None and v.empty_dir.size_limit for v in pod.spec.volumes):
        return True
    return any(c.resources is not None and _STORAGE in c.resources.limits for c in _containers(pod))


def find_excess(candidate: Candidate, *, dedicated_imagefs: bool) -> Eviction | None:
    """The first limit that is exceeded; figures that are missing exceed nothing."""
    if candidate.use is None:
        return None
    try:
        return (
            _empty_dirs(candidate.pod, candidate.use.volumes)
            or _whole_pod(candidate)
            or _single_containers(candidate, candidate.use.containers, dedicated_imagefs)
        )
    except InvalidQuantity:
        return None


def _empty_dirs(pod: Pod, volumes: Mapping[str, Amounts]) -> Eviction | None:
    for volume in pod.spec.volumes:
        limit = volume.empty_dir.size_limit if volume.empty_dir is not None else None
        if limit and value(limit) > 0 and volumes.get(volume.name, Amounts()).bytes > value(limit):
            return _eviction(texts.empty_dir_message(volume.name, limit), EMPTY_DIR_SIGNAL)
    return None


def _whole_pod(candidate: Candidate) -> Eviction | None:
    limit = effective_limits(candidate.pod).get(_STORAGE)
    used = ephemeral(candidate)
    if limit is None or used is None or used.bytes <= value(limit):
        return None
    return _eviction(texts.pod_storage_message(limit), POD_SIGNAL)


def _single_containers(
    candidate: Candidate, containers: Iterable[ContainerUse], dedicated_imagefs: bool
) -> Eviction | None:
    used = {c.name: (logs([c]) if dedicated_imagefs else logs([c]) + layers([c])).bytes for c in containers}
    for container in _containers(candidate.pod):
        limit = container.resources.limits.get(_STORAGE) if container.resources is not None else None
        amount = used.get(container.name)
        if limit is not None and amount is not None and value(limit) > 0 and amount > value(limit):
            return _eviction(texts.container_storage_message(container.name, limit), CONTAINER_SIGNAL)
    return None


def _containers(pod: Pod) -> list[Container]:
    """Those that a limit is checked for: regular containers and sidecars."""
    return [*(c for c in pod.spec.init_containers if is_restartable_init(c)), *pod.spec.containers]


def _eviction(message: str, signal: str) -> Eviction:
    return Eviction(message, signal, HARD_GRACE_S, disruption=False)
