"""Decimals as the index holds them: 128-bit integers that count 10^-18."""

from __future__ import annotations

import re
from typing import Final

ONE: Final = 10**18
LOWEST: Final = -(2**127)
HIGHEST: Final = 2**127 - 1
_DECIMAL: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")
_PLACES: Final = 18
_DIGITS: Final = 39  # of 2^127


def parse_fixed_point(text: str) -> int | None:
    """The number of 10^-18 that a decimal text stands for; None when it is no decimal or does not fit.

    The text is ``[+-]? digits [. digits?] | [+-]? . digits``; zeros that end a fraction do not count.
    """
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction = match.groups()
    if not whole and not fraction:
        return None
    fraction = (fraction or "").rstrip("0")
    whole = whole.lstrip("0")
    if len(fraction) > _PLACES or len(whole) > _DIGITS:
        return None
    value = int(whole or "0") * ONE + int(fraction.ljust(_PLACES, "0"))
    value = -value if sign == "-" else value
    return value if LOWEST <= value <= HIGHEST else None


def fixed_point_text(value: int, *, width: int = 1) -> str:
    """The shortest decimal text of a number of 10^-18, its whole part at least `width` digits wide."""
    whole, fraction = divmod(abs(value), ONE)
    sign = "-" if value < 0 else ""
    text = f"{sign}{whole:0{width}d}"
    return f"{text}.{fraction:018d}".rstrip("0") if fraction else text
