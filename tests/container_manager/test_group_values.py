"""What is written into groups: values of pods, tiers and the pods' group, on both versions."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.container_manager.cgroups.core import (
    hugetlb_size,
    kubepods_limits,
    pod_limits,
    pod_share,
    tier_limits,
)
from services.container_manager.cgroups.files import is_default, plan_writes
from services.container_manager.cgroups.model import Limits, MemoryReservation, Policy
from services.container_manager.cgroups.reserved import ReservedGroup, reserved_groups
from shared.cgroups.names import QosClass
from shared.errors import Invalid
from shared.kube.quantity import InvalidQuantity
from shared.kube.types import Pod
from tests.container_manager.pods import burstable, container, guaranteed, pod

POLICY = Policy()
MI = 1 << 20


def limited(**values: int) -> Limits:
    """Values of a pod, which always has limits of huge pages."""
    return Limits(hugetlb_bytes={}, **values)  # type: ignore[arg-type]


def test_a_guaranteed_pod_gets_shares_quota_and_memory_of_its_limits() -> None:
    assert pod_limits(guaranteed("a"), POLICY) == limited(cpu_shares=512, quota_us=50_000, memory_bytes=64 * MI)


def test_a_burstable_pod_without_limits_gets_shares_alone() -> None:
    assert pod_limits(burstable("a"), POLICY) == limited(cpu_shares=256)


def test_a_best_effort_pod_gets_the_least() -> None:
    assert pod_limits(pod("a"), POLICY) == limited(cpu_shares=2)


@pytest.mark.parametrize(
    ("containers", "init", "quota", "memory"),
    [
        ([{"cpu": "1", "memory": "1Mi"}, {"cpu": "1", "memory": "1Mi"}], [], 200_000, 2 * MI),
        ([{"cpu": "1", "memory": "1Mi"}, {"cpu": "1"}], [], 200_000, None),
        ([{"cpu": "1", "memory": "1Mi"}, {}], [], None, None),
        ([{"cpu": "1", "memory": "1Mi"}], [{"cpu": "1"}], 100_000, None),
        ([{"cpu": "1", "memory": "1Mi"}], [{"cpu": "3", "memory": "5Mi"}], 300_000, 5 * MI),
    ],
)
def test_a_burstable_pod_is_limited_only_where_every_container_is(
    containers: list[dict[str, str]], init: list[dict[str, str]], quota: int | None, memory: int | None
) -> None:
    made = [container(f"c{n}", limits=limits, requests={"cpu": "10m"}) for n, limits in enumerate(containers)]
    before = [container(f"i{n}", limits=limits) for n, limits in enumerate(init)]
    limits = pod_limits(pod("a", *made, initContainers=before), POLICY)
    assert (limits.quota_us, limits.memory_bytes) == (quota, memory)


def test_a_limit_of_the_pod_as_a_whole_counts_whatever_its_containers_say() -> None:
    whole = {"requests": {"cpu": "100m"}, "limits": {"cpu": "2", "memory": "8Mi"}}
    limits = pod_limits(pod("a", container(), resources=whole), POLICY)
    assert limits == limited(cpu_shares=102, quota_us=200_000, memory_bytes=8 * MI)


def test_overhead_is_added_to_requests_and_to_limits_that_there_are() -> None:
    amounts = {"cpu": "1", "memory": "10Mi"}
    of = pod("a", container(requests=amounts, limits=amounts), overhead={"cpu": "250m", "memory": "6Mi"})
    assert pod_limits(of, POLICY) == limited(cpu_shares=1280, quota_us=125_000, memory_bytes=16 * MI)


def test_without_cfs_quota_there_is_none() -> None:
    assert pod_limits(guaranteed("a"), Policy(cpu_cfs_quota=False)).quota_us == -1
    assert pod_limits(burstable("a"), Policy(cpu_cfs_quota=False)).quota_us is None


def test_pids_are_limited_only_where_the_node_says_so() -> None:
    assert pod_limits(pod("a"), Policy(pod_pids_limit=100)).pids == 100
    assert pod_limits(pod("a"), Policy(pod_pids_limit=0)).pids is None


def test_huge_pages_are_limited_by_page_size() -> None:
    amounts = {"hugepages-2Mi": "4Mi", "memory": "1Mi", "cpu": "1"}
    assert pod_limits(pod("a", container(requests=amounts, limits=amounts)), POLICY).hugetlb_bytes == {"2MB": 4 * MI}
    assert [hugetlb_size(f"hugepages-{s}") for s in ("64Ki", "2Mi", "1Gi")] == ["64KB", "2MB", "1GB"]


def test_a_quantity_that_is_none_is_an_error_of_that_pod() -> None:
    with pytest.raises(InvalidQuantity):
        pod_limits(burstable("a", cpu="lots"), POLICY)


def test_requests_are_protected_only_with_tiered_reservation() -> None:
    tiered = Policy(memory_reservation=MemoryReservation.TIERED)
    half = pod("b", container(requests={"memory": "32Mi"}))
    assert pod_limits(guaranteed("a"), tiered).unified == {"memory.min": 64 * MI}
    assert pod_limits(half, tiered).unified == {"memory.low": 32 * MI}
    assert pod_limits(guaranteed("a"), POLICY).unified == {}
    tiers = tier_limits([pod_share(guaranteed("a")), pod_share(half)], tiered, [])
    assert tiers[QosClass.GUARANTEED].unified == {"memory.min": 96 * MI, "memory.low": 32 * MI}
    assert tiers[QosClass.BURSTABLE].unified == {"memory.low": 32 * MI}


def test_burstable_weighs_as_much_as_its_pods_together_and_besteffort_the_least() -> None:
    pods = [burstable("a", "500m"), burstable("b", "250m"), guaranteed("c"), pod("d")]
    tiers = tier_limits(map(pod_share, pods), POLICY, ["2MB"])
    assert tiers[QosClass.BURSTABLE].cpu_shares == 768
    assert tiers[QosClass.BEST_EFFORT].cpu_shares == 2
    assert tiers[QosClass.GUARANTEED].cpu_shares is None
    assert all(t.hugetlb_bytes == {"2MB": 1 << 62} for t in tiers.values())
    assert tiers[QosClass.GUARANTEED].unified == {"memory.min": 0, "memory.low": 0}


def test_an_empty_node_gives_burstable_the_least() -> None:
    assert tier_limits([], POLICY, [])[QosClass.BURSTABLE].cpu_shares == 2


def test_the_pods_group_is_limited_to_what_pods_may_have() -> None:
    limits = kubepods_limits({"cpu": 1900, "memory": 1000, "pid": 50, "pods": 110}, cpus="0-1", sizes=["2MB"])
    assert limits == Limits(
        cpu_shares=1945, memory_bytes=1000, pids=50, hugetlb_bytes={"2MB": 1 << 62}, cpuset_cpus="0-1"
    )


def written(limits: Limits, version: int, *sizes: str) -> dict[str, str]:
    return {w.file: w.text for w in plan_writes(limits, version, sizes)}


FULL = Limits(
    cpu_shares=1024,
    quota_us=50_000,
    memory_bytes=4096,
    pids=7,
    hugetlb_bytes={"2MB": 2 * MI},
    cpuset_cpus="0-3",
    unified={"memory.min": 5},
)


def test_files_of_version_2() -> None:
    assert written(FULL, 2, "2MB", "1GB") == {
        "pids.max": "7",
        "memory.max": "4096",
        "cpu.weight": "39",
        "cpu.max": "50000 100000",
        "cpuset.cpus": "0-3",
        "hugetlb.2MB.max": str(2 * MI),
        "hugetlb.2MB.rsvd.max": str(2 * MI),
        "hugetlb.1GB.max": "0",
        "hugetlb.1GB.rsvd.max": "0",
        "memory.min": "5",
    }


def test_files_of_version_1() -> None:
    assert written(FULL, 1, "2MB") == {
        "cpuset.cpus": "0-3",
        "memory.limit_in_bytes": "4096",
        "cpu.shares": "1024",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "50000",
        "pids.max": "7",
        "hugetlb.2MB.limit_in_bytes": str(2 * MI),
        "hugetlb.2MB.rsvd.limit_in_bytes": str(2 * MI),
    }


def test_no_quota_is_written_as_each_version_spells_it() -> None:
    assert written(Limits(quota_us=-1), 2) == {"cpu.max": "max 100000"}
    assert written(Limits(quota_us=-1), 1) == {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1"}


def test_what_is_not_given_is_not_written() -> None:
    assert plan_writes(Limits(), 1, []) == plan_writes(Limits(), 2, []) == []


@pytest.mark.parametrize(
    ("file", "fresh", "set_"),
    [
        ("memory.max", "max\n", "4096\n"),
        ("memory.limit_in_bytes", "9223372036854771712\n", "67108864\n"),
        ("cpu.max", "max 100000\n", "50000 100000\n"),
        ("cpu.cfs_quota_us", "-1\n", "50000\n"),
        ("cpu.weight", "100\n", "39\n"),
        ("cpu.shares", "1024\n", "512\n"),
        ("pids.max", "max\n", "7\n"),
        ("hugetlb.2MB.max", "max\n", "0\n"),
        ("cpuset.cpus", "\n", "0-3\n"),
    ],
)
def test_a_new_groups_values_are_told_from_values_that_were_set(file: str, fresh: str, set_: str) -> None:
    assert is_default(file, fresh)
    assert not is_default(file, set_)


quantities = st.integers(1, 4000)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Containers with any mixture of requests and limits, limits never below requests."""
    made = []
    for n in range(draw(st.integers(1, 3))):
        requests: dict[str, str] = {}
        limits: dict[str, str] = {}
        for name, unit in (("cpu", "m"), ("memory", "Mi")):
            asked, more = draw(quantities), draw(st.integers(0, 2))
            match draw(st.integers(0, 2)):
                case 1:
                    requests[name] = f"{asked}{unit}"
                case 2:
                    requests[name], limits[name] = f"{asked}{unit}", f"{asked + more}{unit}"
        made.append(container(f"c{n}", requests=requests, limits=limits))
    return pod("x", *made)


