"""Finding the hierarchies."""

from pathlib import Path

import pytest

from shared.cgroups.mounts import parse_mountinfo
from shared.cgroups.names import CgroupName, Driver
from shared.errors import Fatal

RECORDED = Path(__file__).parent / "recorded"
SYSTEMD_V1 = """\
35 25 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
36 35 0:31 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate
37 35 0:32 / /sys/fs/cgroup/systemd rw,nosuid shared:11 - cgroup cgroup rw,xattr,name=systemd
41 35 0:36 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:15 - cgroup cgroup rw,cpu,cpuacct
42 35 0:37 / /sys/fs/cgroup/memory rw,nosuid shared:16 - cgroup cgroup rw,memory
43 35 0:38 / /sys/fs/cgroup/cpuset rw,nosuid shared:17 - cgroup cgroup rw,cpuset,clone_children
"""


def test_a_v2_machine_has_one_hierarchy() -> None:
    found = parse_mountinfo((RECORDED / "v2/mountinfo").read_text())
    assert (found.version, found.root) == (2, Path("/sys/fs/cgroup"))
    name = CgroupName(("kubepods", "burstable"))
    assert found.directory(name, "memory") == Path("/sys/fs/cgroup/kubepods/burstable")
    assert found.directories(name) == [Path("/sys/fs/cgroup/kubepods/burstable")]
    assert found.missing() == []


def test_a_v1_machine_has_one_per_controller_even_with_a_bare_v2_beside_them() -> None:
    found = parse_mountinfo((RECORDED / "v1/mountinfo").read_text())
    assert found.version == 1
    assert set(found.mounts) == {
        *("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer"),
        "blkio",
        "pids",
        "systemd",
        "unified",
    }
    assert found.directory(CgroupName(("k",)), "memory") == Path("/sys/fs/cgroup/memory/k")
    assert found.missing() == []


def test_controllers_that_share_a_mount_share_a_directory() -> None:
    found = parse_mountinfo(SYSTEMD_V1)
    assert found.mounts["cpu"] == found.mounts["cpuacct"]
    assert set(found.mounts) == {"cpu", "cpuacct", "memory", "cpuset", "systemd", "unified"}
    assert len(found.directories(CgroupName(("k",)))) == 5


def test_a_v1_machine_without_the_memory_controller_is_told_so() -> None:
    without = "\n".join(line for line in SYSTEMD_V1.splitlines() if "memory" not in line)
    found = parse_mountinfo(without)
    assert found.missing() == ["memory"]
    with pytest.raises(Fatal, match="memory is not mounted"):
        found.directory(CgroupName(), "memory")


def test_a_machine_without_cgroups_is_refused() -> None:
    with pytest.raises(Fatal, match="no cgroup hierarchy"):
        parse_mountinfo("22 1 0:20 / /proc rw - proc proc rw\n")
    with pytest.raises(Fatal, match="no cgroup hierarchy"):
        parse_mountinfo("36 35 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")


def test_the_systemd_driver_names_directories_by_slices() -> None:
    found = parse_mountinfo((RECORDED / "v2/mountinfo").read_text(), driver=Driver.SYSTEMD)
    path = found.directory(CgroupName(("kubepods", "burstable")), "")
    assert path == Path("/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice")
