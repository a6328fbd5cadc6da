"""Reading the files of real groups, recorded on both versions."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cgroups import stats

RECORDED = Path(__file__).parent / "recorded"
V2 = RECORDED / "v2"
V1 = RECORDED / "v1"


def read(path: Path) -> bytes:
    return path.read_bytes()


def test_memory_of_a_v2_group() -> None:
    memory = stats.memory_v2(*(read(V2 / "a" / f"memory.{f}") for f in ("current", "stat", "max", "swap.current")))
    assert memory == stats.Memory(
        usage_bytes=9125888,
        working_set_bytes=9125888 - 126976,
        rss_bytes=stats.parse_keyed(read(V2 / "a/memory.stat"))[b"anon"],
        cache_bytes=stats.parse_keyed(read(V2 / "a/memory.stat"))[b"file"],
        page_faults=652,
        major_page_faults=2,
        limit_bytes=64 << 20,
    )
    assert memory.available_bytes == (64 << 20) - memory.working_set_bytes


def test_memory_of_the_v2_root_is_anonymous_and_file_pages() -> None:
    memory = stats.memory_root_v2(read(V2 / "memory.stat"), total_bytes=1 << 30, swap_bytes=5)
    assert memory.usage_bytes == 512000 + 16617472
    assert memory.working_set_bytes == memory.usage_bytes - 3100672
    assert memory.available_bytes == (1 << 30) - memory.working_set_bytes
    assert memory.swap_bytes == 5


def test_memory_of_a_v1_group() -> None:
    files = ("usage_in_bytes", "stat", "limit_in_bytes")
    memory = stats.memory_v1(*(read(V1 / "memory/a" / f"memory.{f}") for f in files))
    assert (memory.usage_bytes, memory.working_set_bytes) == (24211456, 24211456 - 8388608)
    assert (memory.rss_bytes, memory.cache_bytes) == (15421440, 8388608)
    assert (memory.page_faults, memory.limit_bytes) == (6026, 64 << 20)


def test_v1s_nearly_two_to_the_63_is_no_limit() -> None:
    assert stats.parse_limit(read(V1 / "memory/memory.limit_in_bytes")) is None
    assert stats.parse_limit(b"max\n") is None
    assert stats.parse_limit(b"0\n") == 0


def test_cpu_time_is_in_nanoseconds_on_both_versions() -> None:
    assert stats.cpu_usage_ns_v2(read(V2 / "cpu.stat")) == 8_024_000_000
    assert stats.parse_number(read(V1 / "cpuacct/a/cpuacct.usage")) == 127506951


def test_pressure_has_both_kinds_and_four_numbers_each() -> None:
    pressure = stats.parse_pressure(read(V2 / "cpu.pressure"))
    assert pressure["some"] == {"avg10": 3.32, "avg60": 0.9, "avg300": 0.2, "total": 768989.0}
    assert pressure["full"]["total"] == 0.0


@pytest.mark.parametrize("data", [b"", b"\n", b"garbage", b"a b c\n", b"x -1\n", b"\xff\xfe 1\n"])
def test_files_of_an_unknown_form_read_as_nothing(data: bytes) -> None:
    assert stats.cpu_usage_ns_v2(data) == 0
    assert stats.memory_v2(data, data, data).usage_bytes == 0
    assert stats.parse_pressure(data) == {}


@given(usage=st.integers(0, 1 << 50), inactive=st.integers(0, 1 << 50), limit=st.integers(0, 1 << 61))
def test_working_set_and_available_are_never_negative(usage: int, inactive: int, limit: int) -> None:
    stat = b"inactive_file %d\ntotal_inactive_file %d\n" % (inactive, inactive)
    for memory in (
        stats.memory_v2(b"%d" % usage, stat, b"%d" % limit),
        stats.memory_v1(b"%d" % usage, stat, b"%d" % limit),
    ):
        assert 0 <= memory.working_set_bytes <= usage
        assert memory.available_bytes is not None and 0 <= memory.available_bytes <= limit
