"""The log filter against an independent, slow reading of the format."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.server.logs.lines import LineFilter, UnknownFormat, tail_offset
from services.server.logs.options import LogOptions, rfc3339_ns

TIME = "2026-01-02T03:04:05.123456789Z"
content = st.text(alphabet=st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]), max_size=20)
lines = st.lists(
    st.tuples(st.sampled_from(["stdout", "stderr"]), st.sampled_from(["F", "P", "F:x"]), content), max_size=12
)


def written(rows: list[tuple[str, str, str]]) -> bytes:
    return "".join(f"{TIME} {s} {t} {c}\n" for s, t, c in rows).encode()


def expected(rows: list[tuple[str, str, str]], *, timestamps: bool = False) -> bytes:
    out, inside = "", False
    for _, tag, text in rows:
        if timestamps and not inside:
            out += f"{TIME} "
        inside = tag == "P"
        out += text + ("" if inside else "\n")
    return out.encode()


@given(lines, st.booleans(), st.lists(st.integers(1, 40), max_size=20))
def test_output_does_not_depend_on_how_the_file_was_cut_into_chunks(
    rows: list[tuple[str, str, str]], timestamps: bool, cuts: list[int]
) -> None:
    data, out = written(rows), b""
    reader = LineFilter(LogOptions(timestamps=timestamps))
    for cut in cuts:
        out += reader.feed(data[:cut])
        data = data[cut:]
    assert out + reader.feed(data) == expected(rows, timestamps=timestamps)


@given(lines, st.integers(1, 60))
def test_the_byte_limit_cuts_in_the_middle_of_a_line(rows: list[tuple[str, str, str]], limit: int) -> None:
    reader = LineFilter(LogOptions(limit_bytes=limit))
    out = reader.feed(written(rows))
    assert out == expected(rows)[:limit]
    assert reader.done == (len(expected(rows)) >= limit)


@given(st.lists(content.filter(lambda c: c != ""), max_size=30), st.integers(0, 40), st.booleans())
def test_tail_offset_finds_the_last_whole_lines(rows: list[str], wanted: int, unterminated: bool) -> None:
    data = "".join(f"{r}\n" for r in rows).encode() + (b"rest" if unterminated else b"")
    offset = tail_offset(lambda length, at: data[at : at + length], len(data), wanted)
    whole = [line for line in re.split(rb"(?<=\n)", data) if line.endswith(b"\n")]
    kept = b"".join(whole[len(whole) - min(wanted, len(whole)) :]) + (b"rest" if unterminated else b"")
    assert data[offset:] == (kept if wanted > 0 else b"")


def test_tail_offset_reads_over_the_border_of_its_blocks() -> None:
    data = (b"x" * 99 + b"\n") * 2000
    assert tail_offset(lambda length, at: data[at : at + length], len(data), 1500) == 500 * 100


def test_lines_older_than_since_are_dropped_and_times_get_nine_decimals() -> None:
    options = LogOptions(timestamps=True, since_ns=rfc3339_ns("2026-01-02T03:04:06Z"))
    old, new = "2026-01-02T03:04:05.9Z stdout F old\n", "2026-01-02T03:04:06.5+01:00 stdout F new\n"
    late = "2026-01-02T03:04:06.25Z stdout F late\n"
    out = LineFilter(options).feed((old + new + late).encode())
    assert out == b"2026-01-02T03:04:06.250000000Z late\n"


def test_docker_json_lines_are_read_and_later_garbage_is_skipped() -> None:
    reader = LineFilter(LogOptions())
    out = reader.feed(b'{"log":"a\\n","stream":"stdout","time":"2026-01-02T03:04:05Z"}\ngarbage\n')
    assert (out, reader.skipped) == (b"a\n", 1)


def test_a_foreign_first_line_is_refused() -> None:
    with pytest.raises(UnknownFormat):
        LineFilter(LogOptions()).feed(b"hello\n")


def test_an_empty_line_of_output_has_no_content_field() -> None:
    assert LineFilter(LogOptions()).feed(f"{TIME} stdout F\n{TIME} stdout F \n".encode()) == b"\n\n"
