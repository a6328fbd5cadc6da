"""What one sync plans, case by case. Each row is a state of the world and the whole plan for it."""

import pytest

from services.pod_sync.containers.core import compute_pod_actions
from services.pod_sync.containers.core_sandbox import sandbox_decision
from services.pod_sync.containers.model import Kill, PodActions, SandboxDecision, Why
from shared.kube.types import Container, EphemeralContainer, Pod
from shared.messages.pleg import RuntimePod
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.pod_sync.containers.pods import container, instance, make_pod, probed, rule, sandbox, seen

KEPT = PodActions(sandbox_id="s0", attempt=0)


@pytest.mark.parametrize(
    ("pod", "listing", "expected"),
    [
        (make_pod(), None, SandboxDecision(True, 0, "", "no pod sandbox exists")),
        (make_pod(), seen(sandboxes=()), SandboxDecision(True, 0, "", "no pod sandbox exists")),
        (make_pod(), seen(), SandboxDecision(False, 0, "s0")),
        (
            make_pod(),
            seen(sandboxes=(sandbox(4), sandbox(3))),
            SandboxDecision(True, 5, "s4", "multiple pod sandboxes are ready and need to be reconciled"),
        ),
        (make_pod(), seen(sandboxes=(sandbox(4), sandbox(3, ready=False))), SandboxDecision(False, 4, "s4")),
        (
            make_pod(),
            seen(sandboxes=(sandbox(4, ready=False), sandbox(3))),
            SandboxDecision(True, 5, "s4", "pod sandbox is not ready"),
        ),
        (
            make_pod(host_network=True),
            seen(),
            SandboxDecision(True, 1, "", "network namespace mode changed and sandbox needs to be recreated"),
        ),
        (
            make_pod(host_network=True),
            seen(sandboxes=(sandbox(network_mode=2, ips=()),)),
            SandboxDecision(False, 0, "s0"),
        ),
        (
            make_pod(),
            seen(sandboxes=(sandbox(ips=()),)),
            SandboxDecision(True, 1, "s0", "pod sandbox has no IP address"),
        ),
    ],
)
def test_when_a_new_sandbox_is_needed(pod: Pod, listing: RuntimePod | None, expected: SandboxDecision) -> None:
    assert sandbox_decision(pod, listing) == expected


DEAD = (sandbox(0, ready=False),)


@pytest.mark.parametrize(
    ("pod", "listing", "expected"),
    [
        (make_pod(), None, PodActions(kill_pod=True, create_sandbox=True, to_start=("c",))),
        (
            make_pod(init=(container("i"), container("j"))),
            None,
            PodActions(kill_pod=True, create_sandbox=True, init_to_start=("i",)),
        ),
        (
            make_pod(),
            seen(instance(), sandboxes=DEAD),
            PodActions(
                kill_pod=True, create_sandbox=True, sandbox_id="s0", attempt=1, sandbox_changed=True, to_start=("c",)
            ),
        ),
        (
            make_pod(policy="Never"),
            seen(instance(state="exited"), sandboxes=DEAD),
            PodActions(kill_pod=True, sandbox_id="s0", attempt=1),
        ),
        (
            make_pod(policy="Never"),
            seen(instance(state="created"), sandboxes=DEAD),
            PodActions(
                kill_pod=True, create_sandbox=True, sandbox_id="s0", attempt=1, sandbox_changed=True, to_start=("c",)
            ),
        ),
        (
            make_pod(policy="Never"),
            seen(sandboxes=DEAD),
            PodActions(
                kill_pod=True, create_sandbox=True, sandbox_id="s0", attempt=1, sandbox_changed=True, to_start=("c",)
            ),
        ),
        (
            make_pod(container("a"), container("b"), policy="OnFailure"),
            seen(instance("a", "exited"), instance("b", "exited", exit_code=1), sandboxes=DEAD),
            PodActions(
                kill_pod=True, create_sandbox=True, sandbox_id="s0", attempt=1, sandbox_changed=True, to_start=("b",)
            ),
        ),
        (
            make_pod(policy="OnFailure"),
            seen(instance(state="exited"), sandboxes=DEAD),
            PodActions(kill_pod=True, sandbox_id="s0", attempt=1),
        ),
        (
            make_pod(container("a", restart_policy="OnFailure"), container("b")),
            seen(instance("a", "exited"), instance("b", "exited"), sandboxes=DEAD),
            PodActions(
                kill_pod=True, create_sandbox=True, sandbox_id="s0", attempt=1, sandbox_changed=True, to_start=("b",)
            ),
        ),
    ],
)
def test_a_new_sandbox_starts_from_the_beginning(pod: Pod, listing: RuntimePod | None, expected: PodActions) -> None:
    assert compute_pod_actions(pod, listing, {}) == expected


