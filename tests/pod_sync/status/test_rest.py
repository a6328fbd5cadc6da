import json
from typing import Any

import msgspec
import pytest

from services.pod_sync.status.compare import same_for_kubelet
from services.pod_sync.status.finish import finished_status, may_delete, rejected_status
from services.pod_sync.status.merge import merge_with_api
from services.pod_sync.status.patch import status_patch
from shared.kube.types import PodStatus, ResourceHealth, ResourceRequirements, ResourceStatus
from tests.pod_sync.status.build import (
    START,
    T0,
    T1,
    container,
    instance,
    listed,
    old,
    plain,
    pod,
    sandbox,
    sidecar,
    status_of,
    terminated,
    waiting,
    was,
)

UP = instance()
LOST = {
    "terminated": {
        "exitCode": 137,
        "reason": "ContainerStatusUnknown",
        "message": "The container could not be located when the pod was terminated",
    }
}


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


def test_a_rejected_pod_has_failed_with_the_reason_and_nothing_else() -> None:
    assert plain(rejected_status(pod(generation=2), "OutOfcpu", "Node didn't have enough resource", now=START)) == {
        "phase": "Failed",
        "reason": "OutOfcpu",
        "message": "Pod was rejected: Node didn't have enough resource",
        "qosClass": "BestEffort",
        "startTime": T0,
        "observedGeneration": 2,
    }


def test_at_the_end_every_container_that_had_begun_has_ended() -> None:
    subject = pod(container("a"), container("b"))
    kept = old(was("a"), was("b", terminated(0, name="b")))
    status = finished_status(subject, kept, now=START)
    assert status.phase == "Failed"
    assert [plain(s.state) for s in status.container_statuses] == [LOST, terminated(0, name="b")]
    assert finished_status(subject, status, now=START + 9) == status


def test_a_pod_that_ended_while_it_initialized_shows_what_had_begun() -> None:
    subject = pod(container("a"), init=[container("i"), container("j"), container("k")])
    init = [
        was("i", terminated(0, name="i")),
        was("j", waiting("CrashLoopBackOff"), lastState=terminated(1, name="j")),
        was("k", waiting("PodInitializing")),
    ]
    kept = old(
        *init, kind="initContainerStatuses", phase="Pending", containerStatuses=[was("a", waiting("PodInitializing"))]
    )
    status = finished_status(subject, kept, now=START)
    assert status.phase == "Failed"
    assert [plain(s.state) for s in status.init_container_statuses] == [
        terminated(0, name="i"),
        LOST,
        waiting("PodInitializing"),
    ]
    assert plain(status.container_statuses[0].state) == waiting("PodInitializing")
    untouched = old(
        *[was(n, waiting("PodInitializing")) for n in ("i", "j", "k")], kind="initContainerStatuses", phase="Pending"
    )
    states = [plain(s.state) for s in finished_status(subject, untouched, now=START).init_container_statuses]
    assert states == [LOST, waiting("PodInitializing"), waiting("PodInitializing")]


INITIALIZED = [
    ([container("i")], [was("i", terminated(0, name="i"))], [was("a", waiting())], True),
    ([sidecar("s")], [was("s", started=True)], [was("a", waiting())], True),
    ([sidecar("s")], [was("s", started=False)], [was("a", waiting())], False),
    ([container("i")], [was("i", terminated(1, name="i"))], [was("a", waiting())], False),
    ([container("i")], [], [was("a", waiting(), lastState=terminated(name="a"))], True),
    ([container("i")], [], [was("a", waiting())], False),
    ([], [], [was("a", waiting())], True),
]


@pytest.mark.parametrize(("init", "init_was", "regular_was", "ended"), INITIALIZED)
def test_regular_containers_are_marked_only_in_a_pod_that_had_initialized(
    init: Any, init_was: Any, regular_was: Any, ended: bool
) -> None:
    kept = old(*init_was, kind="initContainerStatuses", containerStatuses=regular_was)
    status = finished_status(pod(container("a"), init=init), kept, now=START)
    assert (status.container_statuses[0].state.terminated is not None) is ended


def test_an_end_keeps_a_terminal_phase_and_a_static_pods_phase() -> None:
    assert finished_status(pod(), old(phase="Succeeded"), now=START).phase == "Succeeded"
    assert finished_status(pod(source="file"), old(phase="Running"), now=START).phase == "Running"
    assert finished_status(pod(status={"phase": "Pending"}), None, now=START).phase == "Failed"


def test_a_pod_is_deleted_for_good_only_when_deleted_ended_finished_and_no_mirror() -> None:
    over = pod(deleted=True, status={"phase": "Failed"})
    assert may_delete(over, finished=True)
    assert not may_delete(over, finished=False)
    assert not may_delete(pod(status={"phase": "Failed"}), finished=True)
    assert not may_delete(pod(deleted=True, status={"phase": "Running"}), finished=True)
    mirror = msgspec.convert(
        plain(over) | {"metadata": plain(over.metadata) | {"annotations": {"kubernetes.io/config.mirror": "x"}}},
        type(over),
    )
    assert not may_delete(mirror, finished=True)


