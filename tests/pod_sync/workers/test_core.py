"""Tables of single transitions; the whole machine is exercised in `test_machine`."""

from dataclasses import replace

import pytest

from services.pod_sync.workers.core import effective_grace, first_sight, requeue_delay, step
from services.pod_sync.workers.model import (
    Action,
    Asked,
    BackingOff,
    Cancelled,
    CancelRun,
    Decision,
    Done,
    Ending,
    Event,
    Failed,
    Finished,
    FoundInRuntime,
    Idle,
    IllegalEvent,
    KillAsked,
    NetworkNotReady,
    Observe,
    Observed,
    Observing,
    Orphaned,
    Outcome,
    PodSeen,
    Reached,
    Recalled,
    Record,
    RunEnded,
    Running,
    SeenAs,
    StartRun,
    StatusOverride,
    Syncing,
    Terminated,
    Terminating,
    TimerFired,
    TurnGiven,
    Waiting,
    Wake,
    Work,
    Worker,
)
from tests.pod_sync.workers.pods import make_pod

EVICTED = StatusOverride("Failed", "Evicted", "The node was low on resource: memory. ")


def created(uid: str = "u1", source: str = "api", **more: object) -> PodSeen:
    return PodSeen(SeenAs.CREATE, make_pod(uid, source=source, **more))  # type: ignore[arg-type]


def fed(worker: Worker, *events: Event, now: float = 100.0) -> tuple[Worker, list[Action]]:
    """The worker after all events, and the actions of the last one."""
    actions: list[Action] = []
    for event in events:
        after, actions = step(worker, event, now)
        assert after is not None
        worker = after
    return worker, actions


def syncing(now: float = 100.0) -> Worker:
    """An API pod whose first sync is under way."""
    worker, _ = first_sight("u1", created(), now)
    return fed(worker, Observed(now), now=now)[0]


def idle(now: float = 100.0) -> Worker:
    """An API pod that was synced once without error."""
    return fed(syncing(now), RunEnded(1, Done()), now=now)[0]


def terminating(now: float = 100.0) -> Worker:
    """An API pod whose terminating run is under way, with 30 s."""
    return fed(idle(now), KillAsked(), Observed(now + 1), now=now + 1)[0]


@pytest.mark.parametrize(
    ("current", "deletion", "asked", "spec", "expected"),
    [
        (None, None, None, 30, (30, False)),
        (None, None, None, None, (1, False)),
        (None, None, None, 0, (1, False)),
        (None, 5, None, 30, (5, False)),
        (None, 0, None, 30, (1, False)),
        (None, None, 7, 30, (7, False)),
        (None, 60, None, 30, (60, False)),
        (None, 10, 7, 30, (7, False)),
        (None, 7, 10, 30, (7, False)),
        (20, None, None, 30, (20, False)),
        (20, 10, None, 30, (10, True)),
        (20, 25, None, 30, (20, False)),
        (20, None, 1, 30, (1, True)),
        (20, None, 0, 30, (1, True)),
        (1, None, 0, 30, (1, False)),
    ],
)
def test_the_grace_period_is_the_least_that_was_stated_and_never_grows(
    current: int | None, deletion: int | None, asked: int | None, spec: int | None, expected: tuple[int, bool]
) -> None:
    pod = make_pod("u1", grace_s=spec, deleted_with_s=deletion)
    assert effective_grace(current, pod, asked) == expected


def test_an_api_pod_starts_to_sync_as_soon_as_the_runtime_was_listed_once() -> None:
    worker, actions = first_sight("u1", created(), 100.0)
    assert isinstance(worker.life, Syncing)
    assert actions == [Observe(0.0)]
    worker, actions = fed(worker, Observed(99.0))
    assert actions == [StartRun(1, Work.SYNC, worker.pod)]
    assert worker.run == Running(1, Work.SYNC)


