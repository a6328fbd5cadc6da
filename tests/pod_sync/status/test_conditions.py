from typing import Any

import pytest

from shared.kube.types import PodCondition
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.pod_sync.status.build import (
    START,
    T0,
    T1,
    container,
    instance,
    listed,
    old,
    only,
    plain,
    pod,
    sandbox,
    sidecar,
    status_of,
    terminated,
    was,
)

UP = instance()
READY = "Ready"
PROBE = {"exec": {"command": ["x"]}}


def condition(status: Any, kind: str) -> dict[str, Any]:
    """Without times and generation."""
    (found,) = [c for c in status.conditions if c.type == kind]
    return {k: v for k, v in plain(found).items() if k in ("status", "reason", "message")}


def false(reason: str, message: str | None = None) -> dict[str, Any]:
    return {"status": "False", "reason": reason} | ({"message": message} if message is not None else {})


TRUE = {"status": "True"}


def test_conditions_come_in_upstreams_order() -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [9]}}]
    foreign = [{"type": "example.com/gate", "status": "True"}, {"type": "Ready", "status": "Unknown"}]
    subject = pod(
        container(restartPolicy="Always", restartPolicyRules=rules), status={"phase": "Running", "conditions": foreign}
    )
    kept = old(
        conditions=[
            {"type": "DisruptionTarget", "status": "True", "reason": "R"},
            {"type": "PodResizeInProgress", "status": "True", "lastTransitionTime": T0, "observedGeneration": 4},
            {"type": "PodResizePending", "status": "True", "lastTransitionTime": T0},
        ]
    )
    status = status_of(subject, listed(UP), old=kept)
    assert [c.type for c in status.conditions] == [
        "example.com/gate",
        "PodResizePending",
        "PodResizeInProgress",
        "DisruptionTarget",
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
        "AllContainersRestarting",
    ]


def test_a_running_ready_pod_has_true_conditions_without_reasons() -> None:
    status = status_of(pod(), listed(UP))
    for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"):
        assert condition(status, kind) == TRUE


SANDBOXES = [
    ([], "no pod sandbox exists"),
    ([sandbox(1), sandbox(0)], "multiple pod sandboxes are ready and need to be reconciled"),
    ([sandbox(ready=False)], "pod sandbox is not ready"),
    ([sandbox(network_mode=2)], "network namespace mode changed and sandbox needs to be recreated"),
    ([sandbox(ips=[])], "pod sandbox has no IP address"),
]


@pytest.mark.parametrize(("sandboxes", "message"), SANDBOXES)
def test_a_pod_without_a_usable_sandbox_cannot_start_containers(sandboxes: list[Any], message: str) -> None:
    status = status_of(pod(), listed(sandboxes=sandboxes))
    assert condition(status, "PodReadyToStartContainers") == false("PodSandboxNotReady", message)


def test_a_pod_that_the_runtime_does_not_know_has_no_sandbox() -> None:
    assert condition(status_of(pod(), None), "PodReadyToStartContainers") == false(
        "PodSandboxNotReady", "no pod sandbox exists"
    )


INITIALIZED = [
    ([], false("ContainersNotInitialized", "containers with incomplete status: [i s]")),
    ([instance("i")], false("ContainersNotInitialized", "containers with incomplete status: [i s]")),
    ([instance("i", "exited")], false("ContainersNotInitialized", "containers with incomplete status: [s]")),
    ([instance("s"), instance("i", "exited")], TRUE),
    ([UP, instance("s"), instance("i", "exited")], TRUE),
    ([UP], TRUE),
]


@pytest.mark.parametrize(("seen", "expected"), INITIALIZED)
def test_initialized_waits_for_init_containers_to_end_and_sidecars_to_start(
    seen: list[Any], expected: dict[str, Any]
) -> None:
    subject = pod(container(), init=[container("i"), sidecar("s")])
    assert condition(status_of(subject, listed(*seen)), "Initialized") == expected


