"""Usage: rates, container ids, and reading real groups."""

import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.container_manager.cgroups.cgroupfs import CgroupFs
from services.container_manager.cgroups.model import Limits
from services.container_manager.usage.core import Rate, Rates, container_id_of, next_rate
from services.container_manager.usage.own import own_group
from services.container_manager.usage.reader import Root, UsageReader
from shared.cgroups.names import PodGroups, QosClass
from tests.container_manager.test_real_groups import sleeper

ID = "0123456789abcdef" * 4
BURN = (
    "import time\ndata = bytearray(20 << 20)\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
)


@pytest.mark.parametrize("directory", [ID, f"cri-containerd-{ID}.scope", f"crio-{ID}.scope", f"crio-{ID}"])
def test_a_containers_directory_is_recognised_for_each_runtime_and_driver(directory: str) -> None:
    assert container_id_of(directory) == ID


@pytest.mark.parametrize("directory", ["init", f"crio-conmon-{ID}.scope", ID[:-1], ID[:-1] + "g", "kubepods"])
def test_other_directories_are_no_containers(directory: str) -> None:
    assert container_id_of(directory) is None


def test_a_rate_needs_two_samples_that_are_apart() -> None:
    first = next_rate(None, 100.0, 5_000)
    assert first.nano_cores == 0
    assert next_rate(first, 100.5, 9_000) is first
    assert next_rate(first, 102.0, 1_000_005_000) == Rate(102.0, 1_000_005_000, 500_000_000)


def test_a_counter_that_went_back_belongs_to_a_new_group() -> None:
    assert next_rate(Rate(100.0, 5_000, 7), 110.0, 100) == Rate(110.0, 100)


def test_groups_that_are_gone_are_forgotten_after_a_whole_pass() -> None:
    rates = Rates()
    rates.begin_pass()
    rates.sample("a", 1.0, 1)
    rates.sample("b", 1.0, 1)
    rates.end_pass()
    rates.begin_pass()
    rates.sample("a", 3.0, 2_000_000_001)
    rates.end_pass()
    assert len(rates) == 1
    assert rates.sample("a", 3.1, 2_100_000_001) == 1_000_000_000
    assert rates.sample("b", 9.0, 9) == 0


@given(st.lists(st.tuples(st.floats(0.01, 100), st.integers(0, 10**12)), max_size=20))
def test_a_rate_is_never_negative(steps: list[tuple[float, int]]) -> None:
    rate, now = None, 0.0
    for pause, usage in steps:
        now += pause
        rate = next_rate(rate, now, usage)
        assert rate.nano_cores >= 0


@pytest.mark.parametrize(
    ("text", "version", "group"),
    [
        ("0::/system.slice/octolet.service\n", 2, "/system.slice/octolet.service"),
        ("0::/\n", 2, ""),
        ("4:memory:/a\n2:cpuacct:/a\n0::/\n", 1, "/a"),
        ("4:memory:/a\n2:cpu,cpuacct:/a\n", 1, "/a"),
        ("4:memory:/a\n2:cpuacct:/\n", 1, ""),
        ("4:memory:/\n2:cpuacct:/\n", 1, ""),
        ("garbage\n\n", 1, ""),
    ],
)
def test_the_own_group_is_known_only_where_cpu_and_memory_agree(text: str, version: int, group: str) -> None:
    assert own_group(text, version) == group


def test_what_a_pod_really_uses_is_seen(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BURSTABLE)
    fs.create(name.child(ID), Limits())
    fs.update(name, Limits(memory_bytes=256 << 20))
    fs.create(name.child("f" * 64), Limits())
    process = sleeper(fs, name.child(ID), BURN + "time.sleep(60)")
    reader = UsageReader(fs.hierarchies)
    deadline = time.monotonic() + 20
    while True:
        usage = reader.read_pod("u", name, frozenset({ID}))
        assert usage is not None and usage.pod.cpu is not None and usage.pod.memory is not None
        if usage.pod.cpu.usage_ns > 200_000_000 and usage.pod.memory.rss_bytes >= 20 << 20:
            break
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pod, (container,) = usage.pod, usage.containers
    assert pod.cpu is not None
    assert container.container == ID and container.pids == pod.pids == 1
    assert container.cpu is not None and container.cpu.usage_ns <= pod.cpu.usage_ns + 10_000_000
    assert pod.memory is not None and container.memory is not None
    assert 20 << 20 <= container.memory.rss_bytes <= container.memory.usage_bytes <= 200 << 20
    assert container.memory.available_bytes is None
    assert pod.memory.available_bytes == (256 << 20) - pod.memory.working_set_bytes
    everything = reader.read_pod("u", name, None)
    assert everything is not None and {c.container for c in everything.containers} == {ID, "f" * 64}
    process.kill()
    process.wait()


def test_a_group_that_is_gone_is_absent_and_not_an_error(fs: CgroupFs, groups: PodGroups) -> None:
    reader = UsageReader(fs.hierarchies)
    assert reader.read_pod("u", groups.pod("u", QosClass.GUARANTEED), None) is None
    assert reader.read_group("/octolet-test-nothing", "x") is None


def test_the_whole_machine_uses_something_and_has_something_left(fs: CgroupFs) -> None:
    total = 1 << 50
    node = UsageReader(fs.hierarchies).read_root(Root(memory_bytes=total, hugepages_bytes=1 << 30))
    assert node.cpu is not None and node.cpu.usage_ns > 0
    assert node.memory is not None and node.memory.usage_bytes >= node.memory.working_set_bytes > 0
    assert node.memory.available_bytes == total - node.memory.working_set_bytes - (1 << 30)


def test_processes_in_groups_below_a_containers_own_are_counted(fs: CgroupFs, groups: PodGroups) -> None:
    name = groups.pod("u", QosClass.BURSTABLE)
    fs.create(name.child(ID, "init"), Limits())
    process: subprocess.Popen[bytes] = sleeper(fs, name.child(ID, "init"))
    usage = UsageReader(fs.hierarchies).read_pod("u", name, None)
    assert usage is not None and usage.pod.pids == 1
    process.kill()
    process.wait()
