from typing import Any

import pytest

from services.pod_sync.status.core import compute_status
from services.pod_sync.status.deadline import deadline_left_s
from services.pod_sync.status.model import StatusContext, seconds_of, wire_time
from services.pod_sync.workers.model import StatusOverride
from shared.kube.types import PodStatus
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
    sidecar,
    status_of,
    terminated,
    waiting,
    was,
)

UP = instance()
OK = instance(state="exited")
BAD = instance(state="exited", code=1)
MADE = instance(state="created")

ONE_CONTAINER = [
    ("Always", [], "Pending"),
    ("Always", [MADE], "Pending"),
    ("Always", [UP], "Running"),
    ("Always", [OK], "Running"),
    ("Always", [BAD], "Running"),
    ("OnFailure", [OK], "Succeeded"),
    ("OnFailure", [BAD], "Running"),
    ("Never", [OK], "Succeeded"),
    ("Never", [BAD], "Failed"),
    ("Never", [instance(state="unknown")], "Pending"),
]


@pytest.mark.parametrize(("policy", "seen", "phase"), ONE_CONTAINER)
def test_phase_of_a_pod_with_one_container(policy: str, seen: list[Any], phase: str) -> None:
    assert status_of(pod(policy=policy), listed(*seen)).phase == phase


TWO_CONTAINERS = [
    ("Never", OK, BAD, "Failed"),
    ("Never", OK, UP, "Running"),
    ("OnFailure", OK, BAD, "Running"),
    ("Never", OK, None, "Pending"),
    ("Never", UP, None, "Pending"),
]


@pytest.mark.parametrize(("policy", "first", "second", "phase"), TWO_CONTAINERS)
def test_phase_of_a_pod_with_two_containers(policy: str, first: Any, second: Any, phase: str) -> None:
    states = [instance("a", first.state, first.exit_code)]
    states += [instance("b", second.state, second.exit_code)] if second else []
    assert status_of(pod(container("a"), container("b"), policy=policy), listed(*states)).phase == phase


@pytest.mark.parametrize(
    ("source", "seen", "phase"),
    [
        ("api", [OK], "Succeeded"),
        ("api", [BAD], "Failed"),
        ("api", [], "Pending"),
        ("file", [OK], "Running"),
        ("file", [BAD], "Running"),
    ],
)
def test_a_stopped_pod_has_ended_whatever_its_policy_unless_it_is_static(
    source: str, seen: list[Any], phase: str
) -> None:
    assert status_of(pod(source=source), listed(*seen), stopped=True).phase == phase


OWN_POLICIES = [
    ({"restartPolicy": "Always"}, "Never", BAD, "Running"),
    ({"restartPolicy": "Never"}, "Always", BAD, "Failed"),
    ({"restartPolicy": "OnFailure"}, "Always", OK, "Succeeded"),
    (
        {
            "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
        },
        "Never",
        BAD,
        "Running",
    ),
]


@pytest.mark.parametrize(("own", "policy", "seen", "phase"), OWN_POLICIES)
def test_a_containers_own_policy_and_rules_come_before_the_pods(
    own: dict[str, Any], policy: str, seen: Any, phase: str
) -> None:
    assert status_of(pod(container(**own), policy=policy), listed(seen)).phase == phase


def init(state: str = "exited", code: int = 0) -> Any:
    return instance("i", state, code)


INIT = [
    ("Always", [], "Pending"),
    ("Always", [init("running")], "Pending"),
    ("Always", [init("created")], "Pending"),
    ("Always", [init("exited")], "Pending"),
    ("Always", [init("exited", 1)], "Pending"),
    ("Never", [init("exited", 1)], "Failed"),
    ("OnFailure", [init("exited", 1)], "Pending"),
    ("Always", [UP, init("exited")], "Running"),
]


@pytest.mark.parametrize(("policy", "seen", "phase"), INIT)
def test_phase_while_init_containers_run(policy: str, seen: list[Any], phase: str) -> None:
    assert status_of(pod(container(), init=[container("i")], policy=policy), listed(*seen)).phase == phase


def test_an_init_container_that_waits_after_a_failure_for_good_has_failed_the_pod() -> None:
    before = old(
        was("i", waiting("CrashLoopBackOff"), lastState=terminated(1, name="i")),
        kind="initContainerStatuses",
        phase="Pending",
    )
    assert status_of(pod(container(), init=[container("i")], policy="Never"), listed(), old=before).phase == "Failed"
    assert status_of(pod(container(), init=[container("i")]), listed(), old=before).phase == "Pending"


def side(state: str = "running", **fields: Any) -> Any:
    return instance("s", state, **fields)


SIDECARS = [
    ([side()], "Pending"),
    ([side(), UP], "Running"),
    ([side("created"), UP], "Pending"),
    ([UP], "Pending"),
    ([side("exited"), UP], "Running"),
    ([side("exited"), BAD], "Failed"),
    ([side(), OK], "Running"),
    ([side("exited", code=1), OK], "Succeeded"),
]


@pytest.mark.parametrize(("seen", "phase"), SIDECARS)
def test_phase_of_a_pod_with_a_sidecar(seen: list[Any], phase: str) -> None:
    assert status_of(pod(container(), init=[sidecar("s")], policy="Never"), listed(*seen)).phase == phase


