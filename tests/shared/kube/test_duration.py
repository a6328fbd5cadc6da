"""Durations in Go's form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube.duration import (
    format_go_duration,
    format_go_duration_ns,
    parse_go_duration,
    parse_go_duration_ns,
)

FORMS = [
    (0, "0s"),
    (1, "1ns"),
    (999, "999ns"),
    (1_100, "1.1µs"),
    (2_200_000, "2.2ms"),
    (350_000_000, "350ms"),
    (3_300_000_000, "3.3s"),
    (10_000_000_000, "10s"),
    (60_000_000_000, "1m0s"),
    (80_000_000_000, "1m20s"),
    (300_000_000_000, "5m0s"),
    (245_005_000_000, "4m5.005s"),
    (18_367_001_000_000, "5h6m7.001s"),
    (480_000_000_001, "8m0.000000001s"),
    (7_200_000_000_000, "2h0m0s"),
    (2**63 - 1, "2562047h47m16.854775807s"),
    (-(2**63), "-2562047h47m16.854775808s"),
    (-1_500_000_000, "-1.5s"),
]


@pytest.mark.parametrize(("ns", "text"), FORMS)
def test_each_length_has_the_form_that_go_gives_it(ns: int, text: str) -> None:
    assert format_go_duration_ns(ns) == text
    assert parse_go_duration_ns(text) == ns


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_duration_survives_the_round_trip(ns: int) -> None:
    assert parse_go_duration_ns(format_go_duration_ns(ns)) == ns


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5s", 5 * 10**9),
        ("1.s", 10**9),
        (".5s", 5 * 10**8),
        ("1h15m30.918273645s", 4530918273645),
        ("1us1µs1μs", 3000),
        ("0.3333333333333333333h", 1200 * 10**9),
        ("1.0000000001ns", 1),
        ("0.9223372036854775807h", 3320413933267),
        ("10ms1h", 3600 * 10**9 + 10**7),
    ],
)
def test_go_reads_more_forms_than_it_writes(text: str, ns: int) -> None:
    assert parse_go_duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".", 'time: invalid duration "."'),
        (".s", 'time: invalid duration ".s"'),
        ("3", 'time: missing unit in duration "3"'),
        ("1h3", 'time: missing unit in duration "1h3"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("s", 'time: invalid duration "s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("2562048h", 'time: invalid duration "2562048h"'),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(text: str, error: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_go_duration(text)
    assert str(caught.value) == error


def test_seconds_are_rounded_to_the_nanosecond() -> None:
    assert format_go_duration(0.1 + 0.2) == "300ms"
    assert format_go_duration(80) == "1m20s"
    assert parse_go_duration("1m20s") == 80.0
