"""CPU, memory, swap and huge pages of containers and sandboxes."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.environment.model import MemoryQos, NodeFacts
from services.pod_sync.environment.resources import (
    container_resources,
    cpu_quota_us,
    cpu_shares,
    overhead_resources,
    sandbox_resources,
)
from shared.cri import api
from tests.pod_sync.environment.manifests import NODE, make_container, make_pod

BARE = replace(NODE, hugepage_sizes_bytes=(), memory_qos=MemoryQos(enabled=False), cgroup_version=1)
"""a node that adds nothing of its own"""


def limits_of(
    own: dict[str, Any] | None = None, node: NodeFacts = BARE, *, exclusive: bool = False, **spec: Any
) -> api.LinuxContainerResources:
    pod = make_pod({"containers": [make_container(resources=own)], **spec})
    return container_resources(pod, pod.spec.containers[0], node, exclusive_cpus=exclusive)


@pytest.mark.parametrize(
    ("milli", "shares"), [(0, 2), (1, 2), (2, 2), (3, 3), (100, 102), (1000, 1024), (256000, 262144), (10**9, 262144)]
)
def test_shares_follow_upstreams_formula(milli: int, shares: int) -> None:
    assert cpu_shares(milli) == shares


@pytest.mark.parametrize(
    ("milli", "period", "quota"),
    [
        (0, 100000, 0),
        (1, 100000, 1000),
        (10, 100000, 1000),
        (11, 100000, 1100),
        (1500, 100000, 150000),
        (1000, 5000, 5000),
    ],
)
def test_quotas_follow_upstreams_formula(milli: int, period: int, quota: int) -> None:
    assert cpu_quota_us(milli, period) == quota


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_more_cpu_never_gives_less(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert 2 <= cpu_shares(low) <= cpu_shares(high) <= 262144
    assert cpu_quota_us(low, 100000) <= cpu_quota_us(high, 100000)
    assert high == 0 or cpu_quota_us(high, 100000) >= 1000


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        (None, {"cpu_shares": 2, "oom_score_adj": 1000}),
        ({"limits": {"cpu": "500m"}}, {"cpu_shares": 512, "cpu_quota": 50000, "oom_score_adj": 999}),
        (
            {"requests": {"cpu": "0"}, "limits": {"cpu": "500m"}},
            {"cpu_shares": 2, "cpu_quota": 50000, "oom_score_adj": 999},
        ),
        (
            {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "2Gi"}},
            {"cpu_shares": 1024, "cpu_quota": 200000, "memory_limit_in_bytes": 2 << 30, "oom_score_adj": 875},
        ),
    ],
)
def test_a_container_gets_its_weight_quota_and_limit(
    resources: dict[str, Any] | None, expected: dict[str, Any]
) -> None:
    assert limits_of(resources) == api.LinuxContainerResources(cpu_period=100000, **expected)


def test_the_quota_follows_the_nodes_settings() -> None:
    resources = {"limits": {"cpu": "2"}}
    short = limits_of(resources, replace(BARE, cpu_cfs_quota_period_us=5000))
    assert (short.cpu_period, short.cpu_quota) == (5000, 10000)
    none = limits_of(resources, replace(BARE, cpu_cfs_quota=False))
    assert (none.cpu_period, none.cpu_quota, none.cpu_shares) == (0, 0, 2048)
    assert limits_of(resources, exclusive=True).cpu_quota == -1


def test_a_container_without_limits_gets_the_pods() -> None:
    result = limits_of({}, resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    assert (result.cpu_quota, result.memory_limit_in_bytes) == (200000, 1 << 30)
    own = limits_of({"limits": {"cpu": "1"}}, resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    assert (own.cpu_quota, own.memory_limit_in_bytes) == (100000, 1 << 30)


def test_every_page_size_of_the_host_is_limited() -> None:
    node = replace(BARE, hugepage_sizes_bytes=(64 << 10, 2 << 20, 1 << 30))
    pod_level = {"limits": {"hugepages-1Gi": "2Gi", "hugepages-2Mi": "8Mi"}}
    result = limits_of({"limits": {"hugepages-2Mi": "4Mi"}}, node, resources=pod_level)
    assert [(entry.page_size, entry.limit) for entry in result.hugepage_limits] == [
        ("64KB", 0),
        ("2MB", 4 << 20),
        ("1GB", 2 << 30),
    ]


BURSTABLE = {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}
GUARANTEED = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
TIERED = MemoryQos(reservation_policy="TieredReservation")
GROUP = {"memory.oom.group": "1"}


@pytest.mark.parametrize(
    ("qos", "resources", "unified"),
    [
        (MemoryQos(), BURSTABLE, {**GROUP, "memory.min": "0", "memory.low": "0"}),
        (MemoryQos(single_process_oom_kill=True), BURSTABLE, {"memory.min": "0", "memory.low": "0"}),
        (MemoryQos(enabled=False), BURSTABLE, {**GROUP, "memory.high": "max"}),
        (TIERED, BURSTABLE, {**GROUP, "memory.low": str(1 << 30)}),
        (TIERED, GUARANTEED, {**GROUP, "memory.min": str(1 << 30)}),
        (TIERED, {}, {**GROUP, "memory.min": "0", "memory.low": "0"}),
        (
            MemoryQos(throttling_factor=0.9),
            BURSTABLE,
            {**GROUP, "memory.min": "0", "memory.low": "0", "memory.high": str(2040107008)},
        ),
        (MemoryQos(throttling_factor=0.9), GUARANTEED, {**GROUP, "memory.min": "0", "memory.low": "0"}),
        (
            MemoryQos(throttling_factor=0.5),
            {},
            {**GROUP, "memory.min": "0", "memory.low": "0", "memory.high": str(7 << 29)},
        ),
        (
            MemoryQos(swap_controller=True),
            BURSTABLE,
            {**GROUP, "memory.min": "0", "memory.low": "0", "memory.swap.max": "0"},
        ),
    ],
)
def test_cgroup_v2_keys_follow_the_nodes_settings(
    qos: MemoryQos, resources: dict[str, Any], unified: dict[str, str]
) -> None:
    node = replace(NODE, memory_qos=qos)
    assert dict(limits_of(resources, node).unified) == unified


def test_memory_is_not_throttled_when_the_pods_limit_bounds_the_container() -> None:
    node = replace(NODE, memory_qos=MemoryQos(throttling_factor=0.9))
    result = limits_of({"requests": {"memory": "1Gi"}}, node, resources={"limits": {"memory": "2Gi"}})
    assert "memory.high" not in result.unified


@pytest.mark.parametrize(
    ("resources", "spec", "swap"),
    [
        (BURSTABLE, {}, 512 << 20),
        (GUARANTEED, {}, 0),
        ({}, {}, 0),
        ({"requests": {"cpu": "1"}}, {}, 0),
        ({"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi", "cpu": "1"}}, {}, 0),
        (BURSTABLE, {"priority": 2_000_000_000}, 0),
        ({"requests": {"memory": "9Gi"}}, {}, 0),
    ],
)
def test_limited_swap_is_the_containers_share_of_memory(
    resources: dict[str, Any], spec: dict[str, Any], swap: int
) -> None:
    qos = MemoryQos(swap_controller=True, swap_behavior="LimitedSwap", swap_capacity_bytes=4 << 30)
    result = limits_of(resources, replace(NODE, memory_qos=qos), **spec)
    assert result.unified["memory.swap.max"] == str(swap)


def test_cgroup_v1_forbids_swap_by_an_equal_limit() -> None:
    node = replace(BARE, memory_qos=MemoryQos(swap_controller=True))
    result = limits_of(BURSTABLE, node)
    assert result.memory_swap_limit_in_bytes == result.memory_limit_in_bytes == 2 << 30
    assert not result.unified


def test_a_sandbox_is_told_the_sum_of_its_containers_without_overhead() -> None:
    pod = make_pod(
        {
            "containers": [
                make_container(resources={"requests": {"cpu": "500m"}, "limits": {"memory": "1Gi"}}),
                make_container(name="b", resources={"requests": {"cpu": "250m"}, "limits": {"cpu": "1"}}),
            ],
            "overhead": {"cpu": "100m", "memory": "64Mi"},
        }
    )
    assert sandbox_resources(pod, NODE) == api.LinuxContainerResources(
        cpu_shares=768, cpu_period=100000, cpu_quota=100000, memory_limit_in_bytes=1 << 30, unified=GROUP
    )
    assert sandbox_resources(pod, NODE, exclusive_cpus=True).cpu_quota == -1
    assert overhead_resources(pod, NODE) == api.LinuxContainerResources(
        cpu_shares=102, cpu_period=100000, cpu_quota=10000, memory_limit_in_bytes=64 << 20, unified=GROUP
    )
    assert overhead_resources(make_pod(), NODE) == api.LinuxContainerResources()


_CPU = st.integers(0, 8000).map(lambda n: f"{n}m")
_MEMORY = st.integers(0, 4096).map(lambda n: f"{n}Mi")
_AMOUNTS = st.fixed_dictionaries({}, optional={"cpu": _CPU, "memory": _MEMORY})


@given(_AMOUNTS, _AMOUNTS)
def test_every_container_has_a_weight_and_a_score_that_the_kernel_takes(
    requests: dict[str, str], limits: dict[str, str]
) -> None:
    result = limits_of({"requests": requests, "limits": limits}, NODE)
    assert 2 <= result.cpu_shares <= 262144
    assert result.cpu_quota == 0 or result.cpu_quota >= 1000
    assert -997 <= result.oom_score_adj <= 1000
    assert result.memory_limit_in_bytes >= 0
