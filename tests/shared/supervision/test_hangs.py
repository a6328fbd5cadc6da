"""Who hangs, and who only seems to."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from shared.supervision.hangs import Verdict, look, started


def verdicts(stamps: Sequence[tuple[float, int | None]], start: float = 0.0) -> list[Verdict]:
    watch, found = started(start), []
    for now, stamp in stamps:
        watch, verdict = look(watch, stamp, now)
        found.append(verdict)
    return found


def test_a_loop_that_stands_for_thirty_seconds_is_aborted_then_killed() -> None:
    looks = [(float(second), 7) for second in range(1, 36)]
    found = verdicts(looks)
    assert found.index(Verdict.ABORT) == 30  # the stamp was new at second 1
    assert found.index(Verdict.KILL) == 31
    assert set(found[:30]) == {Verdict.FINE}


def test_a_daemon_that_never_came_up_is_aborted_too() -> None:
    assert Verdict.ABORT in verdicts([(float(second), None) for second in range(1, 32)])


def test_the_file_of_the_run_before_does_not_count_as_alive_nor_as_hanging_at_once() -> None:
    assert verdicts([(1.0, 5), (2.0, 5)]) == [Verdict.FINE, Verdict.FINE]


def test_a_machine_that_was_stopped_for_an_hour_kills_nobody() -> None:
    assert verdicts([(1.0, 5), (3601.0, 5), (3602.0, 6)]) == [Verdict.FINE] * 3


def test_a_wall_clock_that_jumps_back_counts_as_a_turn_of_the_loop() -> None:
    assert set(verdicts([(float(second), -second) for second in range(1, 100)])) == {Verdict.FINE}


@given(st.lists(st.tuples(st.floats(0.01, 2), st.booleans()), max_size=150))
def test_a_loop_that_turns_at_least_each_29_seconds_is_never_touched(steps: list[tuple[float, bool]]) -> None:
    now, stamp, since, looks = 0.0, 0, 0.0, []
    for gap, turned in steps:
        now, since = now + gap, since + gap
        if turned or since > 26:
            stamp, since = stamp + 1, 0.0
        looks.append((now, stamp))
    assert set(verdicts(looks)) <= {Verdict.FINE}