def test_initialized_never_becomes_false_again() -> None:
    subject = pod(container(), init=[container("i")])
    first = status_of(subject, listed(UP, instance("i", "exited")))
    new_sandbox = listed(instance("i", number=1, sandbox="s1"), sandboxes=[sandbox(1), sandbox(0, ready=False)])
    assert condition(status_of(subject, new_sandbox, old=first), "Initialized") == TRUE


def test_a_succeeded_pod_is_initialized_because_it_completed() -> None:
    subject = pod(container(), init=[container("i")], policy="Never")
    status = status_of(subject, listed(instance(state="exited"), instance("i", "exited")))
    assert condition(status, "Initialized") == {"status": "True", "reason": "PodCompleted"}
    assert condition(status, READY) == false("PodCompleted")
    assert condition(status, "ContainersReady") == false("PodCompleted")


def test_a_failed_pod_is_not_ready() -> None:
    status = status_of(pod(policy="Never"), listed(instance(state="exited", code=1)))
    assert condition(status, READY) == false("PodFailed")
    assert condition(status, "ContainersReady") == false("PodFailed")


def test_unready_sidecars_are_named_before_regular_containers_and_init_containers_are_not() -> None:
    subject = pod(container("b"), container("a"), init=[container("i"), sidecar("s")])
    message = "containers with unready status: [s b a]"
    status = status_of(subject, listed())
    assert condition(status, "ContainersReady") == false("ContainersNotReady", message)
    assert condition(status, READY) == false("ContainersNotReady", message)


def test_readiness_gates_are_named_with_what_is_wrong() -> None:
    gates = [{"conditionType": "a/missing"}, {"conditionType": "a/false"}, {"conditionType": "a/true"}]
    api = {
        "phase": "Running",
        "conditions": [{"type": "a/false", "status": "False"}, {"type": "a/true", "status": "True"}],
    }
    status = status_of(pod(readinessGates=gates, status=api), listed(UP))
    assert condition(status, "ContainersReady") == TRUE
    assert condition(status, READY) == false(
        "ReadinessGatesNotReady",
        'corresponding condition of pod readiness gate "a/missing" does not exist., '
        'the status of pod readiness gate "a/false" is not "True", but False',
    )


def test_resize_conditions_are_those_given_and_end_with_the_pod() -> None:
    pending = PodCondition(type="PodResizePending", status="True", reason="Deferred", observed_generation=7)
    given = status_of(pod(generation=9), listed(UP), resize=(pending,))
    assert [c for c in given.conditions if "Resize" in c.type] == [pending]
    assert [c.type for c in status_of(pod(), listed(UP), old=given, resize=()).conditions if "Resize" in c.type] == []
    stopped = status_of(pod(), listed(instance(state="exited")), old=given, stopped=True)
    assert [c.type for c in stopped.conditions if "Resize" in c.type] == []


def test_the_generation_is_in_the_status_and_in_each_own_condition_but_the_restart_of_all() -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [9]}}]
    status = status_of(
        pod(container(restartPolicy="Always", restartPolicyRules=rules), generation=5),
        listed(UP),
        old=old(observedGeneration=3),
    )
    assert status.observed_generation == 5
    assert {c.type: c.observed_generation for c in status.conditions} == {
        "PodReadyToStartContainers": 5,
        "Initialized": 5,
        "Ready": 5,
        "ContainersReady": 5,
        "PodScheduled": 5,
        "AllContainersRestarting": None,
    }
    assert status_of(pod(generation=2), listed(UP), old=old(observedGeneration=3)).observed_generation == 3


def test_transition_times_move_only_with_the_status() -> None:
    first = status_of(pod(), listed(instance(state="created")), now=START)
    second = status_of(pod(), listed(UP), old=first, now=START + 1)
    third = status_of(pod(), listed(UP), old=second, now=START + 100)
    times = {c.type: c.last_transition_time for c in second.conditions}
    assert times == {
        "PodReadyToStartContainers": T0,
        "Initialized": T0,
        "PodScheduled": T0,
        "Ready": T1,
        "ContainersReady": T1,
    }
    assert {c.type: c.last_transition_time for c in third.conditions} == times
    assert (first.start_time, third.start_time) == (T0, T0)


