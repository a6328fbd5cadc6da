"""The quick way through the command line must say what argparse says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.service import arguments
from shared.service.arguments import parse_arguments

NAMES = ["--run-dir", "--settings", "--log-format", "--log-level", "--check", "--run", "--log-level=debug", "--"]
VALUES = ["json", "console", "debug", "loud", "/run/x", "relative", "", "-x"]
WORDS = st.sampled_from([*NAMES, *VALUES])


def by_argparse(argv: list[str]) -> arguments.Arguments | None:
    try:
        return arguments._parse("pleg", "about", argv)
    except SystemExit:
        return None


@given(st.lists(WORDS, max_size=6))
def test_what_is_read_without_argparse_is_what_argparse_reads(argv: list[str]) -> None:
    plain = arguments._read_plain(argv)
    assert plain is None or plain == by_argparse(argv)


def test_what_a_supervisor_passes_needs_no_argparse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(arguments, "_parse")
    read = parse_arguments("pleg", "about", ["--run-dir", "/run/x", "--log-format", "json", "--log-level", "debug"])
    assert (read.run_dir, read.log_format, read.log_level) == (Path("/run/x"), "json", "debug")
    assert parse_arguments("pleg", "about", []).run_dir == arguments.DEFAULT_RUN_DIR


@pytest.mark.parametrize("argv", [["--run-dir"], ["stray"], ["--log-level", "loud"], ["--no-such", "x"]])
def test_a_wrong_command_line_ends_with_2_and_a_usage_text(argv: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse_arguments("pleg", "about", argv)
    assert end.value.code == 2
    assert "usage:" in capfd.readouterr().err
