"""Cells as PostgreSQL values and back, for one column and for whole rows (docs/formats/postgresql.md).

    bool boolean · i64 bigint · u64 numeric(20) · timestamp, date bigint: microseconds and days since 1970
    uuid uuid · bytes bytea · decimal, money numeric with its own precision and scale
    string, enum text, ordered by their bytes · list text: a JSON array · an absent optional NULL

In each of them PostgreSQL's own order and equality are the cells' order and equality (lists have neither).
Many rows travel as one array for each column; what a client sends as text is cast in the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from treadle.errors import DatabaseCorrupt
from treadle.model.facts import Cell, Cells
from treadle.model.types import (
    I64,
    MONEY_PRECISION,
    MONEY_SCALE,
    U64,
    Bool,
    Bytes,
    Date,
    Decimal,
    Enum,
    List,
    Money,
    String,
    Timestamp,
    Type,
    Uuid,
    required,
)
from treadle.store.lists import Convert, list_codec


class Form(NamedTuple):
    """How cells of a type stand in PostgreSQL.

    `column` is the column's type, `cast` what a parameter is cast to, `shown` an expression that reads the
    column (`{}` stands for it); `encode` and `decode` are None where the value is the cell.
    """

    column: str
    cast: str
    shown: str = "{}"
    encode: Convert | None = None
    decode: Convert | None = None


TEXT: Final = 'text COLLATE "C"'
_PLAIN: Final[dict[type, Form]] = {
    Bool: Form("boolean", "boolean"),
    I64: Form("bigint", "bigint"),
    U64: Form("numeric(20)", "numeric", "{}::text", str, int),
    Timestamp: Form("bigint", "bigint"),
    Date: Form("bigint", "bigint"),
    Uuid: Form("uuid", "uuid", "uuid_send({})", bytes.hex),
    String: Form(TEXT, "text"),
    Bytes: Form("bytea", "bytea"),
    Enum: Form(TEXT, "text"),
}
WIDE: Final = _PLAIN[U64]


def unscaled(text: str) -> int:
    """The digits of a number in PostgreSQL's spelling, without its point."""
    return int(text.replace(".", "", 1))


def _scaled(scale: int) -> Convert:
    """Unscaled integers as PostgreSQL spells the number."""

    def encode(value: int) -> str:
        digits = f"{abs(value):0{scale + 1}d}"
        sign = "-" if value < 0 else ""
        return f"{sign}{digits[:-scale]}.{digits[-scale:]}"

    return encode if scale else str


def _decimal(precision: int, scale: int) -> Form:
    return Form(f"numeric({precision}, {scale})", "numeric", "{}::text", _scaled(scale), unscaled)


def form(kind: Type) -> Form:
    """How cells of a type stand in PostgreSQL."""
    bare = required(kind)
    if isinstance(bare, Decimal):
        return _decimal(bare.precision, bare.scale)
    if isinstance(bare, Money):
        return _decimal(MONEY_PRECISION, MONEY_SCALE)
    if isinstance(bare, List):
        return Form(TEXT, "text", "{}", *list_codec(bare))
    return _PLAIN[type(bare)]


class RowCodec:
    """The cells of some columns as arrays, one for each column, and rows back as cells."""

    __slots__ = ("_decode", "_encode", "forms")

    def __init__(self, types: Sequence[Type]) -> None:
        self.forms = [form(kind) for kind in types]
        self._encode = [each.encode for each in self.forms]
        self._decode = [(place, each.decode) for place, each in enumerate(self.forms) if each.decode]

    def arrays(self, rows: Sequence[Cells]) -> list[list[Any]]:
        """What is bound for these rows: one list for each column."""
        found: list[list[Any]] = []
        for encode, column in zip(self._encode, zip(*rows, strict=True), strict=True):
            if encode is None:
                found.append(list(column))
            else:
                found.append([None if cell is None else encode(cell) for cell in column])
        return found

    def encode(self, cells: Cells) -> list[Any]:
        """What is bound for one row."""
        return [
            cell if encode is None or cell is None else encode(cell)
            for encode, cell in zip(self._encode, cells, strict=False)
        ]

    def decode(self, values: Sequence[Any]) -> Cells:
        """The cells of what was read; raises `DatabaseCorrupt` for values that are no cells."""
        if not self._decode:
            return tuple(values)
        cells = list(values)
        try:
            for place, convert in self._decode:
                if cells[place] is not None:
                    cells[place] = convert(cells[place])
        except (ValueError, TypeError, msgspec.DecodeError) as error:
            raise DatabaseCorrupt(
                "a stored value is not of its column's type; run `treadle verify`"
            ) from error
        return tuple(cells)


def cell_encoder(kind: Type) -> Callable[[Cell], Any]:
    """The encoder of one present cell."""
    return form(kind).encode or (lambda cell: cell)


def cell_decoder(kind: Type) -> Callable[[Any], Cell]:
    """The decoder of one cell."""
    codec = RowCodec((kind,))
    return lambda value: codec.decode((value,))[0]
