"""Conversions between cells and the Python values that stand for them; shared by all that convert."""

from __future__ import annotations

import datetime
import decimal
from typing import Final

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
NAIVE_EPOCH: Final = datetime.datetime(1970, 1, 1)
DAY_ZERO: Final = datetime.date(1970, 1, 1).toordinal()

# Wider than any decimal of the language: nothing is ever rounded, whatever the caller's context says.
_EXACT: Final = decimal.Context(prec=100, traps=[decimal.InvalidOperation, decimal.Inexact, decimal.Overflow])


def scaled(value: int, scale: int) -> decimal.Decimal:
    """The Decimal of an unscaled integer: `scaled(150, 2)` is `Decimal("1.50")`."""
    return _EXACT.scaleb(decimal.Decimal(value), -scale)


def unscaled(value: decimal.Decimal, scale: int) -> int:
    """The unscaled integer of a finite Decimal with at most `scale` places and 100 digits."""
    return int(_EXACT.scaleb(value, scale))


def decimal_text(value: int, scale: int) -> str:
    """An unscaled integer as plain digits with exactly `scale` places, never with an exponent."""
    if not scale:
        return str(value)
    digits = str(abs(value)).rjust(scale + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def microseconds(value: datetime.datetime) -> int:
    """Microseconds since 1970 UTC of an aware datetime; its tzinfo's own code runs."""
    delta = datetime.datetime.__sub__(value, EPOCH)
    return delta.days * 86_400_000_000 + delta.seconds * 1_000_000 + delta.microseconds


def timestamp_text(cell: int) -> str:
    """RFC 3339 in UTC: no fraction, or six digits of it, then `Z`."""
    return (NAIVE_EPOCH + datetime.timedelta(microseconds=cell)).isoformat() + "Z"


def date_text(cell: int) -> str:
    """`YYYY-MM-DD` of days since 1970."""
    return datetime.date.fromordinal(cell + DAY_ZERO).isoformat()


def uuid_text(cell: bytes) -> str:
    """The 36 characters of a uuid, lower case."""
    digits = cell.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