OUTCOMES = [
    (None, None, True, True),
    (PROBE, None, True, False),
    (PROBE, ContainerProbes(pod_uid="u1", container="c", readiness=ProbeOutcome.SUCCESS), True, True),
    (PROBE, ContainerProbes(pod_uid="u1", container="c", readiness=ProbeOutcome.FAILURE), True, False),
    (PROBE, ContainerProbes(pod_uid="u1", container="c", readiness=ProbeOutcome.UNKNOWN), True, False),
]


@pytest.mark.parametrize(("probe", "outcome", "started", "ready"), OUTCOMES)
def test_a_running_container_is_ready_when_its_probe_says_so_or_it_has_none(
    probe: Any, outcome: ContainerProbes | None, started: bool, ready: bool
) -> None:
    subject = pod(container(**({"readinessProbe": probe} if probe else {})))
    (status,) = status_of(subject, listed(UP), probes={"c-0": outcome} if outcome else {}).container_statuses
    assert (status.started, status.ready) == (started, ready)


@pytest.mark.parametrize(
    ("outcome", "started"),
    [(None, False), (ProbeOutcome.UNKNOWN, False), (ProbeOutcome.FAILURE, False), (ProbeOutcome.SUCCESS, True)],
)
def test_a_container_with_a_startup_probe_has_started_when_that_succeeded(
    outcome: ProbeOutcome | None, started: bool
) -> None:
    row = {"c-0": ContainerProbes(pod_uid="u1", container="c", startup=outcome)} if outcome else {}
    (status,) = status_of(pod(container(startupProbe=PROBE)), listed(UP), probes=row).container_statuses
    assert (status.started, status.ready) == (started, started)


def test_what_was_said_of_a_container_stays_while_the_prober_is_away() -> None:
    subject = pod(container(startupProbe=PROBE, readinessProbe=PROBE))
    kept = old(was(started=True, ready=True))
    (same,) = status_of(subject, listed(UP), old=kept).container_statuses
    assert (same.started, same.ready) == (True, True)
    unknown = ContainerProbes(pod_uid="u1", container="c", startup=ProbeOutcome.UNKNOWN, readiness=ProbeOutcome.UNKNOWN)
    (asked,) = status_of(subject, listed(UP), old=kept, probes={"c-0": unknown}).container_statuses
    assert (asked.started, asked.ready) == (True, True)
    (other,) = status_of(subject, listed(instance(number=1)), old=kept).container_statuses
    assert (other.started, other.ready) == (False, False)


@pytest.mark.parametrize("seen", [instance(state="exited"), instance(state="created"), instance(state="unknown")])
def test_a_container_that_does_not_run_has_neither_started_nor_is_ready(seen: Any) -> None:
    (status,) = status_of(pod(policy="Never"), listed(seen)).container_statuses
    assert (status.started, status.ready) == (False, False)


def test_an_init_container_is_ready_when_it_completed() -> None:
    subject = pod(container(), init=[container("ok"), container("bad"), container("up"), sidecar("side")])
    seen = listed(instance("side"), instance("up"), instance("bad", "exited", 1), instance("ok", "exited"))
    told = {s.name: (s.started, s.ready) for s in status_of(subject, seen).init_container_statuses}
    assert told == {"ok": (False, True), "bad": (False, False), "up": (True, False), "side": (True, True)}


def test_ephemeral_containers_have_neither() -> None:
    subject = pod(container(), ephemeralContainers=[{"name": "d", "image": "x"}])
    status = only(status_of(subject, listed(instance("d"), UP)).ephemeral_container_statuses, "d")
    assert (status.started, status.ready) == (None, False)
    assert terminated()["terminated"]["exitCode"] == 0
