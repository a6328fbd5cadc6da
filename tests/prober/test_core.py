"""The worker machine: tables and properties."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.prober.core import INITIAL, due_at, step
from services.prober.model import (
    Action,
    Ended,
    Event,
    Gated,
    GateOpened,
    Kind,
    NoContainer,
    NotRunning,
    OnHold,
    Poke,
    Probing,
    Publish,
    Ran,
    Running,
    RunProbe,
    Scheduled,
    Stop,
    Tally,
    Tick,
    Timing,
    Verdict,
    Worker,
)
from shared.messages.prober import ProbeOutcome

OK, BAD, ODD, WARN = Verdict.SUCCESS, Verdict.FAILURE, Verdict.UNKNOWN, Verdict.WARNING
SUCCESS, FAILURE, UNKNOWN = ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE, ProbeOutcome.UNKNOWN
TIMING = Timing(period_s=10, failure_threshold=3, success_threshold=2)


def worker(kind: Kind, timing: Timing = TIMING) -> Worker:
    return Worker(kind, timing)


def drive(one: Worker, events: list[tuple[float, Event]]) -> tuple[Worker, list[Action]]:
    said: list[Action] = []
    for now, event in events:
        one, actions = step(one, event, now)
        said += actions
    return one, said


def probes(one: Worker, verdicts: list[Verdict], start: float) -> tuple[Worker, list[Publish], float]:
    """Let it probe, each probe ending at once with the next verdict."""
    published: list[Publish] = []
    now = start
    for verdict in verdicts:
        at = due_at(one)
        assert at is not None, one
        now = max(now, at)
        one, actions = step(one, Tick(), now)
        assert actions == [RunProbe("a")]
        one, actions = step(one, Ran("a", verdict), now)
        published += [a for a in actions if isinstance(a, Publish)]
    return one, published, now


@pytest.mark.parametrize("kind", list(Kind))
def test_a_new_container_gets_its_initial_outcome_and_a_probe_at_once(kind: Kind) -> None:
    one, said = drive(worker(kind), [(100.0, Running("a", 100.0))])
    assert said == [Publish("a", INITIAL[kind])]
    assert one.state == Scheduled("a", 100.0, 100.0)


def test_the_initial_delay_counts_from_the_containers_start() -> None:
    timing = replace(TIMING, initial_delay_s=30)
    one, _ = drive(worker(Kind.READINESS, timing), [(105.0, Running("a", 100.0))])
    assert due_at(one) == 130.0
    one, said = drive(one, [(106.0, Poke()), (129.9, Tick())])
    assert said == [] and due_at(one) == 130.0


def test_outcomes_change_at_the_thresholds_only() -> None:
    one, _ = drive(worker(Kind.READINESS), [(0.0, Running("a", 0.0))])
    one, said, now = probes(one, [OK], 0.0)
    assert said == []
    one, said, now = probes(one, [WARN], now)
    assert said == [Publish("a", SUCCESS)]
    one, said, now = probes(one, [BAD, BAD, OK, BAD, BAD], now)
    assert said == []
    one, said, now = probes(one, [BAD, BAD], now)
    assert said == [Publish("a", FAILURE)]


def test_an_error_counts_for_nothing_and_breaks_no_run() -> None:
    one, _ = drive(worker(Kind.READINESS), [(0.0, Running("a", 0.0, old=True, known=SUCCESS))])
    one, said, _ = probes(one, [BAD, BAD, ODD, BAD], 0.0)
    assert said == [Publish("a", FAILURE)]


def test_the_period_counts_from_the_beginning_of_a_probe_and_a_slow_one_is_followed_at_once() -> None:
    one, _ = drive(worker(Kind.LIVENESS), [(0.0, Running("a", 0.0)), (0.0, Tick()), (3.0, Ran("a", OK))])
    assert due_at(one) == 10.0
    one, _ = drive(one, [(10.0, Tick()), (27.0, Ran("a", OK))])
    assert due_at(one) == 27.0


def test_a_failed_liveness_probe_holds_until_another_container_runs() -> None:
    one, _ = drive(worker(Kind.LIVENESS), [(0.0, Running("a", 0.0))])
    one, said, now = probes(one, [BAD, BAD, BAD], 0.0)
    assert said == [Publish("a", FAILURE)] and one.state == OnHold("a")
    one, nothing = drive(one, [(now, Running("a", 0.0)), (now + 99, Tick()), (now + 99, Poke())])
    assert nothing == [] and due_at(one) is None
    one, said2 = drive(one, [(200.0, NotRunning("a")), (210.0, Running("b", 210.0))])
    assert said2 == [Publish("b", SUCCESS)] and one.state == Scheduled("b", 210.0, 210.0)


@pytest.mark.parametrize(("verdict", "outcome"), [(OK, SUCCESS), (BAD, FAILURE)])
def test_a_startup_probe_speaks_once(verdict: Verdict, outcome: ProbeOutcome) -> None:
    one, said = drive(
        worker(Kind.STARTUP, Timing(failure_threshold=2, success_threshold=1)), [(0.0, Running("a", 0.0))]
    )
    assert said == [Publish("a", UNKNOWN)]
    one, published, _ = probes(one, [verdict] * (1 if verdict is OK else 2), 0.0)
    assert published == [Publish("a", outcome)] and one.state == OnHold("a")


def test_a_gated_worker_waits_for_the_startup_probe_of_its_own_container() -> None:
    one, _ = drive(worker(Kind.READINESS), [(0.0, Running("a", 0.0, gated=True))])
    assert one.state == Gated("a", 0.0) and due_at(one) is None
    assert step(one, GateOpened("z"), 5.0) == (one, [])
    one, _ = drive(one, [(5.0, GateOpened("a"))])
    assert due_at(one) == 5.0


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("known", [None, *ProbeOutcome])
def test_a_container_older_than_the_daemon_keeps_what_is_known_of_it(kind: Kind, known: ProbeOutcome | None) -> None:
    one, said = drive(worker(kind), [(50.0, Running("a", 10.0, old=True, known=known, jitter_s=3.0))])
    assert said == [Publish("a", known or UNKNOWN)]
    final = (kind is Kind.LIVENESS and known is FAILURE) or (kind is Kind.STARTUP and known in (SUCCESS, FAILURE))
    assert one.state == (OnHold("a") if final else Scheduled("a", 53.0, 10.0))


def test_a_dead_container_is_not_ready_and_is_asked_nothing() -> None:
    for kind, expected in ((Kind.READINESS, [Publish("a", FAILURE)]), (Kind.LIVENESS, [])):
        one, _ = drive(worker(kind), [(0.0, Running("a", 0.0, old=True, known=SUCCESS)), (0.0, Tick())])
        one, said = drive(one, [(1.0, NotRunning("a")), (2.0, Ran("a", OK)), (3.0, Tick())])
        assert said == expected and one.state == NoContainer()


def test_a_poke_hastens_only_what_is_not_ready() -> None:
    one, _ = drive(worker(Kind.READINESS), [(0.0, Running("a", 0.0)), (0.0, Tick()), (0.0, Ran("a", BAD))])
    one, _ = drive(one, [(4.0, Poke())])
    assert due_at(one) == 4.0
    ready, _ = drive(worker(Kind.READINESS), [(0.0, Running("a", 0.0, old=True, known=SUCCESS, jitter_s=9.0))])
    assert step(ready, Poke(), 1.0) == (ready, [])


identifiers = st.sampled_from(["a", "b"])
events = st.one_of(
    st.builds(
        Running,
        identifiers,
        st.floats(0, 50),
        gated=st.booleans(),
        old=st.booleans(),
        known=st.none() | st.sampled_from(ProbeOutcome),
        jitter_s=st.floats(0, 10),
    ),
    st.builds(NotRunning, st.sampled_from(["", "a", "b"])),
    st.builds(GateOpened, identifiers),
    st.just(Tick()),
    st.builds(Ran, identifiers, st.sampled_from(Verdict)),
    st.just(Poke()),
    st.just(Stop()),
)
STATES = [
    NoContainer(),
    Gated("a", 5.0),
    Scheduled("a", 5.0, 1.0),
    Probing("a", 5.0, Tally(True, 1)),
    OnHold("a"),
    Ended(),
]


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(Kind), state=st.sampled_from(STATES), event=events, now=st.floats(0, 100))
def test_every_event_is_legal_in_every_state_and_a_repeat_asks_for_nothing_more(
    kind: Kind, state: object, event: Event, now: float
) -> None:
    before = Worker(kind, TIMING, state, SUCCESS, "a")  # type: ignore[arg-type]
    after, _ = step(before, event, now)
    again, said = step(after, event, now)
    assert said == [] and due_at(again) == due_at(after)
    if isinstance(state, Ended):
        assert after == before


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(Kind), history=st.lists(st.tuples(st.floats(0, 20), events), max_size=40))
def test_in_any_history_there_is_one_probe_at_a_time_and_it_is_of_the_current_container(
    kind: Kind, history: list[tuple[float, Event]]
) -> None:
    one, now, under_way, current = worker(kind), 0.0, False, ""
    for wait, event in history:
        now += wait
        one, actions = step(one, event, now)
        if isinstance(event, Running) and not isinstance(one.state, Ended):
            under_way, current = (under_way and current == event.container_id), event.container_id
        elif isinstance(event, NotRunning | Stop) or (isinstance(event, Ran) and event.container_id == current):
            under_way = False
        for action in actions:
            if isinstance(action, RunProbe):
                assert not under_way and action.container_id == current
                under_way = True
        assert isinstance(one.state, Probing) == under_way
        if isinstance(one.state, OnHold):
            assert kind is not Kind.READINESS
