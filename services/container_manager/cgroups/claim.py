"""One agent per `kubepods`: two would each remove the other's pods. The claim is an flock on its directory."""

import fcntl
import os
from pathlib import Path

from shared.errors import Fatal


class GroupTaken(Fatal):
    """Another living process has it."""

    exit_code = 2


class GroupClaim:
    """Held until `release` or the end of the process. Raises GroupTaken."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise GroupTaken(
                f"claim cgroup {directory}: another node agent manages the pods in it; stop that one, "
                "or give this one a cgroupRoot of its own"
            ) from error

    def release(self) -> None:
        """Let another agent have it."""
        os.close(self._descriptor)
