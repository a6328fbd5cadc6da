"""The last words of a container (upstream `kuberuntime`, getTerminationMessage and its callers)."""

import errno
import os
import stat
from typing import Final

from services.pod_sync.environment.metadata import TERMINATION_MESSAGE_PATH, TERMINATION_MESSAGE_POLICY
from services.pod_sync.runtime.log_tail import log_tail
from shared.messages.pleg import ContainerState

_MAX_FILE_BYTES: Final = 4096
_MAX_LOG_BYTES: Final = 2048
_MAX_LOG_LINES: Final = 80
_FALLBACK: Final = "FallbackToLogsOnError"
_CANNOT_RUN: Final = "ContainerCannotRun"


def termination_message(state: ContainerState) -> str:
    """What `state.terminated.message` says of an exited container: the runtime's message and the container's own.

    The container's own is the end of its termination log; if that is empty and the container asked for it and failed,
    the end of its log. A file that cannot be read is told in the text.
    """
    falls_back = (
        state.annotations.get(TERMINATION_MESSAGE_POLICY) == _FALLBACK
        and state.exit_code != 0
        and state.reason != _CANNOT_RUN
    )
    own = _from_file(state)
    if not own and falls_back and state.log_path:
        own = _from_log(state.log_path)
    return ": ".join(part for part in (state.message, own) if part)


def _from_file(state: ContainerState) -> str:
    path = state.annotations.get(TERMINATION_MESSAGE_PATH, "")
    host_path = next((mount.host_path for mount in state.mounts if path and mount.container_path == path), "")
    if not host_path:
        return ""
    try:
        return tail_bytes(host_path, _MAX_FILE_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"Error on reading termination log {host_path}: {_reason('open', error)}"


def _from_log(path: str) -> str:
    try:
        return log_tail(path, lines=_MAX_LOG_LINES, max_bytes=_MAX_LOG_BYTES)
    except OSError as error:
        return f"Error on reading termination message from logs: {_reason('open', error)}"


def tail_bytes(path: str, limit: int) -> bytes:
    """The last bytes of a regular file. Raises OSError, also for what is no regular file."""
    # A volume may put a named pipe there: opening that must not wait for a writer.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        file.seek(max(0, info.st_size - limit))
        return file.read(limit)


def _reason(act: str, error: OSError) -> str:
    return f"{act} {error.filename}: {(error.strerror or str(error)).lower()}"