def test_only_what_is_the_nodes_counts_when_statuses_are_compared() -> None:
    one = status_of(pod(), listed(UP), now=START)
    foreign = msgspec.convert(
        plain(one)
        | {
            "conditions": [
                *(c | {"lastTransitionTime": T1, "lastProbeTime": T1} for c in plain(one.conditions)),
                {"type": "example.com/x", "status": "True"},
            ],
            "resourceClaimStatuses": [{"name": "a"}],
        },
        PodStatus,
    )
    assert same_for_kubelet(one, foreign)
    assert not same_for_kubelet(one, status_of(pod(), listed(UP), node_ips=("10.0.0.1",)))
    assert not same_for_kubelet(one, status_of(pod(generation=2), listed(UP)))
    assert same_for_kubelet(None, None)
    assert not same_for_kubelet(None, one)
    disrupted = msgspec.convert(
        plain(one) | {"conditions": [*plain(one.conditions), {"type": "DisruptionTarget", "status": "True"}]}, PodStatus
    )
    assert not same_for_kubelet(one, disrupted)


FAILED = {
    "phase": "Failed",
    "reason": "Evicted",
    "message": "low",
    "conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastTransitionTime": T0},
        {"type": "Ready", "status": "True", "lastTransitionTime": T0},
        {"type": "ContainersReady", "status": "True", "lastTransitionTime": T0},
    ],
}


def merged(api: dict[str, Any], own: dict[str, Any], *, may_run: bool = False) -> Any:
    subject = pod(status=api)
    return plain(merge_with_api(subject, msgspec.convert(own, PodStatus), may_run=may_run, now=START + 1))


def test_conditions_and_claims_of_others_are_kept_and_own_ones_replaced() -> None:
    api = {
        "phase": "Running",
        "conditions": [{"type": "x/y", "status": "True"}, {"type": "Ready", "status": "False"}],
        "resourceClaimStatuses": [{"name": "a"}],
    }
    own = {
        "phase": "Running",
        "conditions": [{"type": "x/y", "status": "False"}, {"type": "Ready", "status": "True"}],
    }
    told = merged(api, own)
    assert told["conditions"] == [{"type": "x/y", "status": "True"}, {"type": "Ready", "status": "True"}]
    assert told["resourceClaimStatuses"] == [{"name": "a"}]


def test_an_end_is_not_told_while_something_may_still_run() -> None:
    told = merged({"phase": "Running", "reason": "R"}, FAILED, may_run=True)
    assert (told["phase"], told["reason"], told.get("message")) == ("Running", "R", None)
    assert [c["type"] for c in told["conditions"]] == ["Ready", "ContainersReady"]
    assert told["conditions"][0]["status"] == "True"


def test_an_end_is_told_with_its_disruption_and_never_as_ready() -> None:
    told = merged({"phase": "Running"}, FAILED)
    assert (told["phase"], told["reason"], told["message"]) == ("Failed", "Evicted", "low")
    assert sorted((c["type"], c["status"], c["reason"], c["lastTransitionTime"]) for c in told["conditions"]) == [
        ("ContainersReady", "False", "PodFailed", T1),
        ("DisruptionTarget", "True", "TerminationByKubelet", T1),
        ("Ready", "False", "PodFailed", T1),
    ]


def test_a_disruption_is_not_told_without_an_end() -> None:
    told = merged({"phase": "Running"}, FAILED | {"phase": "Running"})
    assert "DisruptionTarget" not in [c["type"] for c in told["conditions"]]
    already = merged({"phase": "Failed"}, FAILED)
    assert "DisruptionTarget" not in [c["type"] for c in already["conditions"]]


def patch(before: dict[str, Any], after: dict[str, Any]) -> Any:
    body = status_patch(msgspec.convert(before, PodStatus), msgspec.convert(after, PodStatus), uid="u1")
    return None if body is None else json.loads(body)["status"]


def test_nothing_is_sent_when_nothing_differs() -> None:
    assert patch({"phase": "Running"}, {"phase": "Running"}) is None


def test_a_patch_names_the_uid() -> None:
    body = status_patch(PodStatus(), PodStatus(phase="Running"), uid="u1")
    assert body is not None
    assert json.loads(body) == {"metadata": {"uid": "u1"}, "status": {"phase": "Running"}}


def test_changed_fields_are_sent_and_missing_ones_become_null() -> None:
    before = {"phase": "Running", "reason": "R", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    after = {"phase": "Failed", "resources": {"requests": {"cpu": "2"}}, "hostIP": "10.0.0.1"}
    assert patch(before, after) == {
        "phase": "Failed",
        "reason": None,
        "resources": {"requests": {"cpu": "2", "memory": None}},
        "hostIP": "10.0.0.1",
    }


def test_keyed_lists_are_patched_item_by_item_with_their_order() -> None:
    before = {
        "conditions": [
            {"type": "A", "status": "True", "reason": "R"},
            {"type": "B", "status": "True"},
            {"type": "C", "status": "True"},
        ],
        "podIPs": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}],
    }
    after = {
        "conditions": [
            {"type": "B", "status": "True"},
            {"type": "A", "status": "False"},
            {"type": "D", "status": "True"},
        ],
        "podIPs": [{"ip": "2.2.2.2"}, {"ip": "1.1.1.1"}],
    }
    assert patch(before, after) == {
        "$setElementOrder/conditions": [{"type": "B"}, {"type": "A"}, {"type": "D"}],
        "conditions": [
            {"type": "A", "status": "False", "reason": None},
            {"type": "D", "status": "True"},
            {"$patch": "delete", "type": "C"},
        ],
        "$setElementOrder/podIPs": [{"ip": "2.2.2.2"}, {"ip": "1.1.1.1"}],
    }


def test_container_statuses_are_replaced_whole() -> None:
    before = {"containerStatuses": [was("a"), was("b")]}
    after = {"containerStatuses": [was("a", ready=True), was("b")]}
    sent = patch(before, after)["containerStatuses"]
    assert [(s["name"], s["ready"]) for s in sent] == [("a", True), ("b", False)]
