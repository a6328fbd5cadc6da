"""emptyDir: a directory that lives as long as its pod, on disk, in memory or in huge pages (upstream `volume/emptydir`).

A marker outside of the volume says that it was set up whole, so that a set-up after a restart touches nothing that is
in use. Order of a set-up: directory, mount (unless on disk), group, marker; of a tear-down: marker, mount, directory.
Whatever is cut off in between is either repeated by the next set-up or found as a directory and torn down.
"""

from fractions import Fraction
from typing import Final

from services.volume_manager.model import VolumeKey
from services.volume_manager.ports import Filesystem, Machine, Mount
from services.volume_manager.volumes.base import VolumeRequest, marker_dir, volume_path
from shared.errors import Invalid, Transient
from shared.kube import quantity
from shared.kube.types import Container, EmptyDirVolumeSource, Pod
from shared.messages.volume_manager import MountedVolume

PLUGIN: Final = "kubernetes.io/empty-dir"
_MODE: Final = 0o777
_DIRECTORY_MODE: Final = 0o750
_MEMORY: Final = "Memory"
_HUGE_PAGES: Final = "HugePages"
_HUGE_PAGES_PREFIX: Final = "hugepages-"


def tmpfs_size_bytes(pod: Pod, size_limit: str | None, allocatable_bytes: int) -> int:
    """How large a memory volume may grow: the node's allocatable, the pod's memory limit or sizeLimit, the least of them.

    0: no limit. A limit that is larger than what is already allowed, or zero, changes nothing.
    """
    size = allocatable_bytes
    for limit in (pod_memory_limit_bytes(pod), _bytes(size_limit, "sizeLimit") if size_limit else 0):
        if 0 < limit <= size:
            size = limit
    return size


def pod_memory_limit_bytes(pod: Pod) -> int:
    """The memory limit of the whole pod; 0 unless it has one of its own or every container that counts has one."""
    if pod.spec.resources and "memory" in pod.spec.resources.limits:
        return _bytes(pod.spec.resources.limits["memory"], "memory limit of the pod")
    together = 0
    largest_init = 0
    sidecars = 0
    for container in pod.spec.init_containers:
        limit = _memory_limit(container)
        if limit == 0:
            return 0
        if container.restart_policy == "Always":
            sidecars += limit
            largest_init = max(largest_init, sidecars)
        else:
            largest_init = max(largest_init, sidecars + limit)
    for container in pod.spec.containers:
        limit = _memory_limit(container)
        if limit == 0:
            return 0
        together += limit
    overhead = _bytes(pod.spec.overhead["memory"], "memory overhead") if "memory" in pod.spec.overhead else 0
    return max(together + sidecars, largest_init) + overhead


def _memory_limit(container: Container) -> int:
    limits = container.resources.limits if container.resources else {}
    return _bytes(limits["memory"], f"memory limit of container {container.name}") if "memory" in limits else 0


def huge_page_size(pod: Pod, medium: str) -> str:
    """The page size to mount with, as a quantity such as `2Mi`. Raises Invalid with upstream's text."""
    names: set[str] = set()
    if pod.spec.resources:
        names |= pod.spec.resources.requests.keys()
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        if container.resources:
            names |= container.resources.requests.keys()
    sizes = {s: _bytes(s, f"resource {name}") for name in names if (s := name.removeprefix(_HUGE_PAGES_PREFIX)) != name}
    if medium == _HUGE_PAGES:
        if len(set(sizes.values())) > 1:
            raise Invalid(f"medium: {medium} can't be used if container requests multiple huge page sizes")
        wanted = sizes
    else:
        asked = _bytes(medium.removeprefix(f"{_HUGE_PAGES}-"), f"medium {medium}")
        wanted = {size: value for size, value in sizes.items() if value == asked}
    if not wanted:
        raise Invalid(f"medium {medium}: hugePages storage requested, but there is no resource request for huge pages")
    return quantity.format_bytes(next(iter(wanted.values())))


def _bytes(text: str, what: str) -> int:
    """A quantity of a pod's own making. Raises Invalid naming `what` it is."""
    try:
        return quantity.value(text)
    except quantity.InvalidQuantity as e:
        raise Invalid(f"{what}: {e}") from e


