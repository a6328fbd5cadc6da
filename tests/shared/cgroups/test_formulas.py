"""CPU requests and limits as cgroup values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.cgroups import formulas

millicores = st.integers(0, 512_000)


@pytest.mark.parametrize(
    ("millicores", "shares", "weight"),
    [
        (0, 2, 1),
        (1, 2, 1),
        (2, 2, 1),
        (100, 102, 4),
        (250, 256, 10),
        (1000, 1024, 39),
        (2000, 2048, 79),
        (256_000, 262_144, 10_000),
        (400_000, 262_144, 10_000),
    ],
)
def test_shares_and_weight_of_a_request(millicores: int, shares: int, weight: int) -> None:
    assert formulas.shares(millicores) == shares
    assert formulas.weight(shares) == weight


@pytest.mark.parametrize(
    ("millicores", "period_us", "quota"),
    [
        (0, 100_000, 0),
        (1, 100_000, 1000),
        (10, 100_000, 1000),
        (11, 100_000, 1100),
        (500, 100_000, 50_000),
        (2500, 100_000, 250_000),
        (500, 5000, 2500),
    ],
)
def test_quota_of_a_limit(millicores: int, period_us: int, quota: int) -> None:
    assert formulas.quota(millicores, period_us) == quota


@given(millicores)
def test_weight_is_always_one_that_the_kernel_takes(millicores: int) -> None:
    assert 1 <= formulas.weight(formulas.shares(millicores)) <= 10_000


@given(millicores, millicores)
def test_more_cpu_never_weighs_less(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert formulas.weight(formulas.shares(low)) <= formulas.weight(formulas.shares(high))


@given(st.integers(10, 256_000))
def test_a_limit_is_read_back_from_its_quota(millicores: int) -> None:
    assert formulas.millicores_of_quota(formulas.quota(millicores), formulas.DEFAULT_PERIOD_US) == millicores


@given(st.integers(2, 256_000))
def test_a_request_is_read_back_from_its_shares(millicores: int) -> None:
    assert abs(formulas.millicores_of_shares(formulas.shares(millicores)) - millicores) <= 1


@given(st.integers(2, 262_144))
def test_shares_survive_the_way_through_weight_to_within_one_step(shares: int) -> None:
    weight = formulas.weight(shares)
    back = formulas.shares_of_weight(weight)
    assert abs(back - shares) <= 27
    assert abs(formulas.weight(back) - weight) <= 1
