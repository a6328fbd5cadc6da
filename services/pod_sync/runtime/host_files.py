"""The host's files around a container: log folders, etc-hosts, the termination log, links to logs.

All paths and modes are upstream's, so that a node can be handed over.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from services.pod_sync.environment.metadata import attempt_after_logs, legacy_log_name
from services.pod_sync.environment.variables import EnvFile
from services.pod_sync.runtime.open_below import open_below

_LOG_DIR_MODE: Final = 0o755
_CONTAINER_DIR_MODE: Final = 0o750
_TERMINATION_LOG_MODE: Final = 0o666
_HOSTS_MODE: Final = 0o644
_MAX_RESOLVER_BYTES: Final = 10 * 1024 * 1024
_MAX_ENV_FILE_BYTES: Final = 64 * 1024


class HostFiles:
    """Files that containers need on the host. Raises OSError; the caller says what that means for the pod.

    `legacy_logs_dir` is where links `<pod>_<namespace>_<container>-<id>.log` go; `resolver_path` empty: none;
    `node_hosts_path` is what pods in the host's network get.
    """

    def __init__(
        self,
        *,
        legacy_logs_dir: str = "/var/log/containers",
        resolver_path: str = "/etc/resolv.conf",
        node_hosts_path: str = "/etc/hosts",
    ) -> None:
        self._legacy_logs_dir = Path(legacy_logs_dir)
        self._resolver_path = resolver_path
        self._node_hosts_path = Path(node_hosts_path)

    def ensure_log_dir(self, path: str) -> None:
        """A pod's or a container's log folder."""
        Path(path).mkdir(mode=_LOG_DIR_MODE, parents=True, exist_ok=True)

    def next_attempt(self, container_log_dir: str) -> int:
        """The restart count that follows from the log files that are there; 0 without the folder."""
        try:
            return attempt_after_logs(entry.name for entry in Path(container_log_dir).iterdir())
        except FileNotFoundError:
            return 0

    def resolver_text(self) -> str:
        """The node's resolver file; empty when the node is set up without one."""
        if not self._resolver_path:
            return ""
        with Path(self._resolver_path).open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_RESOLVER_BYTES)

    def env_file_text(self, file: EnvFile) -> str | None:
        """An environment file on a volume; None when it cannot be read, or lies outside of the volume."""
        try:
            fd = open_below(file.volume_path, file.below)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            with Path(f"/proc/self/fd/{fd}").open(encoding="utf-8", errors="surrogateescape", newline="") as opened:
                return opened.read(_MAX_ENV_FILE_BYTES)
        finally:
            os.close(fd)

    def node_hosts(self) -> str:
        """The node's own hosts file."""
        return self._node_hosts_path.read_text(encoding="utf-8", errors="replace")

    def write_hosts(self, pod_dir: str, text: str) -> str:
        """Write the pod's etc-hosts and give its path.

        It is written in place: the file itself is mounted into running containers, a new one they would not see.
        """
        path = f"{pod_dir}/etc-hosts"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, _HOSTS_MODE)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), _HOSTS_MODE)
        return path

    def make_termination_log(self, pod_dir: str, container: str) -> str:
        """A new empty file that the container may write its last words to. Gives its path."""
        folder = Path(pod_dir, "containers", container)
        folder.parent.mkdir(mode=_CONTAINER_DIR_MODE, exist_ok=True)
        folder.mkdir(mode=_CONTAINER_DIR_MODE, exist_ok=True)
        path = folder / secrets.token_hex(4)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _TERMINATION_LOG_MODE)
        try:
            os.fchmod(fd, _TERMINATION_LOG_MODE)  # whatever the umask is: the container may run as any user
        finally:
            os.close(fd)
        return str(path)

    def link_legacy_log(
        self, log_path: str, *, pod_name: str, namespace: str, container: str, container_id: str
    ) -> None:
        """Link the log from where log collectors look for it. Nothing when the log does not exist yet."""
        if not Path(log_path).exists():
            return
        self._legacy_logs_dir.mkdir(mode=_LOG_DIR_MODE, parents=True, exist_ok=True)
        name = legacy_log_name(pod_name, namespace, container=container, container_id=container_id)
        with contextlib.suppress(FileExistsError):
            (self._legacy_logs_dir / name).symlink_to(log_path)

    def remove_logs(self, log_path: str, *, pod_name: str, namespace: str, container: str, container_id: str) -> None:
        """Remove a container's log, its rotated parts and its link."""
        log = Path(log_path)
        if log_path and log.parent.is_dir():
            for entry in log.parent.iterdir():
                if entry.name.startswith(log.name):
                    entry.unlink(missing_ok=True)
        name = legacy_log_name(pod_name, namespace, container=container, container_id=container_id)
        (self._legacy_logs_dir / name).unlink(missing_ok=True)
