"""Waiting after failed pulls."""

from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.images.backoff import PullBackoff, backoff_key
from services.pod_sync.images.rate import PullRate

KEY = backoff_key("u1", "busybox")


def failed(times: list[float]) -> PullBackoff:
    backoff = PullBackoff()
    for at in times:
        backoff = backoff.failed(KEY, at, reason="ErrImagePull", message="no")
    return backoff


def test_the_wait_doubles_to_five_minutes() -> None:
    backoff, now, waits = PullBackoff(), 100.0, []
    for _ in range(8):
        backoff = backoff.failed(KEY, now, reason="ErrImagePull", message="no")
        waits.append(backoff.failures[KEY].delay_s)
        now += waits[-1]
    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]


def test_a_pull_waits_until_its_time_is_up() -> None:
    backoff = failed([0.0])
    assert backoff.waiting(KEY, 9.9) is not None
    assert backoff.waiting(KEY, 10.0) is None
    assert backoff.waiting("u2_busybox", 1.0) is None


def test_a_quiet_time_of_twice_the_longest_wait_begins_anew() -> None:
    backoff = failed([0.0, 10.0, 30.0])
    assert backoff.failed(KEY, 630.0, reason="r", message="m").failures[KEY].delay_s == 80
    assert backoff.failed(KEY, 630.1, reason="r", message="m").failures[KEY].delay_s == 10


def test_entries_without_meaning_are_dropped() -> None:
    backoff = failed([0.0])
    assert backoff.without_expired(600.0) is backoff
    assert backoff.without_expired(600.1).failures == {}


@given(st.lists(st.integers(0, 700), min_size=1, max_size=12))
def test_a_wait_is_never_shorter_than_ten_seconds_nor_longer_than_five_minutes(gaps: list[int]) -> None:
    backoff, now = PullBackoff(), 0
    for gap in gaps:
        now += gap
        backoff = backoff.failed(KEY, now, reason="r", message="m")
        assert 10 <= backoff.failures[KEY].delay_s <= 300
        assert backoff.waiting(KEY, now) is not None
        assert backoff.waiting(KEY, now + 300) is None


def test_a_burst_is_allowed_and_then_the_rate() -> None:
    rate = PullRate.full(per_second=5, burst=2, now=0.0)
    answers = []
    for now in (0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 10.0, 10.0, 10.0):
        rate, allowed = rate.take(now)
        answers.append(allowed)
    assert answers == [True, True, False, False, True, False, True, True, True, False]


def test_no_rate_is_no_limit() -> None:
    rate = PullRate.full(per_second=0, burst=0, now=0.0)
    assert all(rate.take(0.0)[1] for _ in range(100))
