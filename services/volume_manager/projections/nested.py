"""Places inside a read-only volume where containers mount other volumes. Pure (upstream `volume/util/nested_volumes`)."""

import posixpath

from shared.kube.pods import all_containers
from shared.kube.types import Pod


def nested_mount_points(pod: Pod, volume: str) -> set[str]:
    """Directories, relative to the volume, that must exist so that the runtime can mount something on them.

    Only the outermost of mounts within each other: what lies deeper belongs to the volume mounted there.
    """
    found: set[str] = set()
    for container in all_containers(pod):
        paths = sorted(posixpath.normpath(m.mount_path or "/") for m in container.volume_mounts if m.name != volume)
        for mount in container.volume_mounts:
            if mount.name != volume or mount.sub_path or mount.sub_path_expr:
                continue
            top = posixpath.normpath(mount.mount_path or "/").rstrip("/") + "/"
            outer = ""
            for path in paths:
                if path.startswith(top) and not (outer and path.startswith(outer + "/")):
                    outer = path
                    found.add(path.removeprefix(top))
    return found