def test_a_static_pod_waits_for_its_turn_and_does_nothing_before() -> None:
    worker, actions = first_sight("u1", created(source="file"), 100.0)
    assert (worker.life, actions) == (Waiting(), [])
    worker, actions = fed(worker, created(source="file"), Observed(100.0), TimerFired())
    assert (worker.life, actions) == (Waiting(), [])
    worker, actions = fed(worker, TurnGiven())
    assert (worker.life, actions) == (Syncing(), [Observe(0.0)])


def test_a_static_pod_that_is_killed_before_its_turn_is_finished_without_a_run() -> None:
    worker, _ = first_sight("u1", created(source="file"), 100.0)
    worker, actions = fed(worker, KillAsked(dropped=True))
    assert isinstance(worker.life, Finished)
    assert actions == []
    assert fed(worker, TurnGiven(), Observed(200.0), TimerFired()) == (worker, [])


def test_an_api_pod_that_is_already_deleted_at_first_sight_is_terminated_by_a_run() -> None:
    worker, actions = first_sight("u1", created(deleted_with_s=5), 100.0)
    assert worker.life == Asked(Ending(since_mono=100.0, grace_s=5, passed=True, deleted=True))
    assert isinstance(actions[0], Record)
    worker, actions = fed(worker, Observed(100.0))
    assert actions[-1] == StartRun(1, Work.TERMINATING, worker.pod, grace_s=5)


def test_a_terminal_pod_with_nothing_left_in_the_runtime_starts_with_its_clean_up() -> None:
    worker, actions = first_sight(
        "u1", PodSeen(SeenAs.CREATE, make_pod("u1", source="api", phase="Failed"), True), 100.0
    )
    assert isinstance(worker.life, Terminated)
    worker, actions = fed(worker, Observed(100.0))
    assert actions == [StartRun(1, Work.TERMINATED, worker.pod)]


def test_updates_during_a_run_are_one_more_run_with_the_newest_pod() -> None:
    worker = syncing()
    newer = make_pod("u1", source="api", grace_s=5)
    worker, actions = fed(worker, PodSeen(SeenAs.SYNC, make_pod("u1", source="api")), PodSeen(SeenAs.UPDATE, newer))
    assert actions == []
    worker, actions = fed(worker, RunEnded(1, Done(), acted_mono=101.0), now=101.1)
    assert actions == [Observe(101.0)]
    worker, actions = fed(worker, Observed(101.0))
    assert actions == []  # the listing began before the last act had ended
    worker, actions = fed(worker, Observed(101.5))
    assert actions == [StartRun(2, Work.SYNC, newer)]


@pytest.mark.parametrize(
    ("outcome", "chance", "delay"),
    [
        (Done(), 0.0, 60.0),
        (Done(), 0.5, 75.0),
        (NetworkNotReady(), 0.0, 1.0),
        (NetworkNotReady(), 0.9, 1.45),
        (BackingOff(107.0), 0.0, 7.0),
        (BackingOff(90.0), 0.5, 0.0),
        (BackingOff(500.0), 0.0, 60.0),
        (Failed(), 0.0, 10.0),
        (Failed(), 0.2, 11.0),
        (Cancelled(), 0.9, 0.0),
    ],
)
def test_the_next_run_comes_after_the_delay_that_the_outcome_asks_for(
    outcome: Outcome, chance: float, delay: float
) -> None:
    assert requeue_delay(outcome, 100.0, chance) == pytest.approx(delay)
    worker, actions = fed(syncing(), RunEnded(1, outcome, chance))
    (wake,) = actions
    assert isinstance(wake, Wake)
    assert wake.at_mono == pytest.approx(100.0 + delay)
    assert isinstance(worker.run, Idle)


def test_the_timer_starts_a_run_only_when_it_is_due() -> None:
    worker = idle()
    assert worker.run == Idle(160.0)
    assert fed(worker, TimerFired(), now=159.0) == (worker, [])
    worker, actions = fed(worker, TimerFired(), now=160.0)
    assert actions == [Observe(0.0)]


def test_what_a_run_did_is_looked_at_at_once_unless_it_failed() -> None:
    worker, actions = fed(syncing(), RunEnded(1, Done(), acted_mono=104.0), now=105.0)
    assert actions == [Observe(104.0)]
    worker, actions = fed(syncing(), RunEnded(1, Failed(), acted_mono=104.0), now=105.0)
    assert actions == [Wake(115.0)]
    assert worker.acted_mono == 104.0


