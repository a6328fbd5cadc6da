"""How much of which file system a pod takes. Pure. Source: upstream `eviction` (podDiskUsage, localVolumeNames)."""

from collections.abc import Iterable
from typing import Final

from services.eviction.pressure.model import Amounts, Candidate, ContainerUse
from shared.kube.types import Volume

MEMORY_MEDIUM: Final = "Memory"
_IMAGE_FS: Final = "imagefs."


def used_on(candidate: Candidate, signal: str, *, dedicated_imagefs: bool) -> Amounts | None:
    """What counts for a disk signal; None: there are no figures of the pod.

    With images on a disk of their own, layers are there and logs and volumes are on the node's; else all is on one.
    """
    if candidate.use is None:
        return None
    containers = candidate.use.containers
    if dedicated_imagefs and signal.startswith(_IMAGE_FS):
        return layers(containers)
    local = {v.name for v in candidate.pod.spec.volumes if _is_local(v) or v.host_path is not None}
    on_node = logs(containers) + total(a for name, a in candidate.use.volumes.items() if name in local)
    return on_node if dedicated_imagefs else on_node + layers(containers)


def ephemeral(candidate: Candidate) -> Amounts | None:
    """All local storage that is charged to the pod's own limit, wherever it lies."""
    if candidate.use is None:
        return None
    local = {v.name for v in candidate.pod.spec.volumes if _is_local(v)}
    containers = candidate.use.containers
    volumes = total(a for name, a in candidate.use.volumes.items() if name in local)
    return layers(containers) + logs(containers) + volumes


def layers(containers: Iterable[ContainerUse]) -> Amounts:
    return total(c.layer for c in containers if c.layer is not None)


def logs(containers: Iterable[ContainerUse]) -> Amounts:
    return total(c.logs for c in containers if c.logs is not None)


def total(amounts: Iterable[Amounts]) -> Amounts:
    return sum(amounts, Amounts())


def _is_local(volume: Volume) -> bool:
    """Volumes whose content lies below the pod's directory and is the pod's own."""
    empty = volume.empty_dir
    on_disk = empty is not None and empty.medium in (None, "")
    return on_disk or volume.config_map is not None or volume.git_repo is not None
