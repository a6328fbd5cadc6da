"""Opening a path below a folder whose owner is not trusted.

The owner of a volume could swap a folder of it for a link to the host's root between a check and its use. So the path
is resolved once, must lie inside, and is then opened part by part without following links (upstream
`pkg/volume/util/subpath`, doSafeOpen).
"""

import os
import stat
from pathlib import Path
from typing import Final

_FLAGS: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_below(base: str, below: str) -> int:
    """An O_PATH descriptor of what is at that path; the caller closes it. Links that stay inside are followed.

    Raises OSError when it is not there, lies outside, or was swapped for a link meanwhile.
    """
    real_base = os.path.realpath(base)
    fd = os.open(real_base, _FLAGS)
    try:
        for part in parts_inside(real_base, os.path.realpath(f"{real_base}/{below}")):
            fd = step(part, fd, _FLAGS)
            if stat.S_ISLNK(os.fstat(fd).st_mode):
                raise OSError(f"unexpected symlink found {part}")
    except BaseException:
        os.close(fd)
        raise
    return fd


def parts_inside(base: str, full: str) -> tuple[str, ...]:
    """The names between a folder and a path in it, both without links. Raises OSError when it lies elsewhere."""
    if full == base:
        return ()
    if not full.startswith(f"{base.rstrip('/')}/"):
        raise OSError(f"path {full} is outside of allowed base {base}")
    return Path(full).relative_to(base).parts


def step(part: str, fd: int, flags: int) -> int:
    """Open a name in a folder and close the folder."""
    following = os.open(part, flags, dir_fd=fd)
    os.close(fd)
    return following
