from typing import Any

import pytest

from shared.kube.types import PodStatus, ResourceHealth, ResourceRequirements, ResourceStatus
from tests.pod_sync.status.build import (
    START,
    T0,
    container,
    instance,
    listed,
    old,
    plain,
    pod,
    sandbox,
    status_of,
)

UP = instance()


def addresses(status: PodStatus) -> tuple[Any, ...]:
    ips = [entry.ip for entry in status.pod_ips]
    return status.pod_ip, ips, status.host_ip, [entry.ip for entry in status.host_ips]


ADDRESSES = [
    (["10.1.0.5"], (), ("10.1.0.5", ["10.1.0.5"], None, [])),
    (["fd00::5", "10.1.0.5"], (), ("10.1.0.5", ["10.1.0.5", "fd00::5"], None, [])),
    (["10.1.0.5", "fd00::5"], ("fd00::1",), ("fd00::5", ["fd00::5", "10.1.0.5"], "fd00::1", ["fd00::1"])),
    (["10.1.0.5", "10.1.0.6"], ("10.0.0.1",), ("10.1.0.5", ["10.1.0.5"], "10.0.0.1", ["10.0.0.1"])),
    (["10.1.0.5", "nonsense"], ("10.0.0.1",), (None, [], "10.0.0.1", ["10.0.0.1"])),
    ([], ("10.0.0.1", "fd00::1"), (None, [], "10.0.0.1", ["10.0.0.1", "fd00::1"])),
]


@pytest.mark.parametrize(("ips", "node", "expected"), ADDRESSES)
def test_a_pod_has_one_address_per_family_the_nodes_family_first(
    ips: list[str], node: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    assert addresses(status_of(pod(), listed(sandboxes=[sandbox(ips=ips)]), node_ips=node)) == expected


def test_addresses_stay_when_no_sandbox_is_ready_and_go_with_a_ready_one_without() -> None:
    kept = old(podIP="10.1.0.5", podIPs=[{"ip": "10.1.0.5"}])
    assert addresses(status_of(pod(), listed(sandboxes=[sandbox(ready=False)]), old=kept))[0] == "10.1.0.5"
    assert addresses(status_of(pod(), None, old=kept))[0] == "10.1.0.5"
    assert addresses(status_of(pod(), listed(sandboxes=[sandbox(ips=[])]), old=kept))[0] is None
    both = listed(sandboxes=[sandbox(1, ready=False), sandbox(0)])
    assert addresses(status_of(pod(), both, old=kept))[0] is None


def test_a_pod_in_the_hosts_network_has_the_nodes_addresses_from_then_on() -> None:
    subject, seen = pod(hostNetwork=True), listed(sandboxes=[sandbox(ips=[], network_mode=2)])
    first = status_of(subject, seen, node_ips=("10.0.0.1",))
    assert addresses(first) == ("10.0.0.1", ["10.0.0.1"], "10.0.0.1", ["10.0.0.1"])
    moved = status_of(subject, seen, old=first, node_ips=("10.0.0.2", "fd00::1"))
    assert addresses(moved) == ("10.0.0.1", ["10.0.0.1", "fd00::1"], "10.0.0.2", ["10.0.0.2", "fd00::1"])
    assert addresses(status_of(subject, seen)) == (None, [], None, [])


def resources(requests: dict[str, str], limits: dict[str, str], **cri: int) -> tuple[dict[str, str], dict[str, str]]:
    subject = pod(container(resources={"requests": requests, "limits": limits}))
    (status,) = status_of(subject, listed(instance(resources=cri))).container_statuses
    assert status.allocated_resources == requests
    assert status.resources is not None
    return status.resources.requests, status.resources.limits


RESOURCES = [
    ({"cpu": "100m"}, {}, {"cpu_shares": 102}, ({"cpu": "100m"}, {})),
    ({"cpu": "100m"}, {}, {"cpu_shares": 512}, ({"cpu": "500m"}, {})),
    ({"cpu": "1m"}, {}, {"cpu_shares": 2}, ({"cpu": "1m"}, {})),
    ({"cpu": "100m"}, {}, {"cpu_shares": 2}, ({"cpu": "2m"}, {})),
    ({}, {"cpu": "1"}, {"cpu_quota": 150_000, "cpu_period": 100_000}, ({}, {"cpu": "1500m"})),
    ({}, {"cpu": "5m"}, {"cpu_quota": 1000, "cpu_period": 100_000}, ({}, {"cpu": "5m"})),
    ({}, {"cpu": "1"}, {"cpu_quota": 1000, "cpu_period": 100_000}, ({}, {"cpu": "10m"})),
    ({}, {"memory": "1Gi"}, {"memory_limit_in_bytes": 2**29}, ({}, {"memory": "512Mi"})),
    ({}, {"memory": "1Gi"}, {"memory_limit_in_bytes": 2**30}, ({}, {"memory": "1Gi"})),
    ({"memory": "1Gi"}, {"memory": "1Gi"}, {}, ({"memory": "1Gi"}, {"memory": "1Gi"})),
    ({}, {}, {"cpu_shares": 512, "memory_limit_in_bytes": 5}, ({}, {})),
]


@pytest.mark.parametrize(("requests", "limits", "cri", "expected"), RESOURCES)
def test_resources_of_a_running_container_are_those_in_force(
    requests: dict[str, str], limits: dict[str, str], cri: dict[str, int], expected: Any
) -> None:
    assert resources(requests, limits, **cri) == expected


def test_what_the_runtime_does_not_tell_is_as_it_last_told_of_the_same_container() -> None:
    subject = pod(container(resources={"limits": {"memory": "1Gi"}}))
    told = status_of(subject, listed(instance(resources={"memory_limit_in_bytes": 2**29})))

    def limits(seen: Any) -> Any:
        found = status_of(subject, listed(seen), old=told).container_statuses[0].resources
        return found.limits if found is not None else None

    assert limits(UP) == {"memory": "512Mi"}
    assert limits(instance(number=1)) == {"memory": "1Gi"}
    assert limits(instance(state="exited")) == {"memory": "1Gi"}


def test_the_pods_resources_are_the_effective_ones_until_its_group_was_read() -> None:
    subject = pod(
        container("a", resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}),
        container("b", resources={"requests": {"cpu": "500m"}}),
        overhead={"cpu": "250m"},
    )
    status = status_of(subject, listed())
    assert status.allocated_resources == {"cpu": "1750m"}
    assert plain(status.resources) == {"requests": {"cpu": "1750m"}, "limits": {"cpu": "2250m"}}
    measured = ResourceRequirements(requests={"cpu": "1"}, limits={"cpu": "3", "memory": "1Gi"})
    assert plain(status_of(subject, listed(), measured=measured).resources) == {
        "requests": {"cpu": "1"},
        "limits": {"cpu": "3"},
    }