def test_a_sidecar_that_has_not_started_holds_only_a_pod_that_was_not_initialized_in_this_sandbox() -> None:
    subject = pod(container(), init=[sidecar("s", startupProbe={"exec": {"command": ["x"]}})])
    assert status_of(subject, listed(side(), UP)).phase == "Running"
    of_before = listed(side(sandbox="s1"), instance(sandbox="s0"), sandboxes=[sandbox(1), sandbox(0, ready=False)])
    assert status_of(subject, of_before).phase == "Pending"


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
@pytest.mark.parametrize("where", ["kept", "api"])
def test_an_end_that_was_told_is_never_taken_back(phase: str, where: str) -> None:
    told = {"phase": phase, "reason": "R", "message": "M"}
    subject = pod(status=told if where == "api" else None)
    kept = old(**told) if where == "kept" else None
    status = status_of(subject, listed(UP), old=kept)
    assert (status.phase, status.reason, status.message) == (phase, "R", "M")


def test_the_api_end_wins_over_another_one() -> None:
    subject = pod(status={"phase": "Failed"}, policy="Never")
    assert status_of(subject, listed(OK)).phase == "Failed"
    assert status_of(subject, listed(OK), old=old(phase="Succeeded")).phase == "Failed"


def test_reason_and_message_stay_with_their_phase() -> None:
    kept = old(phase="Running", reason="R")
    subject = pod(status={"phase": "Running", "reason": "A", "message": "B"})
    same = status_of(subject, listed(UP), old=kept)
    assert (same.reason, same.message) == ("R", "B")
    other = status_of(subject, listed(), old=kept)
    assert (other.phase, other.reason, other.message) == ("Pending", None, None)


EVICTED = StatusOverride("Failed", "Evicted", "The node was low on resource: memory. ", "low on memory")


def test_an_override_sets_phase_reason_and_disruption_and_they_stay() -> None:
    subject = pod(generation=3)
    first = status_of(subject, listed(UP), override=EVICTED)
    ended = status_of(subject, listed(BAD), old=first, stopped=True)
    for status in (first, ended):
        assert (status.phase, status.reason, status.message) == ("Failed", EVICTED.reason, EVICTED.message)
        (disruption,) = [c for c in status.conditions if c.type == "DisruptionTarget"]
        assert plain(disruption) == {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "TerminationByKubelet",
            "message": "low on memory",
            "lastTransitionTime": T0,
            "observedGeneration": 3,
        }
    assert first.conditions[0].type == "DisruptionTarget"


def test_an_override_does_not_change_an_end_that_the_api_has() -> None:
    status = status_of(pod(status={"phase": "Succeeded"}), listed(OK), override=EVICTED)
    assert (status.phase, status.reason) == ("Succeeded", None)


def test_a_pod_past_its_deadline_has_failed() -> None:
    subject = pod(activeDeadlineSeconds=10)
    kept = PodStatus(phase="Running", start_time=T0)
    assert status_of(subject, listed(UP), old=kept, now=START + 9.9).phase == "Running"
    late = status_of(subject, listed(UP), old=kept, now=START + 10)
    assert (late.phase, late.reason, late.message) == (
        "Failed",
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    )
    assert deadline_left_s(subject, kept, now=START + 4) == 6
    assert deadline_left_s(subject, PodStatus(), now=START) is None
    assert deadline_left_s(pod(), kept, now=START) is None
    assert status_of(pod(activeDeadlineSeconds=10), listed(UP), now=START + 99).phase == "Running"


def test_a_container_that_ended_for_good_cannot_come_back() -> None:
    subject = pod(policy="Never")
    kept = old(was(state=terminated(1)), phase="Running")
    computed = compute_status(StatusContext(pod=subject, seen=listed(instance(number=1)), now=START, old=kept))
    assert computed.status is kept
    assert computed.refused == "terminated container c attempted illegal transition to non-terminated state"


ALLOWED = [
    (pod(), 1),
    (pod(policy="OnFailure"), 1),
    (pod(container(restartPolicy="Always"), policy="Never"), 0),
    (
        pod(
            container(
                restartPolicy="Never",
                restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
            ),
            policy="Never",
        ),
        1,
    ),
    (
        pod(
            container(),
            container(
                "d",
                restartPolicy="Never",
                restartPolicyRules=[{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [9]}}],
            ),
            policy="Never",
        ),
        0,
    ),
]


@pytest.mark.parametrize(("subject", "code"), ALLOWED)
def test_a_container_that_may_be_started_again_can_come_back(subject: Any, code: int) -> None:
    kept = old(was(state=terminated(code)), phase="Running")
    seen = listed(instance(number=1), instance("d"))
    assert not compute_status(StatusContext(pod=subject, seen=seen, now=START, old=kept)).refused


def test_a_sidecar_can_come_back() -> None:
    subject = pod(container(), init=[sidecar("s")], policy="Never")
    kept = old(was("s", terminated(0, name="s")), kind="initContainerStatuses")
    seen = listed(instance("s", number=1), UP)
    assert not compute_status(StatusContext(pod=subject, seen=seen, now=START, old=kept)).refused


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (T0, START),
        ("2023-11-14T22:13:20.5Z", START + 0.5),
        ("2023-11-14T23:13:20+01:00", START),
        ("x", None),
        (None, None),
    ],
)
def test_times_of_the_api_are_read(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds
    assert wire_time(START + 0.9) == T0
