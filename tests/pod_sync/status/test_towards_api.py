import json
from typing import Any

import msgspec
import pytest

from services.pod_sync.status.compare import same_for_kubelet
from services.pod_sync.status.finish import finished_status, may_delete, rejected_status
from services.pod_sync.status.merge import merge_with_api
from services.pod_sync.status.patch import status_patch
from shared.kube.types import PodStatus
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
