"""Values without a schema: what decode gives, what encode takes, and all that parse refuses."""

from __future__ import annotations

import datetime
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest

from treadle.errors import DatabaseCorrupt, TooLarge
from treadle.model import canonical
from treadle.model.items import DEPTH, ENCLOSED, MONEY, NULL, Item

AT = datetime.datetime(2026, 11, 30, 12, 0, 0, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        2**63,
        2**64 - 1,
        -(2**63),
        "",
        "né€😀",
        b"\x00\xff",
        uuid.UUID(int=7),
        AT,
        datetime.date(1, 1, 1),
        Decimal("12.50"),
        Decimal("-0.00001"),
        [],
        [None, 1, ["a"]],
        {},
        {"z": 1, "a": {"é": b""}, "aa": [None]},
    ],
)
def test_plain_values_come_back(value: Any) -> None:
    found = canonical.decode(canonical.encode(value))
    assert found == value
    assert type(found) is type(value)


def test_absent_entries_are_left_out_and_order_does_not_matter() -> None:
    assert canonical.encode({"b": 1, "a": None}) == canonical.encode({"b": 1})
    assert canonical.encode({"b": 1, "a": 2}) == canonical.encode({"a": 2, "b": 1})
    assert canonical.encode((1, 2)) == canonical.encode([1, 2])


def test_money_and_enclosed_values_are_read_through() -> None:
    assert canonical.decode(canonical.render(Item(MONEY, ("EUR", -5)))) == Decimal("-0.05")
    inner = canonical.parse(canonical.encode({"a": 1}))
    assert canonical.decode(canonical.render(Item(ENCLOSED, inner))) == {"a": 1}


@pytest.mark.parametrize(
    "value, error",
    [
        (2**64, struct.error),
        (-(2**63) - 1, struct.error),
        (1.5, TypeError),
        ({1}, TypeError),
        (object(), TypeError),
        ("a\0", ValueError),
        ("\ud800", ValueError),
        ({"": 1}, ValueError),
        ({"a\0": 1}, ValueError),
        ({"x" * 70_000: 1}, struct.error),
        (Decimal("NaN"), ValueError),
        (Decimal("1E-39"), ValueError),
        (Decimal(10**38), ValueError),
        (datetime.datetime(2026, 1, 1), TypeError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_canonical_form_is_an_error(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        canonical.encode(value)


def test_depth_is_bounded_both_ways() -> None:
    value: Any = None
    for _ in range(DEPTH - 1):
        value = [value]
    data = canonical.encode(value)
    assert canonical.decode(data) == value
    with pytest.raises(TooLarge):
        canonical.encode([value])
    with pytest.raises(DatabaseCorrupt, match="nested more than"):
        canonical.parse(b"\x0d\x00\x00\x00\x01" + data)
    with pytest.raises(DatabaseCorrupt):
        canonical.parse(b"\x0d\x00\x00\x00\x01" * 100_000)
    with pytest.raises(DatabaseCorrupt):
        canonical.parse(canonical.render(_enclosed(DEPTH)))


def _enclosed(times: int) -> Item:
    item = Item(NULL, None)
    for _ in range(times):
        item = Item(ENCLOSED, item)
    return item


@pytest.mark.parametrize(
    "hexadecimal, says",
    [
        ("", "ends in the middle"),
        ("10", "unknown tag"),
        ("ff", "unknown tag"),
        ("0000", "after the value"),
        ("03", "ends in the middle"),
        ("0300000000000000", "ends in the middle"),
        ("057fffffffffffffff", "out of its type's range"),
        ("06002cc0a1", "out of its type's range"),
        ("07" + "00" * 15, "ends in the middle"),
        ("08" + "27" + "00" * 16, "38 places"),
        ("0800" + "7f" + "ff" * 15, "38 digits"),
        ("0800" + "80" + "00" * 15, "38 digits"),
        ("09657572" + "00" * 16, "three capital letters"),
        ("09c38945" + "00" * 16, "three capital letters"),
        ("0a00000001", "ends in the middle"),
        ("0affffffff61", "ends in the middle"),
        ("0a00000001ff", "not UTF-8"),
        ("0a00000002c080", "not UTF-8"),
        ("0a00000003eda080", "not UTF-8"),
        ("0a0000000100", "NUL"),
        ("0c0000", "no identifier"),
        ("0c00013100", "no identifier"),
        ("0c0002c3a9", "no identifier"),
        ("0dffffffff", "ends in the middle"),
        ("0d0000000100ff", "after the value"),
        ("0e000100000000", "out of order"),
        ("0e0001000161", "ends in the middle"),
        ("0e000100016100", "left out"),
        ("0e000200016101000161" + "02", "out of order"),
        ("0e000200016201000161" + "02", "out of order"),
        ("0e00010001ff01", "not UTF-8"),
        ("0e000100010001", "NUL"),
        ("0f00000000", "ends in the middle"),
        ("0f000000020000", "after an enclosed value"),
        ("0f0000000201", "ends in the middle"),
    ],
)
def test_other_spellings_are_refused(hexadecimal: str, says: str) -> None:
    with pytest.raises(DatabaseCorrupt) as caught:
        canonical.parse(bytes.fromhex(hexadecimal))
    assert says in caught.value.message
    assert caught.value.code == "database_corrupt"


def test_domains_keep_equal_bytes_apart() -> None:
    key = bytes(32)
    digests = {canonical.digest(domain, b"data") for domain in ("a", "ad", "b", "")}
    digests |= {canonical.keyed(key, domain, b"data") for domain in ("a", "b")}
    digests |= {canonical.digest("a", b"ddata"), canonical.keyed(bytes(31) + b"\x01", "a", b"data")}
    assert len(digests) == 8
    assert {len(digest) for digest in digests} == {32}