def test_device_health_is_as_given_and_else_kept() -> None:
    health = [ResourceStatus(name="a/b", resources=[ResourceHealth(resource_id="d0", health="Healthy")])]
    first = status_of(pod(), listed(UP), health={"c": health})
    assert first.container_statuses[0].allocated_resources_status == health
    assert status_of(pod(), listed(UP), old=first).container_statuses[0].allocated_resources_status == health
    assert status_of(pod(), listed(UP), old=first, health={}).container_statuses[0].allocated_resources_status == []


def test_what_others_own_is_copied_from_the_api() -> None:
    api = {
        "phase": "Running",
        "qosClass": "Guaranteed",
        "startTime": T0,
        "resourceClaimStatuses": [{"name": "a", "resourceClaimName": "b"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "x", "requestMappings": []},
    }
    status = status_of(pod(status=api), listed(UP), now=START + 50)
    assert status.qos_class == "Guaranteed"
    assert status.start_time == T0
    assert plain(status.resource_claim_statuses) == api["resourceClaimStatuses"]
    assert status.extended_resource_claim_status is not None
    assert status_of(pod(), listed(UP)).qos_class == "BestEffort"


def test_termination_messages_share_twelve_kibibytes() -> None:
    subject = pod(container("a"), container("b"), init=[container("i")], policy="Never")
    long = "é" * 4000
    seen = listed(*(instance(n, "exited", message=long) for n in ("b", "a", "i")))
    status = status_of(subject, seen)
    for one in [*status.container_statuses, *status.init_container_statuses]:
        assert one.state.terminated is not None
        assert one.state.terminated.message == "é" * 2048
    again = status_of(subject, seen, old=status)
    assert again == status
