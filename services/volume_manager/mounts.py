"""The kernel's mount table and the mount system calls, without the `mount` program.

A call takes some ten microseconds where a program would take milliseconds and a process. The words of a failure are
arranged as upstream's `mount-utils` arranges them, since they end in a FailedMount event that people search for.
"""

import ctypes
import errno
import os
from typing import Final

from services.volume_manager.ports import Mount
from shared.errors import Transient

MS_NOSUID: Final = 0x2
MS_REC: Final = 0x4000
MS_BIND: Final = 0x1000
MS_SHARED: Final = 0x100000
UMOUNT_NOFOLLOW: Final = 0x8
"""<sys/mount.h>"""


def mounts_below(text: str, path: str) -> list[Mount]:
    """What is mounted on `path` or beneath it, the last mounted first, from the lines of /proc/self/mountinfo (proc(5)).

    A node has a thousand mounts and a pod a few, so lines that do not name the path are not even taken apart.
    """
    path = path.rstrip("/")
    needle, below = f" {_escape(path)}", path + "/"
    found: list[Mount] = []
    for line in text.splitlines():
        if needle not in line:
            continue
        left, dash, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if not dash or len(fields) < 6 or len(rest) < 3:
            continue
        target = _unescape(fields[4])
        if target == path or target.startswith(below):
            found.append(Mount(target, rest[0], _unescape(rest[1]), tuple(rest[2].split(","))))
    found.reverse()
    return found


def is_shared(text: str, path: str) -> bool:
    """Whether the mount that `path` lies on propagates (mountinfo's optional field `shared:N`)."""
    best, shared = "", False
    for line in text.splitlines():
        fields = line.partition(" - ")[0].split(" ")
        if len(fields) < 6:
            continue
        target = _unescape(fields[4])
        if len(target) >= len(best) and (path == target or path.startswith(target.rstrip("/") + "/")):
            best, shared = target, any(f.startswith("shared:") for f in fields[6:])
    return shared


_ESCAPES: Final = (("\\", "\\134"), (" ", "\\040"), ("\t", "\\011"), ("\n", "\\012"))


def _escape(text: str) -> str:
    for char, code in _ESCAPES:
        text = text.replace(char, code)
    return text


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    for char, code in reversed(_ESCAPES):
        text = text.replace(code, char)
    return text


class MountCalls:
    """mount(2) and umount2(2) through the C library."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
        self._libc.umount2.argtypes = (ctypes.c_char_p, ctypes.c_int)

    def mount(self, source: str, target: str, fstype: str, options: tuple[str, ...]) -> None:
        """Mount a filesystem. Raises `Transient` with upstream's arrangement of words."""
        data = ",".join(options)
        code = self._call_mount(source, target, fstype, 0, data)
        if code:
            arguments = f"-t {fstype} {f'-o {data} ' if data else ''}{source} {target}"
            raise Transient(
                f"mount failed: {os.strerror(code).lower()}\nMounting command: mount\nMounting arguments: {arguments}\nOutput: "
            )

    def bind(self, source: str, target: str) -> None:
        """Make `source` visible at `target` too. Raises `Transient`."""
        code = self._call_mount(source, target, "", MS_BIND, "")
        if code:
            raise Transient(
                f"mount failed: {os.strerror(code).lower()}\nMounting command: mount\n"
                f"Mounting arguments: -o bind {source} {target}\nOutput: "
            )

    def make_shared(self, target: str) -> None:
        """Let mounts made below `target` spread to its peers, recursively. Raises `Transient`."""
        code = self._call_mount("", target, "", MS_SHARED | MS_REC, "")
        if code:
            raise Transient(f"make {target} a shared mount: {os.strerror(code).lower()}")

    def unmount(self, target: str) -> None:
        """Take off the topmost mount; success when there is none. Raises `Transient`."""
        if self._libc.umount2(os.fsencode(target), UMOUNT_NOFOLLOW) == 0:
            return
        code = ctypes.get_errno()
        if code in (errno.EINVAL, errno.ENOENT):
            return
        raise Transient(f"unmount failed: {os.strerror(code).lower()}\nUnmounting arguments: {target}\nOutput: ")

    def _call_mount(self, source: str, target: str, fstype: str, flags: int, data: str) -> int:
        done = self._libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            fstype.encode() or None,
            flags,
            os.fsencode(data) if data else None,
        )
        return 0 if done == 0 else ctypes.get_errno()
