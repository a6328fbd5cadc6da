"""mount(2) and umount2(2) for binds."""

import ctypes
import errno
import os
from typing import Final

_MS_BIND: Final = 0x1000
_MNT_DETACH: Final = 0x2
_UMOUNT_NOFOLLOW: Final = 0x8
_NOT_MOUNTED: Final = (errno.EINVAL, errno.ENOENT)


def bind(source: str, target: str) -> None:
    """Show the file or folder at `source` at `target` too. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_ulong(_MS_BIND)
    if libc.mount(os.fsencode(source), os.fsencode(target), None, flags, None) != 0:
        _fail("bind", target)


def detach(target: str) -> None:
    """Take away every mount at that path, at once for those who come, later for those who use it. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    while libc.umount2(os.fsencode(target), ctypes.c_int(_MNT_DETACH | _UMOUNT_NOFOLLOW)) == 0:
        pass
    if ctypes.get_errno() not in _NOT_MOUNTED:
        _fail("unmount", target)


def _fail(act: str, target: str) -> None:
    code = ctypes.get_errno()
    raise OSError(code, f"{act}: {os.strerror(code)}", target)
