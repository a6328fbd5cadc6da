"""Groups as directories of the mounted hierarchies (driver `cgroupfs`), cgroup v1 and v2. Blocks: call from a thread.

Everything is idempotent: what is there already, or gone already, is success.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from services.container_manager.cgroups.files import is_default, plan_writes
from services.container_manager.cgroups.model import Limits, Write
from shared.cgroups.mounts import V1_EXPECTED, V2_EXPECTED, Hierarchies
from shared.cgroups.names import CgroupName, PodGroups, QosClass, pod_uid_of
from shared.errors import Transient

KILL_ROUNDS: Final = 5
"""upstream `cm` (tryKillingCgroupProcesses): rounds of collecting and killing before it gives up for now"""
ROUND_S: Final = 1.0
"""how long a round waits for the kernel to take killed processes out of the group"""
LOOK_AGAIN_S: Final = 0.005


class CgroupFs:
    """The groups of one machine. `sizes` are its huge page sizes as hugetlb files spell them."""

    def __init__(self, hierarchies: Hierarchies, sizes: Iterable[str] = ()) -> None:
        self.hierarchies = hierarchies
        self.version = hierarchies.version
        if self.version == 2:
            offered = (hierarchies.root / "cgroup.controllers").read_text().split()
            self._offered = frozenset(offered)
            self._expected = self._offered & set(V2_EXPECTED)
        else:
            self._offered = frozenset(hierarchies.mounts)
            self._expected = self._offered & set(V1_EXPECTED)
        self.sizes = tuple(sizes) if "hugetlb" in self._offered else ()

    def exists(self, name: CgroupName) -> bool:
        """Whether the group is there with every controller that pods need."""
        if self.version == 1:
            return all(self.hierarchies.directory(name, c).is_dir() for c in self._expected)
        try:
            text = (self.hierarchies.directory(name, "") / "cgroup.controllers").read_text()
        except FileNotFoundError:
            return False
        return self._expected <= set(text.split())

    def create(self, name: CgroupName, limits: Limits) -> list[str]:
        """Make the group and its ancestors, then set its values.

        Raises Transient when it cannot be made. Values that could not be set are returned as texts: as upstream, the
        group counts as made without them.
        """
        try:
            if self.version == 2:
                self._create_v2(name)
            else:
                self._create_v1(name)
        except OSError as error:
            raise Transient(f"failed to create container for {name} : {error}") from error
        return self.update(name, limits)

    def update(self, name: CgroupName, limits: Limits) -> list[str]:
        """Set values of a group. Returns what could not be set, as texts."""
        writes = [w for w in plan_writes(limits, self.version, self.sizes) if w.controller in self._offered]
        return [error for w in writes if (error := self._write(name, w)) is not None]

    def finish(self, name: CgroupName, limits: Limits) -> list[str]:
        """Set only what still has the kernel's default: an earlier life may have died between making and setting.

        Values that differ in another way stay: a resize may have set them. Returns what could not be set, as texts.
        """
        errors = []
        for write in plan_writes(limits, self.version, self.sizes):
            if write.controller not in self._offered:
                continue
            path = self.hierarchies.directory(name, write.controller) / write.file
            try:
                pristine = is_default(write.file, path.read_text())
            except OSError:
                continue
            if pristine and (error := self._write(name, write)) is not None:
                errors.append(error)
        return errors

    def list_pods(self, groups: PodGroups) -> dict[str, CgroupName]:
        """Groups of pods in any tier and any hierarchy, by pod UID."""
        found: dict[str, CgroupName] = {}
        for qos in QosClass:
            tier = groups.tier(qos)
            for directory in self.hierarchies.directories(tier):
                for entry in _subdirectories(directory):
                    uid = pod_uid_of(entry.name, self.hierarchies.driver)
                    if uid is not None:
                        found[uid] = groups.pod(uid, qos)
        return found

    def destroy(self, name: CgroupName) -> None:
        """Kill whatever is left in the group and remove it with everything below.

        Raises Transient when processes survive (they hang in the kernel) or a directory cannot be removed.
        """
        directories = self.hierarchies.directories(name)
        for _ in range(KILL_ROUNDS):
            self._kill(directories)
            if _wait_empty(directories):
                break
        else:
            pids = sorted(_pids(directories))
            raise Transient(f"failed to kill all the processes attached to the {name} cgroups : {pids}")
        for directory in directories:
            try:
                _remove_tree(directory)
            except OSError as error:
                raise Transient(f"failed to delete cgroup paths for {name} : {error}") from error

    def _kill(self, directories: list[Path]) -> None:
        for directory in directories:
            if self.version == 2:
                with contextlib.suppress(OSError):  # older kernels have no such file
                    (directory / "cgroup.kill").write_text("1")
            else:
                _thaw(directory)
        own = os.getpid()
        for pid in _pids(directories) - {0, own}:  # 0: in another pid namespace
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _write(self, name: CgroupName, write: Write) -> str | None:
        path = self.hierarchies.directory(name, write.controller) / write.file
        try:
            path.write_text(write.text)
        except FileNotFoundError as error:
            return None if write.optional else f"write {write.text!r} to {path}: {error.strerror}"
        except OSError as error:
            return f"write {write.text!r} to {path}: {error.strerror}"
        return None

    def _create_v2(self, name: CgroupName) -> None:
        parent = self.hierarchies.root
        for ancestor in name.ancestors():
            _enable_controllers(parent)
            parent = self.hierarchies.directory(ancestor, "")
            parent.mkdir(exist_ok=True)

    def _create_v1(self, name: CgroupName) -> None:
        for mount in dict.fromkeys(self.hierarchies.mounts.values()):
            directory = mount / name.path(self.hierarchies.driver).lstrip("/")
            directory.mkdir(parents=True, exist_ok=True)
        for ancestor in name.ancestors():
            if "cpuset" in self._offered:
                _inherit_cpuset(self.hierarchies.directory(ancestor, "cpuset"))


def _enable_controllers(directory: Path) -> None:
    """Hand every controller of a v2 group to its children."""
    offered = set((directory / "cgroup.controllers").read_text().split())
    enabled = set((directory / "cgroup.subtree_control").read_text().split())
    missing = sorted(offered - enabled)
    if not missing:
        return
    control = directory / "cgroup.subtree_control"
    try:
        control.write_text(" ".join(f"+{c}" for c in missing))
    except OSError:
        for controller in missing:  # one that cannot be handed on must not keep back the others
            with contextlib.suppress(OSError):
                control.write_text(f"+{controller}")


def _inherit_cpuset(directory: Path) -> None:
    """A v1 cpuset without CPUs or memory nodes takes no process: give it its parent's."""
    for file in ("cpuset.cpus", "cpuset.mems"):
        if not (directory / file).read_text().strip():
            (directory / file).write_text((directory.parent / file).read_text())