def mount_of(files: Filesystem, path: str) -> Mount | None:
    """The topmost mount exactly on `path`."""
    return next((m for m in files.mounts_below(path) if m.target == path), None)


def make_directory(files: Filesystem, path: str) -> None:
    """The volume's directory, usable by everybody whatever the umask."""
    files.make_dir(path.rpartition("/")[0], _DIRECTORY_MODE)
    files.make_dir(path, _MODE)
    seen = files.stat(path)
    if seen is not None and seen.mode & 0o777 != _MODE:
        files.set_mode(path, _MODE)


def set_up_tmpfs(files: Filesystem, path: str, size_bytes: int, *, noswap: bool) -> None:
    """A tmpfs on `path`, unless something is mounted there already (it is in use: its size stays)."""
    make_directory(files, path)
    if mount_of(files, path) is not None:
        return
    options = ((f"size={size_bytes}",) if size_bytes else ()) + (("noswap",) if noswap else ())
    files.mount("tmpfs", path, "tmpfs", options)


def _set_up_huge_pages(files: Filesystem, request: VolumeRequest, medium: str) -> None:
    size = huge_page_size(request.pod, medium)
    make_directory(files, request.path)
    mounted = mount_of(files, request.path)
    if mounted is None:
        files.mount("nodev", request.path, "hugetlbfs", (f"pagesize={size}",))
        return
    actual = next((o.removeprefix("pagesize=") for o in mounted.options if o.startswith("pagesize=")), "")
    if not actual or _kernel_size(actual) != quantity.parse(size):
        name = request.pod.metadata.name
        raise Invalid(
            f"pod {name}: mounted dir {request.path} pagesize '{actual}' and requested medium size '{size}' differ"
        )


def _kernel_size(text: str) -> Fraction:
    """The kernel writes `2M` and means 2Mi."""
    return quantity.parse(text + "i" if text[-1:] in "KMGT" else text)


def tear_down(files: Filesystem, pod_dir: str, key: VolumeKey) -> None:
    """Forget that it was set up, unmount, then delete it with its content. Missing parts are success."""
    files.remove_file(f"{marker_dir(pod_dir, key)}/ready")
    path = volume_path(pod_dir, key)
    mounts = files.mounts_below(path)
    for mount in mounts:
        if mount.target != path:
            raise Transient(f"cannot delete directory {mount.target}: it is a mount point")
    for _ in mounts:
        files.unmount(path)
    files.remove_tree(path)


class EmptyDir:
    """See `base.VolumeType`."""

    plugin = PLUGIN
    source = "empty_dir"
    follows_pod = False
    has_usage = True

    async def set_up(self, request: VolumeRequest, machine: Machine) -> MountedVolume:
        source = request.volume.empty_dir or EmptyDirVolumeSource()
        medium = source.medium or ""
        size = 0
        if medium == _MEMORY:
            size = tmpfs_size_bytes(request.pod, source.size_limit, machine.allocatable_memory())
        await machine.run(lambda: self._set_up(request, machine, medium, size))
        return MountedVolume(host_path=request.path, selinux_relabel=machine.relabels())

    async def tear_down(self, pod_dir: str, key: VolumeKey, machine: Machine) -> None:
        await machine.run(lambda: tear_down(machine.files, pod_dir, key))

    def _set_up(self, request: VolumeRequest, machine: Machine, medium: str, size_bytes: int) -> None:
        files, path = machine.files, request.path
        ready = f"{request.marker_dir}/ready"
        if files.stat(ready) is not None:
            if medium == "" and files.stat(path) is not None:
                return
            if medium == _MEMORY and mount_of(files, path) is not None:
                return
            files.remove_file(ready)
        if medium == "":
            make_directory(files, path)
        elif medium == _MEMORY:
            set_up_tmpfs(files, path, size_bytes, noswap=machine.mount_tmpfs_option_noswap())
        elif medium == _HUGE_PAGES or medium.startswith(f"{_HUGE_PAGES}-"):
            _set_up_huge_pages(files, request, medium)
        else:
            raise Invalid(f'unknown storage medium "{medium}"')
        if request.fs_group is not None:
            files.give_to_group(path, request.fs_group, read_only=False)
        files.make_dir(request.marker_dir, _DIRECTORY_MODE)
        files.make_file(ready, 0o644)
