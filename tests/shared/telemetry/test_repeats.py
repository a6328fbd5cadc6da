"""What was just said is not said again."""

from shared.telemetry.repeats import REMEMBERED, Repeats


def test_a_repeat_within_the_period_is_one_and_after_it_is_news() -> None:
    repeats = Repeats(600.0)
    assert [repeats.is_repeat("a", now) for now in (0.0, 1.0, 599.9, 600.0, 601.0)] == [False, True, True, False, True]


def test_different_things_are_no_repeats_of_each_other() -> None:
    repeats = Repeats(600.0)
    assert [repeats.is_repeat(what, 0.0) for what in ("a", "b", "a")] == [False, False, True]


def test_what_was_said_longest_ago_makes_room() -> None:
    repeats = Repeats(600.0)
    for number in range(REMEMBERED + 1):
        repeats.is_repeat(number, 0.0)
    assert [repeats.is_repeat(number, 1.0) for number in (1, 0)] == [True, False]
