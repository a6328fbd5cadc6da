"""A path below a volume, bound so that its owner can no longer turn it into something else.

The path is opened safely (see `open_below`), and what was opened is bound to a path of the node's own, which the
container is given (upstream `pkg/volume/util/subpath`, doBindSubPath and doSafeMakeDir). The binds are undone by
volume_manager when the volume is unmounted.
"""

import asyncio
import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.pod_sync.environment.model import ConfigError, PodContext
from services.pod_sync.runtime.bind_mount import bind, detach
from services.pod_sync.runtime.open_below import open_below, parts_inside, step
from shared.kube.pods import all_containers

_DIR_MODE: Final = 0o750
_FILE_MODE: Final = 0o640
_DIR_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class SubpathRequest:
    """One volume mount with a path below its volume, and where its bind goes."""

    volume_path: str
    below: str
    target: str


class Subpaths:
    """Prepares sub-paths of volumes for containers."""

    async def prepare(self, pod: PodContext, container: str, *, index: int, below: str) -> str:
        """The host path to mount for the volume mount at that index. Raises ConfigError with upstream's short text."""
        mount = next(c for c in all_containers(pod.pod) if c.name == container).volume_mounts[index]
        volume = pod.volumes.get(mount.name)
        if volume is None:
            raise ConfigError(f'cannot find volume "{mount.name}" to mount into container "{container}"')
        folder = f"{pod.pod_dir}/volume-subpaths/{spec_name(volume.host_path, mount.name)}/{container}"
        request = SubpathRequest(volume.host_path, below, f"{folder}/{index}")
        where = f'for volumeMount "{mount.name}" of container "{container}"'
        try:
            await asyncio.to_thread(ensure_directory, request)
        except OSError as error:
            raise ConfigError(f"failed to create subPath directory {where}") from error
        try:
            return await asyncio.to_thread(bind_subpath, request)
        except OSError as error:
            raise ConfigError(f"failed to prepare subPath {where}") from error


def spec_name(volume_path: str, volume: str) -> str:
    """The volume's own name in paths: that of a claim's volume is not the name that the pod gives it. Pure."""
    parts = volume_path.split("/volumes/", 1)
    if len(parts) == 2 and parts[1].count("/"):
        return parts[1].split("/")[1]
    return volume


def ensure_directory(request: SubpathRequest) -> None:
    """Make the path below the volume if it is not there, with the volume's own mode. Raises OSError."""
    base = os.path.realpath(request.volume_path)
    full = os.path.realpath(f"{base}/{request.below}")
    if os.path.lexists(full):
        return
    mode = stat.S_IMODE(Path(base).stat().st_mode)
    fd = os.open(base, _DIR_FLAGS)
    try:
        for part in parts_inside(base, full):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, _DIR_MODE, dir_fd=fd)
                _set_mode(part, mode, fd)  # mkdir obeys the umask and ignores the set-group-id bit
            fd = step(part, fd, _DIR_FLAGS)
    finally:
        os.close(fd)


def bind_subpath(request: SubpathRequest) -> str:
    """Bind the path to its target and give the target. A bind that is there already and right is kept."""
    fd = open_below(request.volume_path, request.below)
    try:
        wanted = os.fstat(fd)
        if not _is_bound(request.target, wanted):
            _make_target(request.target, is_directory=stat.S_ISDIR(wanted.st_mode))
            bind(f"/proc/self/fd/{fd}", request.target)
    finally:
        os.close(fd)
    return request.target


def _set_mode(part: str, mode: int, parent_fd: int) -> None:
    fd = os.open(part, _DIR_FLAGS, dir_fd=parent_fd)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _is_bound(target: str, wanted: os.stat_result) -> bool:
    try:
        found = Path(target).stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino)


def _make_target(target: str, *, is_directory: bool) -> None:
    """An empty file or folder to bind onto, in place of whatever an earlier start left there."""
    detach(target)  # of another file: the volume's content was replaced since
    Path(target).parent.mkdir(mode=_DIR_MODE, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if Path(target).is_dir() != is_directory:
            _remove_empty(target)
    if is_directory:
        Path(target).mkdir(mode=_DIR_MODE, exist_ok=True)
    else:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _FILE_MODE))


def _remove_empty(path: str) -> None:
    if Path(path).is_dir():
        Path(path).rmdir()
    else:
        Path(path).unlink()
