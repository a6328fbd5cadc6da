"""Init containers run one at a time, sidecars start in order and stay."""

import pytest

from services.pod_sync.containers.core import all_init_instances, compute_pod_actions, prunable_init_instances
from services.pod_sync.containers.model import Kill, PodActions, Why
from shared.kube.types import Container
from shared.messages.pleg import RuntimePod
from shared.messages.prober import ContainerProbes, ProbeOutcome
from tests.pod_sync.containers.pods import PROBE, container, instance, make_pod, probed, rule, seen

KEPT = PodActions(sandbox_id="s0", attempt=0)
INIT_I, INIT_J, SIDE_S, SIDE_T = (
    container("i"),
    container("j"),
    container("s", sidecar=True),
    container("t", sidecar=True),
)
PROBED = container("s", sidecar=True, startup_probe=PROBE, liveness_probe=PROBE)


@pytest.mark.parametrize(
    ("init", "listing", "results", "expected"),
    [
        ((INIT_I, INIT_J), seen(), {}, PodActions(sandbox_id="s0", init_to_start=("i",))),
        ((INIT_I, INIT_J), seen(instance("i")), {}, KEPT),
        ((INIT_I, INIT_J), seen(instance("i", "created")), {}, PodActions(sandbox_id="s0", init_to_start=("i",))),
        ((INIT_I, INIT_J), seen(instance("i", "exited")), {}, PodActions(sandbox_id="s0", init_to_start=("j",))),
        (
            (INIT_I, INIT_J),
            seen(instance("i", "exited", exit_code=1)),
            {},
            PodActions(sandbox_id="s0", init_to_start=("i",)),
        ),
        (
            (INIT_I, INIT_J),
            seen(instance("i", "exited", reason="OOMKilled")),
            {},
            PodActions(sandbox_id="s0", init_to_start=("i",)),
        ),
        ((INIT_I, INIT_J), seen(instance("j", "exited")), {}, PodActions(sandbox_id="s0", to_start=("c",))),
        (
            (INIT_I, INIT_J),
            seen(instance("i", "exited", sandbox_id="older")),
            {},
            PodActions(sandbox_id="s0", init_to_start=("i",)),
        ),
        ((INIT_I, INIT_J), seen(instance()), {}, KEPT),
        ((INIT_I, INIT_J), seen(instance(state="exited")), {}, PodActions(sandbox_id="s0", to_start=("c",))),
        (
            (INIT_I,),
            seen(instance("i", "unknown")),
            {},
            PodActions(
                sandbox_id="s0",
                init_to_start=("i",),
                to_kill=(
                    Kill(
                        "i-0",
                        "i",
                        'Init container is in "unknown" state, try killing it before restart',
                        Why.UNKNOWN_STATE,
                    ),
                ),
            ),
        ),
        ((SIDE_S, INIT_I), seen(), {}, PodActions(sandbox_id="s0", init_to_start=("s",))),
        ((SIDE_S, INIT_I), seen(instance("s")), {}, PodActions(sandbox_id="s0", init_to_start=("i",))),
        ((INIT_I, SIDE_S), seen(instance("s")), {}, PodActions(sandbox_id="s0", to_start=("c",))),
        ((SIDE_S,), seen(instance("c")), {}, PodActions(sandbox_id="s0", init_to_start=("s",))),
        (
            (SIDE_S, SIDE_T),
            seen(instance("s", "exited"), instance("t"), instance()),
            {},
            PodActions(sandbox_id="s0", init_to_start=("s",)),
        ),
        (
            (SIDE_S, SIDE_T),
            seen(instance("s", "exited"), instance()),
            {},
            PodActions(sandbox_id="s0", init_to_start=("s", "t")),
        ),
        ((PROBED, INIT_I), seen(instance("s")), {}, KEPT),
        ((PROBED, INIT_I), seen(instance("s")), probed("s-0", startup=ProbeOutcome.UNKNOWN), KEPT),
        (
            (PROBED, INIT_I),
            seen(instance("s")),
            probed("s-0", startup=ProbeOutcome.SUCCESS),
            PodActions(sandbox_id="s0", init_to_start=("i",)),
        ),
        (
            (PROBED, INIT_I),
            seen(instance("s")),
            probed("s-0", startup=ProbeOutcome.FAILURE),
            PodActions(
                sandbox_id="s0",
                init_to_start=("s",),
                to_kill=(Kill("s-0", "s", "Init container s failed startup probe", Why.STARTUP_PROBE),),
            ),
        ),
        (
            (PROBED, INIT_I),
            seen(instance("s")),
            probed("s-0", startup=ProbeOutcome.SUCCESS, liveness=ProbeOutcome.FAILURE),
            PodActions(
                sandbox_id="s0",
                init_to_start=("s", "i"),
                to_kill=(Kill("s-0", "s", "Init container s failed liveness probe", Why.LIVENESS_PROBE),),
            ),
        ),
        (
            (SIDE_S,),
            seen(instance("s", image="older:1"), instance()),
            {},
            PodActions(
                sandbox_id="s0",
                init_to_start=("s",),
                to_kill=(Kill("s-0", "s", "Init container s definition changed"),),
            ),
        ),
    ],
)
def test_init_containers_run_one_at_a_time_and_sidecars_stay(
    init: tuple[Container, ...], listing: RuntimePod, results: dict[str, ContainerProbes], expected: PodActions
) -> None:
    assert compute_pod_actions(make_pod(init=init), listing, results) == expected


@pytest.mark.parametrize(
    ("init", "exit_code", "gives_up"),
    [
        (INIT_I, 1, True),
        (container("i", restart_policy="Never", restart_policy_rules=[rule("Restart", 42)]), 42, False),
        (container("i", restart_policy="Never", restart_policy_rules=[rule("Restart", 42)]), 1, True),
        (container("i", restart_policy="OnFailure"), 1, False),
    ],
)
def test_a_failed_init_container_that_may_not_restart_ends_the_pod(
    init: Container, exit_code: int, gives_up: bool
) -> None:
    listing = seen(instance("i", "exited", exit_code=exit_code))
    actions = compute_pod_actions(make_pod(init=(init,), policy="Never"), listing, {})
    assert actions.kill_pod is gives_up
    assert actions.init_to_start == (() if gives_up else ("i",))


def test_an_unknown_init_container_ends_a_pod_that_never_restarts() -> None:
    actions = compute_pod_actions(make_pod(init=(INIT_I,), policy="Never"), seen(instance("i", "unknown")), {})
    assert actions == PodActions(kill_pod=True, sandbox_id="s0")


def test_sidecars_do_not_keep_a_pod_whose_containers_are_over() -> None:
    listing = seen(instance("c", "exited"), instance("s", "exited"))
    assert compute_pod_actions(make_pod(init=(SIDE_S,), policy="Never"), listing, {}) == PodActions(
        kill_pod=True, sandbox_id="s0"
    )


def test_only_the_newest_dead_instance_of_an_init_container_is_kept_before_it_starts() -> None:
    pod = make_pod(init=(INIT_I, INIT_J))
    listing = seen(
        instance("i", attempt=3),
        instance("i", "exited", attempt=2),
        instance("i", "unknown", attempt=1),
        instance("i", "exited", attempt=0),
        instance("j", "exited"),
        instance("c", "exited", attempt=1),
        instance("c", "exited"),
    )
    assert prunable_init_instances(pod, listing) == ("i-1", "i-0")
    assert all_init_instances(pod, listing) == ("i-3", "i-2", "i-1", "i-0", "j-0")
    assert prunable_init_instances(pod, None) == ()
