"""Cells as SQLite values: the forms that docs/formats/tables.md names."""

from __future__ import annotations

import pytest

from treadle.errors import DatabaseCorrupt
from treadle.model import types
from treadle.store.sqlite.cells import RowCodec

OFFSET = 2**127


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        (types.U64_, 2**63 - 1, 2**63 - 1),
        (types.U64_, 2**63, "09223372036854775808"),
        (types.U64_, 2**64 - 1, "18446744073709551615"),
        (types.Decimal(38, 2), 0, OFFSET.to_bytes(16, "big")),
        (types.Decimal(38, 2), -1, (OFFSET - 1).to_bytes(16, "big")),
        (types.Money("EUR"), 10**38 - 1, (OFFSET + 10**38 - 1).to_bytes(16, "big")),
        (types.Optional(types.U64_), None, None),
        (types.Optional(types.Decimal(3, 1)), None, None),
        (types.List(types.U64_, 0, 9), (1, 2**64 - 1), "[1,18446744073709551615]"),
        (types.List(types.BOOL, 0, 9), (True, False), "[true,false]"),
        (types.List(types.UUID, 0, 9), (b"\x01" * 16,), '["' + "01" * 16 + '"]'),
        (types.List(types.Bytes(3), 0, 9), (b"", b"\xff\0"), '["","ff00"]'),
        (
            types.List(types.Decimal(38, 2), 0, 9),
            (-1, 10**37),
            '["-1","10000000000000000000000000000000000000"]',
        ),
        (types.List(types.String(9), 0, 9), ('"é\n', "\U0001f600"), '["\\"é\\n","\U0001f600"]'),
        (types.List(types.Optional(types.I64_), 0, 9), (None, -(2**63)), "[null,-9223372036854775808]"),
        (types.List(types.List(types.DATE, 0, 3), 0, 9), ((), (1, 2)), "[[],[1,2]]"),
        (types.List(types.Enum("E"), 0, 9), ("Red",), '["Red"]'),
        (types.Optional(types.List(types.UUID, 0, 9)), None, None),
    ],
)
def test_forms(kind, cell, value):
    codec = RowCodec([types.BOOL, kind])
    assert codec.encode((True, cell)) == (True, value)
    assert codec.decode((1, value)) == (True, cell)
    assert codec.decode((1, value))[0] is True


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (types.U64_, "twenty"),
        (types.List(types.UUID, 0, 9), "[1"),
        (types.List(types.UUID, 0, 9), '["xyz"]'),
        (types.List(types.Decimal(3, 1), 0, 9), "[[]]"),
        (types.Decimal(3, 1), 5),
    ],
)
def test_values_that_are_no_cells(kind, value):
    with pytest.raises(DatabaseCorrupt):
        RowCodec([kind]).decode((value,))
