"""oom_score_adj."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.environment.oom import oom_score_adj
from tests.pod_sync.environment.manifests import make_container, make_pod

CAPACITY = 8 << 30
GUARANTEED = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}


def score(spec: dict[str, Any], name: str = "app", **metadata: Any) -> int:
    pod = make_pod(spec, **metadata)
    container = next(c for c in (*pod.spec.containers, *pod.spec.init_containers) if c.name == name)
    return oom_score_adj(pod, container, CAPACITY)


def containers(*requests: str, **extra: Any) -> dict[str, Any]:
    named = [
        make_container(name="app" if index == 0 else f"c{index}", resources={"requests": {"memory": request}})
        for index, request in enumerate(requests)
    ]
    return {"containers": named, **extra}


@pytest.mark.parametrize(
    ("spec", "metadata", "expected"),
    [
        ({}, {}, 1000),
        ({"containers": [make_container(resources=GUARANTEED)]}, {}, -997),
        ({"priority": 2_000_000_000, "priorityClassName": "system-node-critical"}, {}, -997),
        ({"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"}, {}, 1000),
        ({"priorityClassName": "system-node-critical"}, {}, 1000),
        ({"priorityClassName": "system-node-critical"}, {"annotations": {"kubernetes.io/config.source": "file"}}, -997),
        (containers("4Gi"), {}, 500),
        (containers("1"), {}, 999),
        (containers("8Gi"), {}, 3),
        (containers("80Gi"), {}, 3),
        (containers("1Gi", "2Gi"), {}, 875),
    ],
)
def test_the_more_is_asked_for_the_safer_a_container_is(
    spec: dict[str, Any], metadata: dict[str, Any], expected: int
) -> None:
    assert score(spec, **metadata) == expected


def test_a_sidecar_is_as_safe_as_the_least_of_those_it_serves() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always"}
    small = make_container(**sidecar, resources={"requests": {"memory": "64Mi"}})
    large = make_container(**sidecar, resources={"requests": {"memory": "4Gi"}})
    assert score(containers("1Gi", "2Gi", initContainers=[small]), "proxy") == 875
    assert score(containers("1Gi", "2Gi", initContainers=[large]), "proxy") == 500


def test_what_the_pod_asks_beyond_its_containers_is_shared_out() -> None:
    spec = containers("1Gi", "1Gi", resources={"requests": {"memory": "4Gi"}})
    assert score(spec) == 1000 - 1000 * 2 // 8
    cpu_only = containers("1Gi", "1Gi", resources={"requests": {"cpu": "4"}})
    assert score(cpu_only) == 875


@given(st.integers(1, 64 << 30))
def test_a_burstable_container_is_never_as_safe_or_as_lost_as_the_other_classes(request: int) -> None:
    assert 3 <= score(containers(str(request))) <= 999
