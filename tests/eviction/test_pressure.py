"""Thresholds, conditions, and what is reclaimed: tables, and properties over any history."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.eviction.pressure.core import grace_of, is_any_met, step, with_allocatable
from services.eviction.pressure.model import SIGNALS, Decision, Observation, State, key_of
from services.eviction.pressure.watch import describe, known_since_boot
from shared.kube.eviction_thresholds import (
    ALLOCATABLE_MEMORY_AVAILABLE,
    DEFAULT_HARD,
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    PID_AVAILABLE,
    Threshold,
    parse_thresholds,
)

MI = 1 << 20
HARD = parse_thresholds({"memory.available": "100Mi", "nodefs.available": "10%"})
SOFT = parse_thresholds({}, {"memory.available": "200Mi"}, soft_grace_s={"memory.available": 90.0})
TRANSITION_S = 300.0


def memory(mib: float, at: float) -> dict[str, Observation]:
    return {MEMORY_AVAILABLE: Observation(int(mib * MI), 1000 * MI, at)}


def run(
    thresholds: list[Threshold], *looks: tuple[float, dict[str, Observation]], state: State | None = None
) -> tuple[State, list[Decision]]:
    """Passes at these times over these observations."""
    state, decisions = state or State(), []
    for now, observations in looks:
        state, decision = step(state, thresholds, observations, now, transition_s=TRANSITION_S)
        decisions.append(decision)
    return state, decisions


def test_a_hard_threshold_is_acted_on_at_once() -> None:
    _, (above, at, below) = run(HARD, (0, memory(101, 0)), (10, memory(100, 10)), (20, memory(99.9, 20)))
    assert above == at == Decision((), ())
    assert below == Decision(("MemoryPressure",), (HARD[0],))


def test_a_soft_threshold_sets_the_condition_at_once_and_is_acted_on_after_its_grace() -> None:
    looks = [(float(t), memory(150, t)) for t in range(0, 100, 10)]
    _, decisions = run(SOFT, *looks)
    assert all(d.conditions == ("MemoryPressure",) for d in decisions)
    assert [bool(d.reclaim) for d in decisions] == [False] * 9 + [True]


def test_a_break_starts_the_grace_of_a_soft_threshold_anew() -> None:
    looks = [(0.0, memory(150, 0)), (80.0, memory(250, 80)), (90.0, memory(150, 90)), (170.0, memory(150, 170))]
    _, decisions = run(SOFT, *looks, (180.0, memory(150, 180)))
    assert [bool(d.reclaim) for d in decisions] == [False, False, False, False, True]


def test_a_condition_stays_for_the_transition_period() -> None:
    _, decisions = run(HARD, (0, memory(50, 0)), (299.9, memory(500, 299)), (300, memory(500, 300)))
    assert [d.conditions for d in decisions] == [("MemoryPressure",), ("MemoryPressure",), ()]


def test_a_sample_that_was_acted_on_is_not_acted_on_again() -> None:
    _, decisions = run(HARD, (0, memory(50, 0)), (1, memory(50, 0)), (10, memory(50, 10)))
    assert [bool(d.reclaim) for d in decisions] == [True, False, True]


def test_reclaim_goes_on_until_the_minimum_reclaim_is_free_too() -> None:
    thresholds = parse_thresholds({"memory.available": "100Mi"}, min_reclaim={"memory.available": "50Mi"})
    looks = [(0.0, memory(120, 0)), (10.0, memory(90, 10)), (20.0, memory(120, 20)), (30.0, memory(150, 30))]
    _, decisions = run(thresholds, *looks, (40.0, memory(120, 40)))
    assert [bool(d.reclaim) for d in decisions] == [False, True, True, False, False]


def test_memory_comes_before_disk_and_hard_before_soft() -> None:
    thresholds = parse_thresholds(
        {"nodefs.available": "50%", "memory.available": "50Mi"},
        {"memory.available": "100Mi"},
        soft_grace_s={"memory.available": 0.5},
    )
    seen = {**memory(10, 0), NODEFS_AVAILABLE: Observation(1, 10, 0.0)}
    later = {**memory(10, 1), NODEFS_AVAILABLE: Observation(1, 10, 1.0)}
    _, decisions = run(thresholds, (0, seen), (1, later))
    assert [t.signal for t in decisions[1].reclaim] == [MEMORY_AVAILABLE, MEMORY_AVAILABLE, NODEFS_AVAILABLE]
    assert decisions[1].reclaim[0].is_hard
    assert decisions[1].conditions == ("DiskPressure", "MemoryPressure")


def test_percentages_are_of_the_capacity() -> None:
    full = {NODEFS_AVAILABLE: Observation(99, 1000, 0.0)}
    free = {NODEFS_AVAILABLE: Observation(101, 1000, 0.0)}
    assert run(HARD, (0, full))[1][0].conditions == ("DiskPressure",)
    assert run(HARD, (0, free))[1][0].conditions == ()


def test_a_signal_that_cannot_be_read_changes_nothing_of_what_is_known_of_it() -> None:
    state, _ = run(SOFT, (0, memory(150, 0)))
    blind, (decision,) = run(SOFT, (50, {}), state=state)
    assert blind.first_met == state.first_met
    assert decision == Decision(("MemoryPressure",), ())
    _, (later,) = run(SOFT, (90, memory(150, 90)), state=blind)
    assert later.reclaim == tuple(SOFT)


def test_hard_memory_thresholds_count_for_the_pods_group_when_it_is_limited() -> None:
    both = with_allocatable([*HARD, *SOFT], pods_enforced=True)
    assert [t.signal for t in both if t not in [*HARD, *SOFT]] == [ALLOCATABLE_MEMORY_AVAILABLE]
    assert with_allocatable(HARD, pods_enforced=False) == HARD
    seen = {ALLOCATABLE_MEMORY_AVAILABLE: Observation(5, 1000 * MI, 0.0)}
    assert run(both, (0, seen))[1][0].conditions == ("MemoryPressure",)


def test_thresholds_of_container_file_systems_are_not_watched() -> None:
    thresholds = parse_thresholds({"containerfs.available": "10%"})
    assert with_allocatable(thresholds, pods_enforced=True) == []


def test_processes_are_a_signal_of_their_own() -> None:
    thresholds = parse_thresholds({"pid.available": "10%"})
    _, (decision,) = run(thresholds, (0, {PID_AVAILABLE: Observation(99, 1000, 0.0)}))
    assert decision.conditions == ("PIDPressure",)


def test_after_node_level_reclaim_any_threshold_with_its_minimum_reclaim_counts() -> None:
    thresholds = parse_thresholds({"nodefs.available": "10%"}, min_reclaim={"nodefs.available": "10%"})
    assert is_any_met(thresholds, {NODEFS_AVAILABLE: Observation(199, 1000, 0.0)})
    assert not is_any_met(thresholds, {NODEFS_AVAILABLE: Observation(200, 1000, 0.0)})
    assert not is_any_met(thresholds, {})


@pytest.mark.parametrize(
    ("threshold", "own", "maximum", "grace"),
    [(HARD[0], 30, 60, 1), (SOFT[0], 30, 60, 30), (SOFT[0], 90, 60, 60), (SOFT[0], None, 60, 60), (SOFT[0], 30, 0, 0)],
)
def test_grace_is_a_second_past_a_hard_threshold_and_bounded_past_a_soft_one(
    threshold: Threshold, own: int | None, maximum: int, grace: int
) -> None:
    assert grace_of(threshold, own, maximum) == grace


def test_what_is_published_names_conditions_and_signals() -> None:
    row = describe(("DiskPressure",), {MEMORY_AVAILABLE: Observation(MI, 2 * MI, 1.0)}, 7.0)
    assert (row.conditions, row.signals, row.observed_at_mono) == (
        ["DiskPressure"],
        {"memory.available": "1Mi/2Mi"},
        7.0,
    )


def test_times_of_an_earlier_boot_are_not_believed() -> None:
    state = State(first_met={"a": 10.0, "b": 99.0}, condition_seen={"DiskPressure": 99.0, "MemoryPressure": 1.0})
    assert known_since_boot(state, 50.0) == State(first_met={"a": 10.0}, condition_seen={"MemoryPressure": 1.0})


ALL = with_allocatable(
    parse_thresholds(
        DEFAULT_HARD,
        {"memory.available": "300Mi", "nodefs.available": "30%"},
        soft_grace_s={"memory.available": 25.0, "nodefs.available": 35.0},
        min_reclaim={"memory.available": "10%"},
    ),
    pods_enforced=True,
)
looks = st.lists(
    st.tuples(
        st.integers(1, 200),
        st.dictionaries(st.sampled_from(sorted({t.signal for t in ALL})), st.integers(0, 1000), max_size=4),
        st.booleans(),
    ),
    max_size=25,
)


@settings(max_examples=150)
@given(looks)
def test_any_history_keeps_the_promises(history: list[tuple[int, dict[str, int], bool]]) -> None:
    state, now = State(), 0.0
    seen_true: dict[str, float] = {}
    for pause, amounts, restart in history:
        now += pause
        if restart:  # a new life knows what was stored
            stored = State(first_met=state.first_met, condition_seen=state.condition_seen, unresolved=state.unresolved)
            state = known_since_boot(stored, now)
        observations = {signal: Observation(n * MI, 1000 * MI, now) for signal, n in amounts.items()}
        before = state
        state, decision = step(state, ALL, observations, now, transition_s=TRANSITION_S)
        met = [t for t in ALL if t.signal in observations and t.value.of(1000 * MI) > observations[t.signal].available]
        for threshold in met:
            assert key_of(threshold) in state.first_met
        for threshold in decision.reclaim:
            assert threshold.signal in observations
            assert now - state.first_met[key_of(threshold)] >= threshold.grace_s
            assert threshold in met or key_of(threshold) in before.unresolved
        for threshold in met:
            if threshold.is_hard:
                assert threshold in decision.reclaim
        seen_true |= {c: now for c in decision.conditions if any(SIGNALS[t.signal].condition == c for t in met)}
        for name, at in seen_true.items():
            if now - at < TRANSITION_S:
                assert name in decision.conditions
        again, repeated = step(state, ALL, observations, now, transition_s=TRANSITION_S)
        assert (again, repeated.reclaim) == (state, ()), "the same sample must not be acted on twice"
