"""A rule that restarts all containers: everything is removed, then the pod begins again in its sandbox."""

from services.pod_sync.containers.core import compute_pod_actions
from services.pod_sync.containers.model import Kill, PodActions, Why
from tests.pod_sync.containers.pods import container, instance, make_pod, rule, sandbox, seen

TRIGGER = container("t", restart_policy="Never", restart_policy_rules=[rule("RestartAllContainers", 42)])
POD = make_pod(container("a"), TRIGGER, init=(container("i"),))


def killing(name: str) -> Kill:
    return Kill(f"{name}-0", name, "killing", Why.RESTART_ALL)


def test_others_go_first_and_those_that_asked_for_it_last() -> None:
    listing = seen(instance("a"), instance("t", "exited", exit_code=42), instance("i", "exited"))
    assert compute_pod_actions(POD, listing, {}, resetting=True) == PodActions(
        sandbox_id="s0", to_kill=(killing("a"),), to_remove=("a-0", "i-0", "t-0")
    )


def test_when_all_are_gone_the_pod_begins_with_its_init_containers_in_the_same_sandbox() -> None:
    assert compute_pod_actions(POD, seen(), {}, resetting=True) == PodActions(sandbox_id="s0", init_to_start=("i",))


def test_a_reset_that_a_crash_cut_in_the_middle_goes_on() -> None:
    listing = seen(instance("t", "exited", exit_code=42))
    assert compute_pod_actions(POD, listing, {}, resetting=True) == PodActions(sandbox_id="s0", to_remove=("t-0",))


def test_every_old_instance_of_a_container_goes() -> None:
    listing = seen(instance("a", attempt=1), instance("a", "exited"), instance("t", "exited", exit_code=42))
    actions = compute_pod_actions(POD, listing, {}, resetting=True)
    assert actions.to_remove == ("a-1", "a-0", "t-0")


def test_ephemeral_containers_are_no_part_of_it() -> None:
    listing = seen(instance("debug"), instance("t", "exited", exit_code=42))
    assert compute_pod_actions(POD, listing, {}, resetting=True).to_remove == ("t-0",)


def test_without_the_condition_the_trigger_is_started_again_like_any_other() -> None:
    listing = seen(instance("a"), instance("t", "exited", exit_code=42), instance("i", "exited"))
    assert compute_pod_actions(POD, listing, {}) == PodActions(sandbox_id="s0", to_start=("t",))


def test_a_sandbox_that_is_gone_matters_more_than_a_reset() -> None:
    listing = seen(instance("t", "exited", exit_code=42), sandboxes=(sandbox(0, ready=False),))
    assert compute_pod_actions(POD, listing, {}, resetting=True).create_sandbox