def _subdirectories(directory: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return [e for e in entries if e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _tree(directory: Path) -> list[Path]:
    """A directory and all below, parents first; empty when it is gone."""
    if not directory.is_dir():
        return []
    return [directory, *(below for entry in _subdirectories(directory) for below in _tree(Path(entry.path)))]


def _pids(directories: Iterable[Path]) -> set[int]:
    """Processes in the groups and all groups below."""
    found: set[int] = set()
    for top in directories:
        for directory in _tree(top):
            with contextlib.suppress(FileNotFoundError):
                found.update(int(line) for line in _read_procs(directory / "cgroup.procs").split())
    return found


def _read_procs(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENODEV):  # a threaded v2 group; removed while it was read
            return ""
        raise


def _thaw(directory: Path) -> None:
    """A frozen process does not die: v1 groups of the freezer are let run."""
    for frozen in _tree(directory):
        with contextlib.suppress(OSError):
            if (frozen / "freezer.state").exists():
                (frozen / "freezer.state").write_text("THAWED")


def _wait_empty(directories: list[Path]) -> bool:
    """Killed processes leave their group when the kernel is done with them, usually within a millisecond."""
    end = time.monotonic() + ROUND_S
    while _pids(directories):
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_AGAIN_S)
    return True


def _remove_tree(directory: Path) -> None:
    """Remove a group and all below. A v2 group may be busy for a moment after its last process left."""
    end = time.monotonic() + ROUND_S
    while True:
        try:
            for each in reversed(_tree(directory)):
                with contextlib.suppress(FileNotFoundError):
                    each.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(LOOK_AGAIN_S)
