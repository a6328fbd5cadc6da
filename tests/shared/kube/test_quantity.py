from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.kube import quantity

UNITS = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2"]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("100m", Fraction(1, 10)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("+2", 2),
        ("-250m", Fraction(-1, 4)),
        ("1Ki", 1024),
        ("1.5Gi", 3 * 2**29),
        ("1k", 1000),
        ("1e3", 1000),
        ("12E-1", Fraction(6, 5)),
        ("1E", 10**18),
        ("1Ei", 2**60),
        ("0.1n", Fraction(1, 10**9)),
        ("-0.1n", Fraction(-1, 10**9)),
        ("9223372036854775808", 2**63 - 1),
        ("1e400", 2**63 - 1),
        ("-100Ei", -(2**63 - 1)),
    ],
)
def test_parse_gives_the_exact_amount(text: str, amount: Fraction) -> None:
    assert quantity.parse(text) == amount


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", quantity.FORMAT_ERROR),
        ("abc", quantity.FORMAT_ERROR),
        ("1 Gi", quantity.FORMAT_ERROR),
        ("1GB", quantity.FORMAT_ERROR),
        ("1\n", quantity.FORMAT_ERROR),
        ("\u0661", quantity.FORMAT_ERROR),
        ("1" * 300, quantity.FORMAT_ERROR),
        ("1.2.3", quantity.NUMBER_ERROR),
        (".", quantity.NUMBER_ERROR),
        ("1mm", quantity.SUFFIX_ERROR),
        ("1e", quantity.SUFFIX_ERROR),
        ("1K", quantity.SUFFIX_ERROR),
    ],
)
def test_what_is_not_a_quantity_is_refused_in_the_words_of_the_api(text: str, message: str) -> None:
    with pytest.raises(quantity.InvalidQuantity) as caught:
        quantity.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1024Ki", "1Mi"),
        ("1536Mi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1000Ki", "1000Ki"),
        ("512", "512"),
        ("1000", "1k"),
        ("0Gi", "0"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("1500e0", "1500"),
        ("1000e3", "1e6"),
        ("100000m", "100"),
        ("+1", "1"),
        ("1.0001Ki", "1024102400u"),
    ],
)
def test_canonical_is_the_form_that_the_api_server_stores(text: str, form: str) -> None:
    assert quantity.canonical(text) == form


@pytest.mark.parametrize(
    ("n", "form"),
    [
        (0, "0"),
        (1000, "1k"),
        (1023, "1023"),
        (1024, "1Ki"),
        (2000, "2000"),
        (123 * 1024, "123Ki"),
        (2**30, "1Gi"),
        (-2048, "-2Ki"),
    ],
)
def test_bytes_have_the_largest_binary_unit_that_is_exact(n: int, form: str) -> None:
    assert quantity.format_bytes(n) == form


@pytest.mark.parametrize(
    ("n", "form"), [(0, "0"), (250, "250m"), (2000, "2"), (1500, "1500m"), (1_000_000, "1k"), (-1, "-1m")]
)
def test_thousandths_have_the_largest_decimal_unit_that_is_exact(n: int, form: str) -> None:
    assert quantity.format_milli(n) == form


def test_milli_and_value_round_up() -> None:
    assert (quantity.milli("0.0001"), quantity.value("100m"), quantity.value("1.1Ki")) == (1, 1, 1127)


def test_a_sum_is_written_as_its_first_part_is() -> None:
    assert quantity.add("1Gi", "1Mi") == "1025Mi"
    assert quantity.add("1k", "1Ki") == "2024"
    assert quantity.add("0", "1Mi") == "1Mi"
    assert quantity.add("500m", "500m") == "1"


def test_resource_lists_are_compared_by_amount() -> None:
    assert quantity.equal_maps({"cpu": "1"}, {"cpu": "1000m"})
    assert not quantity.equal_maps({"cpu": "1"}, {"cpu": "1", "memory": "0"})
    assert quantity.larger("1Gi", "1024Mi") == "1Gi"
    assert quantity.larger("1", "1001m") == "1001m"


amounts = st.builds(
    lambda sign, whole, part, unit: f"{sign}{whole}{part}{unit}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**7),
    st.sampled_from(["", ".5", ".25", ".001"]),
    st.sampled_from(UNITS),
)


@given(amounts)
def test_the_canonical_form_means_the_same_amount_and_is_final_while_its_units_are_visible(text: str) -> None:
    form = quantity.canonical(text)
    assert quantity.parse(form) == quantity.parse(text)
    if quantity.is_binary(form) or not quantity.is_binary(text):
        assert quantity.canonical(form) == form


@given(st.integers(-(2**62), 2**62))
def test_formatted_bytes_read_back(n: int) -> None:
    assert quantity.value(quantity.format_bytes(n)) == n


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        quantity.parse(text)
    except quantity.InvalidQuantity:
        return
    assert isinstance(quantity.value(text), int)
