"""What evicted pods are told, to the letter, and limits of local storage."""

import pytest

from services.eviction.pressure.local_storage import find_excess, has_limits
from services.eviction.pressure.model import Amounts, Candidate, ContainerUse, Observation, PodUse
from services.eviction.pressure.texts import pressure_eviction, reclaim_message
from shared.kube.eviction_thresholds import (
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    NODEFS_INODES_FREE,
    Threshold,
    parse_thresholds,
)
from tests.eviction.pods import MI, container, pod, using_disk, using_memory

HARD = parse_thresholds({"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"})
MEMORY, DISK, INODES = HARD
SEEN = {
    MEMORY_AVAILABLE: Observation(50 << 10, 1 << 30, 0.0),
    NODEFS_AVAILABLE: Observation(3 * MI, 1000 * MI, 0.0),
    NODEFS_INODES_FREE: Observation(1200, 100_000, 0.0),
}


def message(candidate: Candidate, *thresholds: Threshold) -> str:
    return pressure_eviction(candidate, thresholds, SEEN, grace_s=1).message


def test_the_message_names_the_resource_the_threshold_and_what_was_left() -> None:
    candidate = using_memory(pod("p"), 0)
    assert message(candidate, MEMORY) == (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Ki. "
    )


def test_a_percentage_is_told_as_the_quantity_that_it_is() -> None:
    assert message(using_disk(pod("p")), DISK) == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 104857601, available: 3Mi. "
    )


def test_inodes_are_told_in_decimal_units_and_name_no_container() -> None:
    assert message(using_disk(pod("p"), layer=9), INODES) == (
        "The node was low on resource: inodes. Threshold quantity: 5000, available: 1200. "
    )


def test_each_container_over_its_request_is_named_with_its_use() -> None:
    of = pod(
        "p",
        container("big", requests={"memory": "10Mi"}),
        container("bare"),
        container("good", requests={"memory": "50Mi"}),
        initContainers=[container("side", requests={"memory": "1Mi"})],
    )
    eviction = pressure_eviction(
        using_memory(of, 100, big=30, bare=20, good=50, side=2, gone=99), [MEMORY], SEEN, grace_s=1
    )
    assert eviction.message == (
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Ki. "
        "Container big was using 30Mi, request is 10Mi, has larger consumption of memory. "
        "Container bare was using 20Mi, request is 0, has larger consumption of memory. "
        "Container side was using 2Mi, request is 1Mi, has larger consumption of memory. "
    )
    assert dict(eviction.annotations) == {
        "offending_containers": "big,bare,side",
        "offending_containers_usage": "30Mi,20Mi,2Mi",
        "starved_resource": "memory",
    }
    assert (eviction.signal, eviction.disruption) == (MEMORY_AVAILABLE, True)


def test_a_pod_with_a_request_of_its_own_is_named_too() -> None:
    of = pod("p", container("c"), resources={"requests": {"memory": "10Mi"}})
    eviction = pressure_eviction(using_memory(of, 30), [MEMORY], SEEN, grace_s=1)
    assert "Pod p was using 30Mi, request is 10Mi, has larger consumption of memory. " in eviction.message
    assert eviction.annotations["offending_pod"] == "p"
    assert eviction.annotations["offending_pod_usage"] == "30Mi"
    assert "Pod p" not in message(using_memory(of, 5), MEMORY)


def test_for_storage_a_container_uses_its_layer_and_its_logs() -> None:
    of = pod("p", container("c", requests={"ephemeral-storage": "5Mi"}))
    assert message(using_disk(of, layer=4, logs=3), DISK).endswith(
        "Container c was using 7Mi, request is 5Mi, has larger consumption of ephemeral-storage. "
    )


def test_without_figures_nothing_is_claimed_about_the_pod() -> None:
    eviction = pressure_eviction(Candidate("u", pod("p")), [MEMORY], SEEN, grace_s=1)
    assert eviction.annotations == {}
    assert eviction.message.endswith("available: 50Ki. ")


def test_the_nodes_event_says_what_is_reclaimed() -> None:
    assert reclaim_message(DISK) == "Attempting to reclaim ephemeral-storage"


EMPTY = [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]
MEMORY_DIR = [{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
LIMITED = container("c", limits={"ephemeral-storage": "10Mi"})


@pytest.mark.parametrize("volumes", [EMPTY, MEMORY_DIR])
def test_an_empty_dir_beyond_its_limit_ends_its_pod(volumes: list[dict[str, object]]) -> None:
    eviction = find_excess(using_disk(pod("p", volumes=volumes), volumes={"v": 2}), dedicated_imagefs=False)
    assert eviction is not None
    assert eviction.message == 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". '
    assert (eviction.signal, eviction.disruption, eviction.grace_s) == ("emptydirfs.limit", False, 1)
    assert find_excess(using_disk(pod("p", volumes=volumes), volumes={"v": 1}), dedicated_imagefs=False) is None


def test_a_pod_beyond_its_limits_together_is_ended() -> None:
    of = pod("p", LIMITED, container("d", limits={"ephemeral-storage": "1Gi"}), volumes=[{"name": "v", "emptyDir": {}}])
    eviction = find_excess(using_disk(of, layer=4, logs=3, volumes={"v": 2000}), dedicated_imagefs=False)
    assert eviction is not None
    assert eviction.message == "Pod ephemeral local storage usage exceeds the total limit of containers 1034Mi. "
    assert eviction.signal == "ephemeralpodfs.limit"


def test_a_container_beyond_its_limit_ends_its_pod() -> None:
    of = pod("p", LIMITED, container("d", limits={"ephemeral-storage": "1Gi"}))
    eviction = find_excess(using_disk(of, layer=6, logs=5), dedicated_imagefs=False)
    assert eviction is not None
    assert eviction.message == 'Container c exceeded its local ephemeral storage limit "10Mi". '
    assert eviction.signal == "ephemeralcontainerfs.limit"
    assert find_excess(using_disk(of, layer=6, logs=5), dedicated_imagefs=True) is None


def test_only_pods_that_have_limits_need_to_be_measured() -> None:
    assert not has_limits(pod("p", container(limits={"cpu": "1"}), volumes=[{"name": "v", "emptyDir": {}}]))
    assert has_limits(pod("p", LIMITED))
    assert has_limits(pod("p", volumes=EMPTY))


def test_what_is_not_known_exceeds_nothing() -> None:
    of = pod("p", LIMITED, volumes=EMPTY)
    assert find_excess(Candidate("u", of), dedicated_imagefs=False) is None
    use = PodUse(containers=(ContainerUse("c", None, None, Amounts(1)),))
    assert find_excess(Candidate("u", of, use), dedicated_imagefs=False) is None
