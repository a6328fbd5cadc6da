"""Environment files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.environment.env_file import parse_env_file
from services.pod_sync.environment.model import ConfigError


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", {}),
        ("# only a comment", {}),
        ("A='1'", {"A": "1"}),
        ("A='1'\r\nB='2'\r\n", {"A": "1", "B": "2"}),
        ("  A='1'  # why\n\n# x\nB='two words'", {"A": "1", "B": "two words"}),
        ("A='line 1\nline 2'\nB='3'", {"A": "line 1\nline 2", "B": "3"}),
        ("A='1'\nA='2'", {"A": "1"}),
        ("A=\nB='1'", {"A": "", "B": "1"}),
        ("A= \nB=''", {"A": "", "B": ""}),
        ("A='a \"b\" # c $(D)'", {"A": 'a "b" # c $(D)'}),
    ],
)
def test_a_file_of_quoted_lines_is_read(text: str, result: dict[str, str]) -> None:
    assert parse_env_file(text) == result


@pytest.mark.parametrize("text", ["A=1", 'A="1"', "A ='1'", "A='1", "A='1'x", "A='1' B='2'", "='1'", "A", "A= '1'"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="couldn't parse env file"):
        parse_env_file(text)


@given(st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]*", fullmatch=True), st.text().map(lambda t: t.replace("'", ""))))
def test_what_was_written_quoted_is_read_back(variables: dict[str, str]) -> None:
    text = "".join(f"{key}='{value}'\n" for key, value in variables.items())
    assert parse_env_file(text) == variables


@given(st.text(alphabet="A='\n# x", max_size=20))
def test_no_text_is_more_than_refused(text: str) -> None:
    try:
        parse_env_file(text)
    except ConfigError as error:
        assert str(error) == "couldn't parse env file"
