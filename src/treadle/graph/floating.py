"""Canonical spellings of xsd:double and xsd:float, as the index writes them: shortest, no exponent."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

_FLOATING: Final = re.compile(
    r"([+-]?)(?:(inf|infinity|nan)|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", re.IGNORECASE | re.ASCII
)
_INFINITY: Final = float("inf")
_SINGLE_LARGEST: Final = 2.0**128 - 2.0**104
_SINGLE_OVERFLOW: Final = 2.0**128 - 2.0**103  # rounds up to infinity, being half way and tied to even
_EXACT: Final = Context(prec=1200)  # holds any double; the thread's own context may be anything
_DOUBLE_DIGITS: Final = 17
_SINGLE_DIGITS: Final = 9


def canonical_double(text: str) -> str | None:
    """xsd:double; the index also reads ``inf``, ``infinity`` and ``nan`` in any case."""
    return _canonical(text, float, _DOUBLE_DIGITS)


def canonical_float(text: str) -> str | None:
    """xsd:float, rounded once from the text to single precision."""
    return _canonical(text, _nearest_single, _SINGLE_DIGITS)


def _canonical(text: str, read: Callable[[str], float], digits: int) -> str | None:
    match = _FLOATING.fullmatch(text)
    if match is None:
        return None
    sign, word = match.groups()
    if word and word[0] in "nN":
        return "NaN"
    value = read(text)
    if value in (_INFINITY, -_INFINITY):
        return "-INF" if sign == "-" else "INF"
    return _shortest(value, read, digits)


def _shortest(value: float, read: Callable[[str], float], most: int) -> str:
    """The fewest digits that `read` reads back as this value; of several the nearest, ties away from zero."""
    if not value:
        return "-0" if str(value)[0] == "-" else "0"
    exact = Decimal(value)
    for digits in range(1, most):
        for candidate in _candidates(exact, digits):
            if read(candidate) == value:
                return _plain(candidate)
    return _plain(str(Context(prec=most, rounding=ROUND_HALF_UP).plus(exact)))


def _candidates(exact: Decimal, digits: int) -> Iterator[str]:
    """The decimals of so many digits around a value, nearest first.

    At a power of two the texts that read back reach further up than down, so the shortest text can be one
    that is not the nearest of its length.
    """
    nearest = Context(prec=digits, rounding=ROUND_HALF_UP).plus(exact)
    yield str(nearest)
    step = Decimal((0, (1,), int(nearest.as_tuple().exponent)))
    around = (_EXACT.add(nearest, step), _EXACT.subtract(nearest, step))
    for other in sorted(around, key=lambda value: _EXACT.abs(_EXACT.subtract(value, exact))):
        yield str(other)


def _plain(text: str) -> str:
    """A decimal text without exponent and without zeros that end a fraction."""
    plain = format(Decimal(text), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _nearest_single(text: str) -> float:
    """The single-precision value nearest to a decimal text, ties to even.

    Going through double rounds twice; that matters only where the double lies exactly half way between two
    neighbouring singles and the text does not: there the text decides.
    """
    double = float(text)
    if abs(double) >= _SINGLE_OVERFLOW:
        if abs(double) == _SINGLE_OVERFLOW and abs(Decimal(text)) < Decimal(_SINGLE_OVERFLOW):
            return _SINGLE_LARGEST if double > 0 else -_SINGLE_LARGEST
        return _INFINITY if double > 0 else -_INFINITY
    single: float = struct.unpack("<f", struct.pack("<f", double))[0]
    if single == double:
        return single
    other = _neighbour(single, up=double > single)
    if double - single != other - double:
        return single
    exact, middle = Decimal(text), Decimal(double)
    if exact == middle:
        return single
    return max(single, other) if exact > middle else min(single, other)


def _neighbour(single: float, *, up: bool) -> float:
    """The next single-precision value above or below."""
    bits: int = struct.unpack("<i", struct.pack("<f", single))[0]
    if single == 0:
        bits = 1 if up else -(2**31) + 1
    else:
        bits += 1 if up == (single > 0) else -1
    value: float = struct.unpack("<f", struct.pack("<i", bits))[0]
    return value
