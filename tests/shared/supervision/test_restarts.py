"""Delays before a daemon starts again."""

from hypothesis import given
from hypothesis import strategies as st

from shared.supervision.restarts import LONGEST_DELAY_S, PROVEN_AFTER_S, Restarts, exited


def delays_of(lives: list[float]) -> list[float]:
    state, delays = Restarts(), []
    for lived in lives:
        state, delay = exited(state, lived)
        delays.append(delay)
    return delays


def test_quick_exits_wait_longer_and_longer_but_never_more_than_five_seconds() -> None:
    assert delays_of([0.1] * 12) == [0, 0, 0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]


def test_a_daemon_that_proved_itself_starts_at_once_again() -> None:
    assert delays_of([0.1] * 8 + [10.0] + [0.1] * 3)[8:] == [0, 0, 0, 0.1]


@given(st.lists(st.floats(0, 100)))
def test_there_is_always_a_next_start_and_at_once_after_a_long_life(lives: list[float]) -> None:
    for lived, delay in zip(lives, delays_of(lives), strict=True):
        assert 0 <= delay <= LONGEST_DELAY_S
        assert delay == 0 or lived < PROVEN_AFTER_S
