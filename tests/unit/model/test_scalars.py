"""Decimals and times between cells and text."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from treadle.model import scalars


@pytest.mark.parametrize(
    "value, scale, text",
    [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (-1, 2, "-0.01"),
        (150, 2, "1.50"),
        (-12345, 2, "-123.45"),
        (10**38 - 1, 38, "0." + "9" * 38),
        (-(10**38) + 1, 0, "-" + "9" * 38),
    ],
)
def test_decimals(value: int, scale: int, text: str) -> None:
    assert scalars.decimal_text(value, scale) == text
    assert scalars.scaled(value, scale) == Decimal(text)
    assert scalars.scaled(value, scale).as_tuple().exponent == -scale
    assert scalars.unscaled(Decimal(text), scale) == value


def test_texts() -> None:
    assert scalars.date_text(-719_162) == "0001-01-01"
    assert scalars.uuid_text(bytes(range(16))) == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert scalars.microseconds(datetime.datetime.min.replace(tzinfo=datetime.UTC)) == -62_135_596_800_000_000