@pytest.mark.parametrize(
    ("pod", "listing", "expected"),
    [
        (make_pod(), seen(instance()), KEPT),
        (make_pod(), seen(), PodActions(sandbox_id="s0", to_start=("c",))),
        (make_pod(), seen(instance(state="exited")), PodActions(sandbox_id="s0", to_start=("c",))),
        (make_pod(), seen(instance(state="created")), PodActions(sandbox_id="s0", to_start=("c",))),
        (
            make_pod(),
            seen(instance(state="unknown")),
            PodActions(
                sandbox_id="s0",
                to_start=("c",),
                to_kill=(
                    Kill(
                        "c-0",
                        "c",
                        'Container is in "unknown" state, try killing it before restart',
                        Why.UNKNOWN_STATE,
                    ),
                ),
            ),
        ),
        (make_pod(policy="Never"), seen(instance(state="exited")), PodActions(kill_pod=True, sandbox_id="s0")),
        (
            make_pod(policy="OnFailure"),
            seen(instance(state="exited", exit_code=3)),
            PodActions(sandbox_id="s0", to_start=("c",)),
        ),
        (
            make_pod(container("a"), container("b"), policy="OnFailure"),
            seen(instance("a", "exited"), instance("b")),
            KEPT,
        ),
        (make_pod(deleted=True), seen(instance(state="exited")), PodActions(kill_pod=True, sandbox_id="s0")),
        (
            make_pod(ephemeral=(EphemeralContainer(name="debug", image="busybox"),)),
            seen(instance()),
            PodActions(sandbox_id="s0", ephemeral_to_start=("debug",)),
        ),
        (
            make_pod(ephemeral=(EphemeralContainer(name="debug", image="busybox"),)),
            seen(instance("debug", "exited"), instance()),
            KEPT,
        ),
    ],
)
def test_what_regular_and_ephemeral_containers_need(pod: Pod, listing: RuntimePod, expected: PodActions) -> None:
    assert compute_pod_actions(pod, listing, {}) == expected


@pytest.mark.parametrize(
    ("of", "policy", "listing", "results", "message", "why", "restarted"),
    [
        (
            container(),
            "Never",
            seen(instance(image="other:1")),
            {},
            "Container c definition changed, will be restarted",
            Why.OTHER,
            True,
        ),
        (
            container(),
            "Always",
            seen(instance()),
            probed("c-0", liveness=ProbeOutcome.FAILURE),
            "Container c failed liveness probe, will be restarted",
            Why.LIVENESS_PROBE,
            True,
        ),
        (
            container(),
            "Never",
            seen(instance()),
            probed("c-0", liveness=ProbeOutcome.FAILURE),
            "Container c failed liveness probe",
            Why.LIVENESS_PROBE,
            False,
        ),
        (
            container(restart_policy="Never"),
            "Always",
            seen(instance()),
            probed("c-0", startup=ProbeOutcome.FAILURE),
            "Container c failed startup probe",
            Why.STARTUP_PROBE,
            False,
        ),
        (
            container(restart_policy="OnFailure"),
            "Never",
            seen(instance()),
            probed("c-0", startup=ProbeOutcome.FAILURE),
            "Container c failed startup probe, will be restarted",
            Why.STARTUP_PROBE,
            True,
        ),
    ],
)
def test_why_a_running_container_is_killed(
    of: Container,
    policy: str,
    listing: RuntimePod,
    results: dict[str, ContainerProbes],
    message: str,
    why: Why,
    restarted: bool,
) -> None:
    kept = container("kept")
    listing = seen(instance("kept"), *listing.containers)
    actions = compute_pod_actions(make_pod(of, kept, policy=policy), listing, results)
    assert actions.to_kill == (Kill("c-0", "c", message, why),)
    assert actions.to_start == (("c",) if restarted else ())
    assert not actions.kill_pod


def test_results_of_an_older_instance_do_not_kill_the_new_one() -> None:
    listing = seen(instance(attempt=1), instance(state="exited", attempt=0))
    assert compute_pod_actions(make_pod(), listing, probed("c-0", liveness=ProbeOutcome.FAILURE)) == KEPT


def test_a_container_that_no_kubelet_made_has_no_hash_and_is_kept() -> None:
    foreign = instance()
    foreign.annotations.clear()
    assert compute_pod_actions(make_pod(), seen(foreign), {}) == KEPT


@pytest.mark.parametrize(
    ("of", "policy", "exit_code", "starts"),
    [
        (container(restart_policy="Never", restart_policy_rules=[rule("Restart", 3)]), "Never", 3, True),
        (container(restart_policy="Never", restart_policy_rules=[rule("Restart", 3)]), "Always", 4, False),
        (
            container(restart_policy="Never", restart_policy_rules=[rule("Restart", 0, operator="NotIn")]),
            "Never",
            9,
            True,
        ),
        (
            container(restart_policy="Never", restart_policy_rules=[rule("Restart", 0, operator="NotIn")]),
            "Never",
            0,
            False,
        ),
        (container(restart_policy="OnFailure"), "Never", 1, True),
        (container(restart_policy="OnFailure"), "Always", 0, False),
        (container(restart_policy="Always"), "Never", 0, True),
        (container(), "Never", 1, False),
        (container(), "OnFailure", 0, False),
        (container(), "Always", 0, True),
    ],
)
def test_whether_an_exited_container_is_started_again(of: Container, policy: str, exit_code: int, starts: bool) -> None:
    listing = seen(instance("kept"), instance(state="exited", exit_code=exit_code))
    actions = compute_pod_actions(make_pod(of, container("kept"), policy=policy), listing, {})
    assert actions.to_start == (("c",) if starts else ())