def test_nothing_is_decided_on_a_listing_from_before_this_process() -> None:
    worker, actions = first_sight("u1", created(), 100.0, since_mono=90.0)
    assert actions == [Observe(90.0)]
    assert fed(worker, Observed(89.0)) == (worker, [])


def test_a_kill_cancels_the_sync_and_stops_the_pod_after_it() -> None:
    worker, actions = fed(syncing(), KillAsked(grace_s=1, evict=True, override=EVICTED))
    ending = Ending(since_mono=100.0, grace_s=1, passed=True, evicted=True, override=EVICTED)
    assert worker.life == Asked(ending)
    assert [type(action) for action in actions] == [Record, CancelRun]
    worker, actions = fed(worker, RunEnded(1, Cancelled(), acted_mono=101.0), now=101.0)
    assert actions == [Observe(101.0)]
    worker, actions = fed(worker, Observed(102.0), now=102.0)
    assert worker.life == Terminating(replace(ending, grace_end_mono=103.0))
    assert actions[-1] == StartRun(2, Work.TERMINATING, worker.pod, grace_s=1, override=EVICTED)


def test_a_terminal_sync_terminates_without_an_override_of_the_containers_own_grace() -> None:
    worker, actions = fed(syncing(), RunEnded(1, Done(terminal=True)), now=101.0)
    assert isinstance(worker.life, Terminating)
    assert [type(action) for action in actions] == [Record, Observe]
    worker, actions = fed(worker, Observed(102.0))
    assert actions[-1] == StartRun(2, Work.TERMINATING, worker.pod, grace_s=None)


def test_a_shorter_grace_period_cancels_the_kill_and_a_longer_one_does_not() -> None:
    worker = terminating()
    after, actions = fed(worker, KillAsked(grace_s=300))
    assert (after, actions) == (worker, [])
    after, actions = fed(worker, KillAsked(grace_s=2), now=105.0)
    assert isinstance(after.life, Terminating)
    assert (after.life.ending.grace_s, after.life.ending.grace_end_mono) == (2, 107.0)
    assert [type(action) for action in actions] == [Record, CancelRun]


def test_deleting_again_with_a_smaller_grace_shortens_a_running_kill() -> None:
    worker = terminating()
    after, actions = fed(worker, PodSeen(SeenAs.UPDATE, make_pod("u1", source="api", deleted_with_s=3)))
    assert isinstance(after.life, Terminating)
    assert after.life.ending.grace_s == 3
    assert CancelRun(2) in actions


def test_a_kill_that_failed_is_repeated_with_the_grace_that_is_left() -> None:
    worker, actions = fed(terminating(), RunEnded(2, Failed()), now=111.0)
    assert actions == [Wake(121.0)]
    worker, _ = fed(worker, TimerFired(), now=121.0)
    worker, actions = fed(worker, Observed(121.0), now=121.0)
    assert actions[-1] == StartRun(3, Work.TERMINATING, worker.pod, grace_s=10)


def test_an_eviction_that_comes_during_the_end_changes_the_status_but_not_the_flag() -> None:
    worker, actions = fed(terminating(), KillAsked(evict=True, override=EVICTED))
    assert isinstance(worker.life, Terminating)
    assert (worker.life.ending.evicted, worker.life.ending.override) == (False, EVICTED)
    assert isinstance(actions[0], Record)


def test_the_end_goes_through_terminated_to_finished_and_stays_there() -> None:
    worker, actions = fed(terminating(), RunEnded(2, Done()), now=110.0)
    assert isinstance(worker.life, Terminated)
    assert [type(action) for action in actions] == [Record, Observe]
    worker, actions = fed(worker, Observed(111.0), now=111.0)
    assert actions == [StartRun(3, Work.TERMINATED, worker.pod)]
    worker, actions = fed(worker, RunEnded(3, Done()), now=112.0)
    assert isinstance(worker.life, Finished)
    assert [type(action) for action in actions] == [Record]
    late: list[Event] = [PodSeen(SeenAs.UPDATE, make_pod("u1")), KillAsked(), Orphaned(), Observed(200.0), TimerFired()]
    for event in late:
        assert fed(worker, event, now=200.0) == (worker, [])


