"""Who goes first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.eviction.pressure.model import Candidate, PodUse
from services.eviction.pressure.ranking import may_be_evicted, rank
from shared.kube.eviction_thresholds import (
    IMAGEFS_AVAILABLE,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES_FREE,
    PID_AVAILABLE,
)
from tests.eviction.pods import container, pod, using_disk, using_memory


def names(candidates: list[Candidate], signal: str = MEMORY_AVAILABLE, *, dedicated: bool = False) -> list[str]:
    return [c.pod.metadata.name for c in rank(candidates, signal, dedicated_imagefs=dedicated)]


def test_for_memory_those_over_their_request_go_first_then_low_priority_then_the_greediest() -> None:
    within = using_memory(pod("within", container(requests={"memory": "500Mi"}), priority=-5), 400)
    important = using_memory(pod("important", priority=10), 300)
    small = using_memory(pod("small", container(requests={"memory": "90Mi"})), 100)
    greedy = using_memory(pod("greedy", container(requests={"memory": "10Mi"})), 50)
    assert names([within, important, small, greedy]) == ["greedy", "small", "important", "within"]


def test_pods_without_figures_go_before_all_others() -> None:
    unknown = Candidate("u", pod("unknown", priority=1000))
    no_memory = Candidate("m", pod("no-memory", priority=2000), PodUse())
    assert names([using_memory(pod("known"), 100), no_memory, unknown]) == ["unknown", "no-memory", "known"]


def test_a_pod_level_request_counts_for_the_whole_pod() -> None:
    whole = using_memory(pod("whole", container(), resources={"requests": {"memory": "1Gi"}}), 500)
    assert names([whole, using_memory(pod("bare"), 1)]) == ["bare", "whole"]


def test_for_disk_layers_logs_and_local_volumes_count_together_on_one_file_system() -> None:
    layer = using_disk(pod("layer"), layer=50)
    logs = using_disk(pod("logs"), logs=60)
    volumes = [
        {"name": "v", "emptyDir": {}},
        {"name": "m", "emptyDir": {"medium": "Memory"}},
        {"name": "s", "secret": {}},
    ]
    local = using_disk(pod("local", volumes=volumes), volumes={"v": 70, "m": 500, "s": 500})
    assert names([layer, logs, local], NODEFS_AVAILABLE) == ["local", "logs", "layer"]


def test_with_images_on_their_own_disk_layers_count_there_and_logs_on_the_nodes() -> None:
    layer, logs = using_disk(pod("layer"), layer=50, logs=1), using_disk(pod("logs"), layer=2, logs=60)
    assert names([layer, logs], NODEFS_AVAILABLE, dedicated=True) == ["logs", "layer"]
    assert names([layer, logs], IMAGEFS_AVAILABLE, dedicated=True) == ["layer", "logs"]


def test_a_storage_request_protects_like_a_memory_request() -> None:
    asked = pod("asked", container(requests={"ephemeral-storage": "100Mi"}))
    assert names([using_disk(asked, layer=90), using_disk(pod("bare"), layer=1)], NODEFS_AVAILABLE) == ["bare", "asked"]


def test_for_inodes_their_number_counts() -> None:
    few, many = using_disk(pod("few"), layer=500, inodes=2), using_disk(pod("many"), layer=1, inodes=900)
    assert names([few, many], NODEFS_INODES_FREE) == ["many", "few"]


def test_for_processes_low_priority_goes_first_then_the_most_processes() -> None:
    def with_processes(name: str, processes: int, priority: int) -> Candidate:
        return Candidate(name, pod(name, priority=priority), PodUse(processes=processes))

    found = names([with_processes("a", 5, 0), with_processes("b", 50, 0), with_processes("c", 99, 1)], PID_AVAILABLE)
    assert found == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("spec", "annotations", "may"),
    [
        ({}, {}, True),
        ({"priority": 1_999_999_999}, {}, True),
        ({"priority": 2_000_000_000}, {}, False),
        ({}, {"kubernetes.io/config.source": "file"}, False),
        ({}, {"kubernetes.io/config.source": "api"}, True),
        ({}, {"kubernetes.io/config.mirror": "x"}, False),
    ],
)
def test_static_and_critical_pods_are_never_evicted(
    spec: dict[str, int], annotations: dict[str, str], may: bool
) -> None:
    assert may_be_evicted(Candidate("u", pod("p", annotations=annotations, **spec))) is may


amounts = st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(-2, 2))


@given(st.lists(amounts, max_size=8))
def test_no_pod_within_its_request_goes_before_one_that_is_over_it(pods: list[tuple[int, int, int]]) -> None:
    candidates = [
        using_memory(pod(f"p{n}", container(requests={"memory": f"{asked}Mi"}), priority=priority), used)
        for n, (used, asked, priority) in enumerate(pods)
    ]
    ordered = rank(candidates, MEMORY_AVAILABLE, dedicated_imagefs=False)
    over = [pods[int(c.pod.metadata.name[1:])][0] > pods[int(c.pod.metadata.name[1:])][1] for c in ordered]
    assert over == sorted(over, reverse=True)
    assert sorted(c.uid for c in ordered) == sorted(c.uid for c in candidates)
