"""Groups on this machine's real hierarchies, whichever version they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.container_manager.cgroups.cgroupfs import CgroupFs
from services.container_manager.cgroups.claim import GroupClaim
from services.container_manager.cgroups.model import Limits
from shared.cgroups.names import CgroupName, PodGroups, QosClass
from shared.errors import Fatal, Transient

FULL = Limits(cpu_shares=1024, quota_us=50_000, memory_bytes=64 << 20, pids=20)
V1_FULL = {
    ("cpu", "cpu.shares"): "1024",
    ("cpu", "cpu.cfs_quota_us"): "50000",
    ("cpu", "cpu.cfs_period_us"): "100000",
    ("memory", "memory.limit_in_bytes"): str(64 << 20),
    ("pids", "pids.max"): "20",
}
V2_FULL = {
    ("cpu", "cpu.weight"): "39",
    ("cpu", "cpu.max"): "50000 100000",
    ("memory", "memory.max"): str(64 << 20),
    ("pids", "pids.max"): "20",
}


def values(fs: CgroupFs, name: CgroupName) -> dict[tuple[str, str], str]:
    files = V1_FULL if fs.version == 1 else V2_FULL
    return {(c, f): (fs.hierarchies.directory(name, c) / f).read_text().strip() for c, f in files}


def sleeper(fs: CgroupFs, name: CgroupName, code: str = "import time; time.sleep(60)") -> subprocess.Popen[bytes]:
    """A process that is in the group, in every hierarchy, before its code runs."""
    paths = [str(d / "cgroup.procs") for d in fs.hierarchies.directories(name)]
    enter = f"import os\nfor p in {paths!r}: open(p, 'w').write('0')\nprint(flush=True)\n{code}"
    process = subprocess.Popen([sys.executable, "-S", "-c", enter], stdout=subprocess.PIPE)
    return started(process)


def started(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """It has written its first line."""
    assert process.stdout is not None and process.stdout.readline()
    process.stdout.close()
    return process


def test_a_group_is_made_with_its_ancestors_and_its_values(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BURSTABLE)
    assert not fs.exists(name)
    assert fs.create(name, FULL) == []
    assert fs.exists(name)
    assert values(fs, name) == (V1_FULL if fs.version == 1 else V2_FULL)
    assert fs.create(name, Limits()) == []
    assert values(fs, name) == (V1_FULL if fs.version == 1 else V2_FULL)


def test_a_process_can_enter_a_group_in_every_hierarchy(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BEST_EFFORT).child("c" * 64)
    fs.create(name, Limits())
    process = sleeper(fs, name)
    for directory in fs.hierarchies.directories(name):
        assert str(process.pid) in (directory / "cgroup.procs").read_text().split()
    process.kill()
    process.wait()


def test_an_update_changes_only_what_it_names(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.GUARANTEED)
    fs.create(name, FULL)
    assert fs.update(name, Limits(memory_bytes=32 << 20)) == []
    expected = dict(V1_FULL if fs.version == 1 else V2_FULL)
    expected["memory", "memory.limit_in_bytes" if fs.version == 1 else "memory.max"] = str(32 << 20)
    assert values(fs, name) == expected


def test_values_that_cannot_be_set_are_reported_and_the_rest_is_set(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.GUARANTEED)
    errors = fs.create(name, Limits(quota_us=5, memory_bytes=32 << 20, pids=3))
    assert len(errors) == 1 and ("cpu.max" in errors[0] or "cpu.cfs_quota_us" in errors[0])
    assert values(fs, name)["pids", "pids.max"] == "3"


def test_a_group_that_an_earlier_life_left_without_values_is_finished(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.GUARANTEED)
    fs.create(name, Limits())
    assert fs.finish(name, FULL) == []
    assert values(fs, name) == (V1_FULL if fs.version == 1 else V2_FULL)


def test_finishing_leaves_values_alone_that_somebody_set(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.GUARANTEED)
    resized = Limits(cpu_shares=2048, quota_us=80_000, memory_bytes=128 << 20, pids=30)
    fs.create(name, resized)
    before = values(fs, name)
    fs.finish(name, FULL)
    assert values(fs, name) == before


def test_pods_are_found_in_every_tier(fs: CgroupFs, groups: PodGroups) -> None:
    names = {f"uid-{qos}": groups.pod(f"uid-{qos}", qos) for qos in QosClass}
    for name in names.values():
        fs.create(name.child("a" * 64), Limits())
    assert fs.list_pods(groups) == names


def test_on_a_fresh_machine_there_are_no_pods(fs: CgroupFs, groups: PodGroups) -> None:
    assert fs.list_pods(groups) == {}


def test_destroying_kills_what_is_left_below_and_removes_everything(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BURSTABLE)
    inner = name.child("d" * 64)
    fs.create(inner, Limits())
    processes = [sleeper(fs, inner) for _ in range(3)]
    fs.destroy(name)
    assert not any(d.exists() for d in fs.hierarchies.directories(name))
    assert [p.wait(timeout=5) for p in processes] == [-9] * 3
    assert fs.exists(groups.tier(QosClass.BURSTABLE))
    fs.destroy(name)


def test_a_process_that_forks_without_end_is_killed_with_its_group(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BURSTABLE)
    fs.create(name, Limits(pids=30))
    code = "import os, time\nwhile True:\n  try:\n    os.fork()\n  except OSError: time.sleep(0.01)"
    process = sleeper(fs, name, code)
    fs.destroy(name)
    assert not any(d.exists() for d in fs.hierarchies.directories(name))
    process.wait(timeout=5)


def test_a_frozen_process_is_killed_too(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BURSTABLE)
    fs.create(name, Limits())
    process = sleeper(fs, name)
    if fs.version == 1:
        (fs.hierarchies.directory(name, "freezer") / "freezer.state").write_text("FROZEN")
    else:
        (fs.hierarchies.directory(name, "") / "cgroup.freeze").write_text("1")
    fs.destroy(name)
    assert process.wait(timeout=5) == -9


def test_a_group_that_lost_one_of_its_directories_does_not_count_as_there(fs: CgroupFs, groups: PodGroups) -> None:
    if fs.version == 2:
        pytest.skip("version 2 has one directory")
    name = groups.pod("u", QosClass.BURSTABLE)
    fs.create(name, Limits())
    fs.hierarchies.directory(name, "memory").rmdir()
    assert not fs.exists(name)
    assert "u" in fs.list_pods(groups)
    fs.create(name, FULL)
    assert fs.exists(name)


def test_a_group_that_cannot_be_made_says_which_and_why(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.kubepods.child("a\nb")
    with pytest.raises(
        Transient, match=r"failed to create container for \[octolet-test-.* kubepods a\nb\] : .*Invalid argument"
    ):
        fs.create(name, Limits())


def test_only_one_agent_at_a_time_has_the_pods_group(fs: CgroupFs, groups: PodGroups) -> None:
    fs.create(groups.kubepods, Limits())
    directory = fs.hierarchies.directory(groups.kubepods, "memory")
    first = GroupClaim(directory)
    with pytest.raises(Fatal, match="another node agent manages the pods in it"):
        GroupClaim(directory)
    first.release()
    GroupClaim(directory).release()


def test_a_claim_ends_with_its_process_however_that_ends(fs: CgroupFs, groups: PodGroups) -> None:
    fs.create(groups.kubepods, Limits())
    directory = fs.hierarchies.directory(groups.kubepods, "memory")
    code = (
        "import sys, time; from pathlib import Path; from services.container_manager.cgroups.claim import GroupClaim\n"
        "claim = GroupClaim(Path(sys.argv[1])); print(flush=True); time.sleep(60)"
    )
    other = started(
        subprocess.Popen([sys.executable, "-c", code, str(directory)], stdout=subprocess.PIPE, cwd=Path.cwd())
    )
    with pytest.raises(Fatal):
        GroupClaim(directory)
    os.kill(other.pid, 9)
    other.wait()
    GroupClaim(directory).release()
