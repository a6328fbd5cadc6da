"""`$(NAME)` in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube.expansion import expand, expand_all, lookup_in

VARIABLES = {"A": "a", "B": "$(A)", "EMPTY": "", "A B": "spaced"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ""),
        ("plain", "plain"),
        ("$(A)", "a"),
        ("x$(A)y$(A)z", "xayaz"),
        ("$(B)", "$(A)"),
        ("$(EMPTY)", ""),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$a"),
        ("$$$$(A)", "$$(A)"),
        ("$A", "$A"),
        ("$", "$"),
        ("a$", "a$"),
        ("$(", "$("),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("$(A B)", "spaced"),
        ("$($(A))", "$($(A))"),
        ("$x$(A)", "$xa"),
        ("$(NONE)$(A)", "$(NONE)a"),
        ("$(A$(B))", "$(A$(B))"),
    ],
)
def test_only_known_names_in_parentheses_are_replaced(text: str, result: str) -> None:
    assert expand(text, lookup_in(VARIABLES)) == result


@given(st.text(alphabet="$()AB x", max_size=30))
def test_a_text_without_known_names_keeps_everything_but_doubled_dollars(text: str) -> None:
    assert expand(text, lookup_in({})) == _with_single_dollars(text)


def _with_single_dollars(text: str) -> str:
    result, at = "", 0
    while at < len(text):
        end = text.find(")", at) if text.startswith("$(", at) else -1
        if text.startswith("$$", at):
            result, at = result + "$", at + 2
        elif end >= 0:
            result, at = result + text[at : end + 1], end + 1
        else:
            result, at = result + text[at], at + 1
    return result


@given(st.text(max_size=20), st.dictionaries(st.sampled_from("ABC"), st.text(max_size=5)))
def test_a_doubled_text_comes_back_as_it_was(text: str, variables: dict[str, str]) -> None:
    assert expand(text.replace("$", "$$"), lookup_in(variables)) == text


def test_the_first_scope_that_has_a_name_wins() -> None:
    assert expand("$(X) $(Y)", lookup_in({"X": ""}, {"X": "second", "Y": "y"})) == " y"


def test_missing_and_empty_names_of_a_sub_path_are_told_sorted() -> None:
    assert expand_all("$(Z)/$(A)/$(EMPTY)/$(Z)", VARIABLES)[1] == ["EMPTY", "Z"]
    assert expand_all("logs/$(A)", VARIABLES) == ("logs/a", [])
