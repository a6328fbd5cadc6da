"""Kubernetes quantities: decimal numbers with a unit, such as `100m`, `1.5`, `2Gi`, `1e3`.

The grammar and the canonical forms are the API's (`apimachinery/pkg/api/resource`): binary units Ki to Ei, decimal ones
n to E, or a decimal exponent; finer than a billionth is rounded up; canonical means the largest unit that leaves a whole
number, with no fraction and no exponent where a unit exists.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FORM: Final = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_NANO: Final = 10**9
_MAX: Final = 2**63 - 1
_MAX_LENGTH: Final = 256
"""longer texts are refused unread: their only use is to make big numbers"""
_MAX_EXPONENT: Final = 64

FORMAT_ERROR: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER_ERROR: Final = "unable to parse numeric part of quantity"
SUFFIX_ERROR: Final = "unable to parse quantity's suffix"
_OUTLINE: Final = re.compile(r"[+-]?([0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")


class InvalidQuantity(ValueError):
    """The text is not a quantity. The message is the one that the API gives."""


def parse(text: str) -> Fraction:
    """The exact value, rounded away from zero to billionths and capped at ±(2**63 - 1) as the API does.

    Raises `InvalidQuantity`.
    """
    match = _FORM.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise InvalidQuantity(_complaint(text))
    sign, number, unit = match[1], match[2], match[3] or ""
    value = Fraction(number + "0" if number.endswith(".") else number) * _unit(unit)
    if value > _MAX:
        value = Fraction(_MAX)
    elif (value * _NANO).denominator != 1:
        value = Fraction(_ceil(value * _NANO), _NANO)
    return -value if sign == "-" else value


def _complaint(text: str) -> str:
    outline = _OUTLINE.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if outline is None:
        return FORMAT_ERROR
    number = outline[1]
    return NUMBER_ERROR if number.count(".") > 1 or number == "." else SUFFIX_ERROR


def _unit(unit: str) -> Fraction:
    if unit in _BINARY:
        return Fraction(1024 ** _BINARY[unit])
    if unit in _DECIMAL:
        return Fraction(10) ** _DECIMAL[unit]
    exponent = int(unit[1:])
    return Fraction(10) ** max(-_MAX_EXPONENT, min(_MAX_EXPONENT, exponent))


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def milli(text: str) -> int:
    """Thousandths, rounded up: `0.1` is 100. Raises `InvalidQuantity`."""
    return _ceil(parse(text) * 1000)


def value(text: str) -> int:
    """Whole units, rounded up: `100m` is 1, `1Ki` is 1024. Raises `InvalidQuantity`."""
    return _ceil(parse(text))


def is_binary(text: str) -> bool:
    """Whether the quantity was written with a binary unit; sums keep the form of their first part."""
    return text[-2:] in _BINARY


def format_bytes(n: int) -> str:
    """Canonical form with binary units: `1Gi`, `1536Mi`, `2000`. Below 1024 units are decimal, so 1000 is `1k`."""
    if abs(n) < 1024:
        return format_decimal(Fraction(n))
    exponent = 0
    while n % 1024 == 0 and exponent < len(_BINARY):
        n //= 1024
        exponent += 1
    return f"{n}{['', *_BINARY][exponent]}"


def format_milli(n: int) -> str:
    """Canonical decimal form of so many thousandths: `250m`, `2`, `1k`."""
    return format_decimal(Fraction(n, 1000))


def format_decimal(amount: Fraction) -> str:
    """Canonical form with decimal units, to the billionth: `1500m`, `3M`, `1n`."""
    nano = _ceil(amount * _NANO)
    if nano == 0:
        return "0"
    exponent = -9
    while nano % 1000 == 0 and exponent < 18:
        nano //= 1000
        exponent += 3
    suffix = next(s for s, e in _DECIMAL.items() if e == exponent)
    return f"{nano}{suffix}"


def canonical(text: str) -> str:
    """The canonical form of a quantity, in the same family of units. Raises `InvalidQuantity`.

    The API server stores this form, so `1000m` becomes `1` and `0.5` becomes `500m`.
    """
    amount = parse(text)
    if "e" in text or ("E" in text and text[-1] not in "Ei"):
        return _format_exponent(amount)
    return _like(text, amount)


def _format_exponent(amount: Fraction) -> str:
    plain = format_decimal(amount)
    suffix = plain[-1] if plain[-1] in _DECIMAL else ""
    exponent = _DECIMAL[suffix]
    return f"{plain.removesuffix(suffix)}e{exponent}" if exponent else plain


def add(a: str, b: str) -> str:
    """The sum, in the family of units of `a` (of `b` when `a` is zero), as the API adds quantities."""
    first = parse(a)
    return _like(a if first else b, first + parse(b))


def _like(form: str, amount: Fraction) -> str:
    if is_binary(form) and amount.denominator == 1:
        return format_bytes(amount.numerator)
    return format_decimal(amount)


def larger(a: str, b: str) -> str:
    """The greater of two; `a` when equal."""
    return b if parse(b) > parse(a) else a


def equal(a: str, b: str) -> bool:
    """Whether two texts mean the same amount."""
    return a == b or parse(a) == parse(b)


def equal_maps(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    """Whether two resource lists name the same resources with the same amounts."""
    return a.keys() == b.keys() and all(equal(amount, b[name]) for name, amount in a.items())
