import pytest

from services.server.logs.options import InvalidOptions, LogOptions, UndecodableQuery, parse_options, rfc3339_ns


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ([], LogOptions()),
        ([("follow", "true"), ("timestamps", "")], LogOptions(follow=True, timestamps=True)),
        ([("follow", "FALSE"), ("previous", "0")], LogOptions()),
        ([("tail", "all")], LogOptions()),
        ([("tail", "5")], LogOptions(tail_lines=5)),
        ([("tailLines", "0"), ("limitBytes", "7")], LogOptions(tail_lines=0, limit_bytes=7)),
        ([("sinceSeconds", "2")], LogOptions(since_ns=8_000_000_000)),
        ([("sinceTime", "1970-01-01T00:00:01.5Z")], LogOptions(since_ns=1_500_000_000)),
        ([("insecureSkipTLSVerifyBackend", "true")], LogOptions()),
    ],
)
def test_queries_are_read_as_upstream_reads_them(query: list[tuple[str, str]], expected: LogOptions) -> None:
    assert parse_options(query, now_ns=10_000_000_000) == expected


@pytest.mark.parametrize("query", [[("tailLines", "x")], [("sinceTime", "yesterday")], [("limitBytes", "1.5")]])
def test_what_cannot_be_decoded_is_told_apart(query: list[tuple[str, str]]) -> None:
    with pytest.raises(UndecodableQuery):
        parse_options(query, 0)


@pytest.mark.parametrize(
    "query",
    [
        [("tailLines", "-1")],
        [("limitBytes", "0")],
        [("sinceSeconds", "0")],
        [("sinceSeconds", "1"), ("sinceTime", "2026-01-01T00:00:00Z")],
        [("stream", "Both")],
        [("stream", "Stdout"), ("tailLines", "1")],
    ],
)
def test_what_makes_no_sense_is_invalid(query: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidOptions):
        parse_options(query, 0)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("2026-12-01T00:13:39.5Z", 1_796_084_019_500_000_000),
    ],
)
def test_times_are_read_to_the_nanosecond(text: str, ns: int) -> None:
    assert rfc3339_ns(text) == ns


@pytest.mark.parametrize("text", ["", "2026", "2026-12-01 00:13:39Z", "2026-12-01T00:13:39", "2026-12-01T00:13:39.Xz"])
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        rfc3339_ns(text)
