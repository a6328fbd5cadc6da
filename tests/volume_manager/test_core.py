"""The planner of one pod: tables and properties."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.volume_manager import core
from services.volume_manager.model import (
    Action,
    ActualPod,
    ActualVolume,
    Attempt,
    Backoff,
    DesiredPod,
    DirState,
    Done,
    Failed,
    Operation,
    Outcome,
    Plan,
    Stage,
    VolumeKey,
    VolumeState,
)
from shared.messages.pod_sync import PodEntry, PodPhase
from shared.messages.volume_manager import MountedVolume, PodVolumes, VolumesPhase
from tests.volume_manager import pods

A, B = VolumeKey("kubernetes.io/empty-dir", "a"), VolumeKey("kubernetes.io/host-path", "b")
MOUNTED = MountedVolume(host_path="/x")
UP = ActualVolume(VolumeState.MOUNTED, MOUNTED)
FOUND = ActualVolume(VolumeState.UNCERTAIN)
BOTH = {"a": A, "b": B}


@pytest.mark.parametrize(
    ("stage", "actual", "expected"),
    [
        (Stage.UNKNOWN, ActualPod(DirState.FOUND, volumes={A: FOUND}), []),
        (Stage.RUN, ActualPod(), [Action(Operation.MAKE_DIR)]),
        (Stage.RUN, ActualPod(DirState.FOUND, volumes={A: FOUND}), [Action(Operation.MAKE_DIR)]),
        (Stage.RUN, ActualPod(DirState.PRESENT), [Action(Operation.SET_UP, A), Action(Operation.SET_UP, B)]),
        (Stage.RUN, ActualPod(DirState.PRESENT, volumes={A: UP}), [Action(Operation.SET_UP, B)]),
        (Stage.RUN, ActualPod(DirState.PRESENT, volumes={A: replace(UP, stale=True), B: UP}), [Action(Operation.SET_UP, A)]),
        (Stage.KEEP, ActualPod(DirState.PRESENT, volumes={A: FOUND}), [Action(Operation.SET_UP, A)]),
        (Stage.KEEP, ActualPod(DirState.PRESENT, volumes={A: replace(UP, stale=True)}), []),
        (Stage.KEEP, ActualPod(), []),
        (Stage.KEEP, ActualPod(DirState.FOUND), [Action(Operation.SET_UP, A), Action(Operation.SET_UP, B)]),
        (Stage.UNMOUNT, ActualPod(DirState.PRESENT, volumes={A: UP, B: FOUND}), [
            Action(Operation.TEAR_DOWN, A), Action(Operation.TEAR_DOWN, B)
        ]),
        (Stage.UNMOUNT, ActualPod(DirState.PRESENT), []),
        (Stage.REMOVE, ActualPod(DirState.PRESENT, volumes={A: UP}), [Action(Operation.TEAR_DOWN, A)]),
        (Stage.REMOVE, ActualPod(DirState.FOUND), [Action(Operation.REMOVE_DIR)]),
        (Stage.REMOVE, ActualPod(), []),
    ],
)  # fmt: skip
def test_what_is_started_in_each_stage(stage: Stage, actual: ActualPod, expected: list[Action]) -> None:
    assert list(core.plan(DesiredPod(stage, BOTH), actual, 0.0).actions) == expected


def test_failures_are_retried_after_half_a_second_doubling_to_two_minutes_and_two_seconds() -> None:
    action = Action(Operation.SET_UP, A)
    actual, now, delays = ActualPod(DirState.PRESENT), 100.0, []
    for _ in range(10):
        assert core.plan(DesiredPod(Stage.RUN, {"a": A}), actual, now).actions == (action,)
        actual = core.end(core.begin(actual, action), action, Failed("no"), now)
        plan = core.plan(DesiredPod(Stage.RUN, {"a": A}), actual, now)
        assert plan.actions == () and plan.wake_at_mono is not None
        delays.append(plan.wake_at_mono - now)
        now = plan.wake_at_mono
    assert delays == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122]


def test_another_operation_does_not_wait_for_the_back_off_of_the_first() -> None:
    attempt = Attempt(error="no", backoff=Backoff(Operation.SET_UP, 122.0, 1000.0))
    actual = ActualPod(DirState.PRESENT, volumes={A: replace(FOUND, attempt=attempt)})
    assert core.plan(DesiredPod(Stage.UNMOUNT), actual, 1.0).actions == (Action(Operation.TEAR_DOWN, A),)


def test_a_volume_that_waits_for_a_fact_runs_again_only_when_poked() -> None:
    action, desired = Action(Operation.SET_UP, A), DesiredPod(Stage.RUN, {"a": A})
    actual = core.end(core.begin(ActualPod(DirState.PRESENT), action), action, Failed("not yet", waiting=True), 1.0)
    assert core.plan(desired, actual, 1e9) == Plan()
    assert core.published(desired, actual, "/p").errors == {"a": "not yet"}
    assert core.plan(desired, core.poke(actual), 1.0).actions == (action,)


def test_a_volume_that_became_stale_while_it_was_set_up_is_set_up_once_more() -> None:
    action, desired = Action(Operation.SET_UP, A), DesiredPod(Stage.RUN, {"a": A})
    actual = core.refresh(core.begin(ActualPod(DirState.PRESENT), action), [A])
    actual = core.end(actual, action, Done(MOUNTED), 1.0)
    assert core.plan(desired, actual, 1.0).actions == (action,)
    actual = core.end(core.begin(actual, action), action, Done(MOUNTED), 2.0)
    assert core.plan(desired, actual, 2.0) == Plan()


def test_a_failed_refresh_leaves_the_volume_mounted() -> None:
    action, desired = Action(Operation.SET_UP, A), DesiredPod(Stage.RUN, {"a": A})
    actual = core.refresh(ActualPod(DirState.PRESENT, volumes={A: UP}), [A])
    actual = core.end(core.begin(actual, action), action, Failed("no"), 1.0)
    assert core.published(desired, actual, "/p").phase is VolumesPhase.MOUNTED
    assert core.plan(desired, actual, 1.5).actions == (action,)


def test_a_pod_without_volumes_is_mounted_as_soon_as_it_has_a_directory() -> None:
    row = core.published(DesiredPod(Stage.RUN), ActualPod(DirState.PRESENT), "/p")
    assert row == PodVolumes(phase=VolumesPhase.MOUNTED, pod_dir="/p")


def test_unmounted_is_said_only_when_nothing_uncertain_is_left() -> None:
    for stage in (Stage.UNMOUNT, Stage.REMOVE):
        left = ActualPod(DirState.PRESENT, volumes={A: replace(FOUND, attempt=Attempt(error="busy"))})
        row = core.published(DesiredPod(stage), left, "/p")
        assert (row.phase, row.errors, row.dir_removed) == (VolumesPhase.PENDING, {"a": "busy"}, False)
        row = core.published(DesiredPod(stage), ActualPod(DirState.PRESENT), "/p")
        assert (row.phase, row.dir_removed) == (VolumesPhase.UNMOUNTED, False)
    assert core.published(DesiredPod(Stage.REMOVE), ActualPod(), "/p").dir_removed


@pytest.mark.parametrize(
    ("entry", "stage"),
    [
        (pods.running(pods.pod("p", [])), Stage.RUN),
        (pods.stopping(pods.pod("p", [])), Stage.KEEP),
        (pods.stopped(pods.pod("p", [])), Stage.UNMOUNT),
        (pods.finished(pods.pod("p", [])), Stage.REMOVE),
        # An evicted pod's content is removable before its containers have stopped: they still use it.
        (PodEntry(pod=pods.pod("p", []), source="api", phase=PodPhase.TERMINATING, content_removable=True), Stage.KEEP),
        (PodEntry(pod=pods.pod("p", []), source="api", phase=PodPhase.SYNC, admitted=False), Stage.KEEP),
    ],
)
def test_the_stage_follows_from_the_row(entry: PodEntry, stage: Stage) -> None:
    assert core.stage_of(entry) is stage


def test_an_orphan_is_touched_only_when_everybody_has_spoken_and_nothing_runs() -> None:
    for pods_complete in (False, True):
        for runtime_complete in (False, True):
            for running in (False, True):
                stage = core.orphan_stage(
                    pods_complete=pods_complete, runtime_complete=runtime_complete, running=running
                )
                free = pods_complete and runtime_complete and not running
                assert stage is (Stage.REMOVE if free else Stage.UNKNOWN)


outcomes = st.sampled_from([Done(MOUNTED), Failed("no"), Failed("not yet", waiting=True)])
events = st.one_of(
    st.tuples(st.just("end"), outcomes),
    st.tuples(st.just("stage"), st.sampled_from(list(Stage))),
    st.tuples(st.just("poke"), st.none()),
    st.tuples(st.just("refresh"), st.none()),
    st.tuples(st.just("restart"), st.none()),
)


def apply(actual: ActualPod, action: Action, outcome: Outcome, now: float) -> ActualPod:
    if action.operation is not Operation.SET_UP and isinstance(outcome, Done):
        outcome = Done()
    if action.volume is None and isinstance(outcome, Failed):
        outcome = Failed(outcome.error)  # only a volume can wait for a fact
    return core.end(actual, action, outcome, now)


@settings(max_examples=200, deadline=None)
@given(st.lists(events, max_size=25))
def test_any_history_converges_and_never_unmounts_what_may_run(history: list[tuple[str, object]]) -> None:
    stage, actual, running, now = Stage.RUN, ActualPod(), list[Action](), 0.0
    for kind, value in [*history, ("finish", None)]:
        now += 0.2
        if kind == "stage":
            assert isinstance(value, Stage)
            stage = value
        elif kind == "poke":
            actual = core.poke(actual)
        elif kind == "refresh":
            actual = core.refresh(actual, [A])
        elif kind == "restart":
            # All that is on disk is found again, as uncertain.
            left = dict.fromkeys(actual.volumes, FOUND)
            actual, running = (
                ActualPod(DirState.FOUND if actual.directory is not DirState.ABSENT else DirState.ABSENT, volumes=left),
                [],
            )
        elif kind == "end" and running:
            assert isinstance(value, Done | Failed)
            actual = apply(actual, running.pop(0), value, now)
        for action in core.plan(DesiredPod(stage, BOTH), actual, now).actions:
            if stage in (Stage.UNKNOWN, Stage.RUN, Stage.KEEP):
                assert action.operation not in (Operation.TEAR_DOWN, Operation.REMOVE_DIR)
            assert action.volume not in [r.volume for r in running], "one operation at a time"
            actual = core.begin(actual, action)
            running.append(action)
    for stage in (Stage.RUN, Stage.REMOVE):
        for _ in range(20):
            actual = core.poke(actual)
            now += 200.0
            for action in core.plan(DesiredPod(stage, BOTH), actual, now).actions:
                actual = core.begin(actual, action)
                running.append(action)
            while running:
                actual = apply(actual, running.pop(0), Done(MOUNTED), now)
        assert core.plan(DesiredPod(stage, BOTH), actual, now) == Plan()
        row = core.published(DesiredPod(stage, BOTH), actual, "/p")
        assert row.phase is (VolumesPhase.MOUNTED if stage is Stage.RUN else VolumesPhase.UNMOUNTED)
    assert core.is_gone(actual)