@given(pods())
def test_no_pod_is_limited_below_what_it_asked_for(of: Pod) -> None:
    limits = pod_limits(of, POLICY)
    share = pod_share(of)
    if limits.memory_bytes is not None:
        assert limits.memory_bytes >= share.memory_bytes
    if limits.quota_us is not None:
        assert limits.quota_us >= share.cpu_millicores * 100
    if share.qos is QosClass.BEST_EFFORT:
        assert limits == limited(cpu_shares=2)


@given(st.lists(pods(), max_size=5), st.randoms())
def test_tiers_do_not_depend_on_the_order_of_pods(of: list[Pod], random: Random) -> None:
    shares = [pod_share(p) for p in of]
    mixed = list(shares)
    random.shuffle(mixed)
    assert tier_limits(shares, POLICY, []) == tier_limits(mixed, POLICY, [])


def test_huge_pages_are_left_alone_where_nothing_is_said_of_them() -> None:
    """A group that is only found again must not lose its pages for a moment: its pods would get a bus error."""
    assert plan_writes(Limits(), 2, ["2MB"]) == plan_writes(Limits(cpu_shares=2), 1, ["2MB"])[1:] == []


RESERVED = {"system-reserved": {"cpu": "500m", "memory": "64Mi", "pid": "1000"}, "kube-reserved": {"memory": "1Gi"}}


def test_daemons_of_the_system_are_limited_to_what_is_reserved_for_them() -> None:
    paths = {"system-reserved": "/system", "kube-reserved": "/kube"}
    found = reserved_groups(["pods", "system-reserved", "kube-reserved-compressible"], paths, RESERVED, cpus="0-1")
    assert found == [
        ReservedGroup(
            "/system",
            "System Reserved",
            Limits(cpu_shares=512, memory_bytes=64 * MI, pids=1000, cpuset_cpus="0-1", unified={"memory.min": 64 * MI}),
        ),
        ReservedGroup("/kube", "Kube Reserved", Limits(cpuset_cpus="0-1")),
    ]


def test_a_family_without_a_group_is_refused() -> None:
    with pytest.raises(Invalid, match="enforceNodeAllocatable 'kube-reserved': its cgroup is not configured"):
        reserved_groups(["kube-reserved"], {}, RESERVED, cpus=None)
