"""Where the kernel's cgroup hierarchies are mounted: one on cgroup v2, one per controller on v1."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.cgroups.names import CgroupName, Driver
from shared.errors import Fatal

V1_REQUIRED: Final = ("cpu", "cpuacct", "cpuset", "memory")
"""upstream `cm` (validateSystemRequirements): without these a v1 host cannot run pods"""
V1_EXPECTED: Final = ("cpu", "cpuacct", "cpuset", "memory", "systemd", "pids", "hugetlb")
"""a v1 pod group exists when it is in each of these that is mounted"""
V2_EXPECTED: Final = ("cpu", "cpuset", "memory", "hugetlb", "pids")
_UNIFIED: Final = "unified"
_V1_OPTIONS: Final = {
    option: option.removeprefix("name=")
    for option in (
        *("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids"),
        *("hugetlb", "net_cls", "net_prio", "perf_event", "rdma", "misc", "name=systemd"),
    )
}
"""mount options that name a controller; others (`xattr`, `release_agent=...`) do not"""


@dataclass(frozen=True)
class Hierarchies:
    """`mounts` maps controllers to mount points; on v2 there is one mount for all (`root`)."""

    version: int
    root: Path
    mounts: Mapping[str, Path]
    driver: Driver = Driver.CGROUPFS

    def directory(self, name: CgroupName, controller: str) -> Path:
        """The directory of a group in that controller's hierarchy. Raises Fatal when it is not mounted."""
        mount = self.root if self.version == 2 else self.mounts.get(controller)
        if mount is None:
            raise Fatal(f"cgroup controller {controller} is not mounted")
        return mount / name.path(self.driver).lstrip("/")

    def directories(self, name: CgroupName) -> list[Path]:
        """All directories of a group, each once (controllers may share a mount)."""
        mounts = [self.root] if self.version == 2 else list(dict.fromkeys(self.mounts.values()))
        return [m / name.path(self.driver).lstrip("/") for m in mounts]

    def missing(self) -> list[str]:
        """Controllers that v1 needs and that are not mounted."""
        return [] if self.version == 2 else [c for c in V1_REQUIRED if c not in self.mounts]


def parse_mountinfo(text: str, *, base: str = "/sys/fs/cgroup", driver: Driver = Driver.CGROUPFS) -> Hierarchies:
    """The hierarchies of a `/proc/self/mountinfo`. v2 when `base` itself is a cgroup2 mount, else v1 (hybrid too).

    Raises Fatal when there is neither.
    """
    v1: dict[str, Path] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        where = fields[4].encode().decode("unicode_escape")
        if kind[0] == "cgroup2" and where == base:
            return Hierarchies(version=2, root=Path(where), mounts={_UNIFIED: Path(where)}, driver=driver)
        if kind[0] == "cgroup2":
            v1.setdefault(_UNIFIED, Path(where))  # runtimes put containers there too, without controllers
        if kind[0] == "cgroup":
            for option in kind[2].split(","):
                if option in _V1_OPTIONS:
                    v1.setdefault(_V1_OPTIONS[option], Path(where))
    if not v1.keys() - {_UNIFIED}:
        raise Fatal("no cgroup hierarchy is mounted")
    return Hierarchies(version=1, root=Path(base), mounts=v1, driver=driver)


def find_hierarchies(driver: Driver = Driver.CGROUPFS) -> Hierarchies:
    """Those of this process. Raises Fatal when there is none."""
    return parse_mountinfo(Path("/proc/self/mountinfo").read_text(), driver=driver)