def test_a_pod_that_comes_again_while_it_ends_only_asks_for_a_restart() -> None:
    worker, actions = fed(terminating(), created())
    assert worker.restart_requested
    assert actions == []


def test_a_pod_that_only_the_runtime_knows_gets_one_second_and_leaves_no_record() -> None:
    worker, _ = first_sight("u1", FoundInRuntime("web_default"), 100.0)
    worker, actions = fed(worker, Observed(101.0))
    assert actions[-1] == StartRun(1, Work.TERMINATING, None, grace_s=1)
    after, actions = step(worker, RunEnded(1, Done()), 102.0)
    assert (after, actions) == (None, [])


def test_an_orphan_that_runs_is_ended_with_its_containers_own_grace() -> None:
    worker, actions = fed(idle(), Orphaned())
    assert worker.life == Asked(Ending(since_mono=100.0, grace_s=30, passed=False, deleted=True, dropped=True))
    assert [type(action) for action in actions] == [Record, Observe]


def test_a_recorded_end_goes_on_with_the_grace_that_is_left() -> None:
    ending = Ending(since_mono=90.0, grace_s=30, passed=True, grace_end_mono=120.0)
    decision = Decision("u1", "web_default", static=True, pod=make_pod("u1"), ending=ending)
    worker, _ = first_sight("u1", Recalled(decision), 105.0)
    worker, actions = fed(worker, Observed(105.0), now=105.0)
    assert actions[-1] == StartRun(1, Work.TERMINATING, worker.pod, grace_s=15)


def test_after_a_start_an_evicted_pod_that_its_source_still_has_stays_evicted() -> None:
    ending = Ending(since_mono=90.0, grace_s=1, passed=True, evicted=True, override=EVICTED)
    decision = Decision("u1", "web_default", static=True, pod=make_pod("u1"), ending=ending, reached=Reached.FINISHED)
    worker, _ = first_sight("u1", Recalled(decision), 105.0)
    found = replace(created(source="file"), first_list=True)
    worker, _ = fed(worker, found)
    assert not worker.restart_requested
    worker, _ = fed(worker, found)
    assert worker.restart_requested


def test_a_pod_that_was_not_in_the_first_list_had_been_gone() -> None:
    ending = Ending(since_mono=90.0, grace_s=1, passed=True, evicted=True, override=EVICTED)
    decision = Decision("u1", "web_default", static=True, pod=make_pod("u1"), ending=ending, reached=Reached.FINISHED)
    worker, _ = first_sight("u1", Recalled(decision), 105.0)
    assert fed(worker, created(source="file"))[0].restart_requested


def test_after_a_start_a_pod_that_its_source_had_dropped_is_wanted_again() -> None:
    ending = Ending(since_mono=90.0, grace_s=1, passed=True, dropped=True)
    decision = Decision("u1", "web_default", static=True, pod=make_pod("u1"), ending=ending)
    worker, _ = first_sight("u1", Recalled(decision), 105.0)
    assert fed(worker, replace(created(source="file"), first_list=True))[0].restart_requested


@pytest.mark.parametrize(
    "event", [KillAsked(), Orphaned(), TurnGiven(), Observed(1.0), TimerFired(), RunEnded(1, Done())]
)
def test_a_worker_is_made_only_by_a_pod_a_runtime_pod_or_a_decision(event: Event) -> None:
    with pytest.raises(IllegalEvent):
        first_sight("u1", event, 100.0)


def test_the_end_of_an_older_run_changes_nothing() -> None:
    worker = syncing()
    assert fed(worker, RunEnded(7, Done())) == (worker, [])
    assert fed(idle(), RunEnded(1, Done())) == (idle(), [])
    assert isinstance(fed(idle(), PodSeen(SeenAs.SYNC, make_pod("u1", source="api")))[0].run, Observing)
