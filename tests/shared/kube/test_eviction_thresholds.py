"""Eviction thresholds as configuration writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import Invalid
from shared.kube.eviction_thresholds import DEFAULT_HARD, Amount, Threshold, merged_hard, parse_thresholds


def test_quantities_and_percentages_are_amounts_of_the_capacity() -> None:
    memory, disk = parse_thresholds({"memory.available": "100Mi", "nodefs.available": "10%"})
    assert memory.value.of(1 << 40) == 100 << 20
    assert disk.value.of(1000) == 100
    assert memory.is_hard and disk.is_hard


def test_percentages_are_single_precision_so_that_bytes_agree_with_upstreams() -> None:
    (disk,) = parse_thresholds({"nodefs.available": "10%"})
    assert disk.value.of(67_317_620_736) == 6_731_762_173


@pytest.mark.parametrize("text", ["0%", "100%"])
def test_nothing_and_everything_switch_a_signal_off(text: str) -> None:
    assert parse_thresholds({"nodefs.available": text}) == []


def test_soft_thresholds_carry_their_grace_and_both_their_minimum_reclaim() -> None:
    found = parse_thresholds(
        {"memory.available": "1Gi"},
        {"memory.available": "2Gi"},
        soft_grace_s={"memory.available": 90.0},
        min_reclaim={"memory.available": "0", "nodefs.available": "5%"},
    )
    zero = Amount("0", absolute=0)
    assert found == [
        Threshold("memory.available", Amount("1Gi", absolute=1 << 30), 0.0, zero),
        Threshold("memory.available", Amount("2Gi", absolute=2 << 30), 90.0, zero),
    ]
    assert [t.is_hard for t in found] == [True, False]


@pytest.mark.parametrize(
    ("hard", "soft", "reclaim", "text"),
    [
        ({"disk": "1"}, {}, {}, "unsupported eviction signal disk"),
        ({"memory.available": "0"}, {}, {}, "eviction threshold memory.available must be positive: 0"),
        ({"memory.available": "-5%"}, {}, {}, "must be >= 0%: -5%"),
        ({"memory.available": "101%"}, {}, {}, "must be <= 100%: 101%"),
        ({"memory.available": "few"}, {}, {}, "eviction threshold memory.available"),
        ({"memory.available": "x%"}, {}, {}, "not a percentage"),
        (
            {},
            {"pid.available": "5"},
            {},
            "grace period must be specified for the soft eviction threshold pid.available",
        ),
        ({}, {}, {"pid.available": "-1"}, "negative eviction minimum reclaim specified for pid.available"),
        ({}, {}, {"pid.available": "0%"}, "eviction percentage minimum reclaim pid.available must be positive: 0%"),
    ],
)
def test_wrong_thresholds_are_refused_with_upstreams_words(
    hard: dict[str, str], soft: dict[str, str], reclaim: dict[str, str], text: str
) -> None:
    with pytest.raises(Invalid) as caught:
        parse_thresholds(hard, soft, min_reclaim=reclaim)
    assert text in str(caught.value)


def test_a_negative_grace_period_is_refused() -> None:
    with pytest.raises(Invalid, match="must be a positive value"):
        parse_thresholds({}, soft_grace_s={"memory.available": -1.0})


def test_defaults_are_merged_only_when_asked_for() -> None:
    given = {"memory.available": "1Gi"}
    assert merged_hard(given, merge_defaults=False) == given
    assert merged_hard(given, merge_defaults=True) == {**DEFAULT_HARD, **given}


@given(st.integers(1, 99), st.integers(0, 1 << 50))
def test_a_percentage_is_never_more_than_the_capacity(percent: int, capacity: int) -> None:
    (threshold,) = parse_thresholds({"nodefs.available": f"{percent}%"})
    assert 0 <= threshold.value.of(capacity) <= capacity
