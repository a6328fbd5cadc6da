"""Crash loops: 0, 10, 20, ... 300 s, measured from when the container finished."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.containers.backoff import CrashLoops, Limits, backoff_key
from shared.kube.types import ResourceRequirements
from tests.pod_sync.containers.pods import container, make_pod

NONE = CrashLoops({})


def crash(loops: CrashLoops, finished_at: float, limits: Limits) -> tuple[CrashLoops, float]:
    """The container finished; it is started as soon as it may be. Returns when."""
    start = loops.wait_until("k", finished_at, finished_at) or finished_at
    assert loops.wait_until("k", finished_at, start) is None
    return loops.started("k", finished_at, start, limits), start


@pytest.mark.parametrize(
    ("limits", "starts"),
    [
        (Limits(), [0, 10, 30, 70, 150, 310, 610, 910]),
        (Limits.of(30.0), [0, 10, 30, 60, 90]),
        (Limits.of(5.0), [0, 5, 10, 15]),
    ],
)
def test_a_container_that_exits_at_once_is_started_at_these_times(limits: Limits, starts: list[int]) -> None:
    loops, now, seen = NONE, 0.0, []
    for _ in starts:
        loops, now = crash(loops, now, limits)
        seen.append(now)
    assert seen == starts


def test_ten_quiet_minutes_begin_anew() -> None:
    loops, start = crash(NONE, 0.0, Limits())
    loops, start = crash(loops, start, Limits())
    assert loops.delay_of("k") == 20.0
    assert loops.wait_until("k", start + 600.0, start + 600.0) == start + 620.0
    loops, again = crash(loops, start + 600.1, Limits())
    assert again == start + 600.1
    assert loops.delay_of("k") == 10.0


def test_expired_entries_are_dropped() -> None:
    loops, _ = crash(NONE, 0.0, Limits())
    assert loops.without_expired(1200.0) is loops
    assert loops.without_expired(1201.0).entries == {}


def test_the_key_changes_with_image_and_resources_only() -> None:
    pod = make_pod()
    of = container()
    assert backoff_key(pod, of) == backoff_key(pod, container(restart_policy="Never"))
    assert backoff_key(pod, of) != backoff_key(pod, container("d"))
    assert backoff_key(pod, of) != backoff_key(pod, container(resources=ResourceRequirements(limits={"cpu": "1"})))


@given(lives=st.lists(st.floats(0, 2000), max_size=30), max_s=st.floats(1, 300))
def test_no_wait_is_longer_than_the_maximum_and_none_is_negative(lives: list[float], max_s: float) -> None:
    loops, now = NONE, 0.0
    for life in lives:
        finished = now + life
        loops, now = crash(loops, finished, Limits.of(max_s))
        assert 0 <= now - finished <= max_s + 1e-6
