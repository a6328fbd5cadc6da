"""Which images go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.eviction.images.core import (
    bytes_to_free,
    candidates,
    format_size,
    not_enough_message,
    observe,
    plan_aged,
    plan_space,
    usage_percent,
)
from services.eviction.images.model import Filesystem, Image, Policy, Record

POLICY = Policy()


def image(id: str, size: int = 10, **fields: object) -> Image:
    return Image(id, size, **fields)  # type: ignore[arg-type]


def known(id: str, *, first: float = 0.0, last: float | None = None, size: int = 10) -> Record:
    return Record(image(id, size), first, last)


def ids(records: list[Record]) -> list[str]:
    return [r.image.id for r in records]


def test_an_image_is_remembered_from_when_it_was_first_seen_and_last_used() -> None:
    records = observe({}, [image("a"), image("b")], {"a"}, 10.0)
    records = observe(records, [image("a"), image("b"), image("c")], {"b"}, 20.0)
    assert {r.image.id: (r.first_seen_mono, r.last_used_mono) for r in records.values()} == {
        "a": (10.0, 10.0),
        "b": (10.0, 20.0),
        "c": (20.0, None),
    }
    assert set(observe(records, [image("c")], set(), 30.0)) == {"c"}


def test_a_tag_or_a_digest_that_is_used_keeps_the_image() -> None:
    tagged = image("a", names=("repo/x:1", "repo/x@sha256:1"))
    for name in ("a", "repo/x:1", "repo/x@sha256:1"):
        assert candidates(observe({}, [tagged], {name}, 1.0), {name}) == []


def test_pinned_images_stay_and_the_longest_unused_goes_first() -> None:
    records = {
        r.image.id: r for r in [known("a", last=5.0), known("b", last=3.0), known("c"), known("d", first=1.0, last=3.0)]
    }
    records["p"] = Record(image("p", pinned=True), 0.0)
    assert ids(candidates(records, set())) == ["c", "b", "d", "a"]


@pytest.mark.parametrize(("available", "wanted"), [(160, 0), (150, 50), (140, 60), (0, 200), (1000, 0), (5000, 0)])
def test_how_much_to_free_is_the_way_from_the_high_mark_down_to_the_low_one(available: int, wanted: int) -> None:
    assert bytes_to_free(Filesystem(1000, available), POLICY) == wanted


def test_an_empty_file_system_is_not_used() -> None:
    assert usage_percent(Filesystem(0, 0)) == 0
    assert bytes_to_free(Filesystem(0, 0), POLICY) == 0


def test_images_go_until_enough_is_free_and_young_or_used_ones_stay() -> None:
    free = [known("old1"), known("young", first=950.0), known("old2"), known("now", last=1000.0), known("old3")]
    assert ids(plan_space(free, POLICY, 1000.0, wanted_bytes=15)) == ["old1", "old2"]
    assert ids(plan_space(free, POLICY, 1000.0, wanted_bytes=None)) == ["old1", "old2", "old3"]
    assert plan_space(free, POLICY, 1000.0, wanted_bytes=0) == []


def test_old_images_go_only_when_the_daemon_is_older_than_the_age() -> None:
    free = [known("a", last=10.0), known("b", last=90.0), known("never")]
    policy = Policy(max_age_s=50.0)
    assert ids(plan_aged(free, policy, 100.0, up_s=51.0)) == ["a", "never"]
    assert plan_aged(free, policy, 100.0, up_s=50.0) == []
    assert plan_aged(free, POLICY, 100.0, up_s=1e9) == []


def test_the_message_of_a_full_disk_is_upstreams() -> None:
    assert not_enough_message(Filesystem(10 << 30, 1 << 30), 5).startswith(
        "Insufficient free disk space on the node's image filesystem (90% of 10.0 GiB used). Failed to free sufficient "
        "space by deleting unused images (freed 5 bytes). Investigate disk usage"
    )
    assert [format_size(n) for n in (5, 1536, 3 << 40, 5 << 50)] == ["5.0 B", "1.5 KiB", "3.0 TiB", "5120.0 TiB"]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 50)), max_size=10), st.integers(0, 200))
def test_a_plan_frees_enough_or_everything_and_never_more_than_one_image_too_much(
    images: list[tuple[int, int]], wanted: int
) -> None:
    free = [known(str(n), first=float(first), size=size) for n, (first, size) in enumerate(images)]
    plan = plan_space(free, POLICY, 300.0, wanted_bytes=wanted)
    sizes = [r.image.size_bytes for r in plan]
    old = [r for r in free if 300.0 - r.first_seen_mono >= POLICY.min_age_s]
    assert all(r in old for r in plan)
    assert sum(sizes) >= wanted or plan == old
    if sizes:
        assert sum(sizes[:-1]) < wanted
