"""Cells as SQLite values and back, for one column and for whole rows (docs/formats/tables.md).

    bool 0 or 1 · i64, timestamp, date INTEGER · u64 INTEGER, from 2^63 on twenty digits of TEXT
    uuid, bytes BLOB · decimal, money the unscaled integer plus 2^127 as a BLOB of 16 bytes
    string, enum TEXT · list TEXT: a JSON array · an absent optional NULL

In each of them SQLite's own order and equality are the cells' order and equality (lists have neither).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from treadle.errors import DatabaseCorrupt
from treadle.model.facts import Cell, Cells
from treadle.model.types import (
    I64,
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

I64_MOST: Final = 2**63 - 1
OFFSET: Final = 2**127
"""Added to an unscaled decimal, so that its 16 bytes sort like the number."""


_COLUMN_TYPES: Final[dict[type, str]] = {
    Bool: "INTEGER",
    I64: "INTEGER",
    U64: "ANY",
    Timestamp: "INTEGER",
    Date: "INTEGER",
    Uuid: "BLOB",
    Decimal: "BLOB",
    Money: "BLOB",
    String: "TEXT",
    Bytes: "BLOB",
    Enum: "TEXT",
    List: "TEXT",
}


def column_type(kind: Type) -> str:
    """The column's type in a STRICT table."""
    return _COLUMN_TYPES[type(required(kind))]


def encode_u64(value: int) -> int | str:
    """A u64: SQLite's integers end below 2^63, and text sorts after every integer."""
    return value if value <= I64_MOST else f"{value:020d}"


def decode_u64(value: int | str) -> int:
    return value if isinstance(value, int) else int(value)


def encode_decimal(value: int) -> bytes:
    return (value + OFFSET).to_bytes(16, "big")


def decode_decimal(value: bytes) -> int:
    return int.from_bytes(value, "big") - OFFSET


def _codec(kind: Type) -> tuple[Convert | None, Convert | None]:
    """How a present cell becomes SQLite's value, and back; None where it is the same value. Not for u64."""
    if isinstance(kind, Bool):
        return None, bool
    if isinstance(kind, Decimal | Money):
        return encode_decimal, decode_decimal
    if isinstance(kind, List):
        return list_codec(kind)
    return None, None


class _Step(NamedTuple):
    """What to do with the cell at one position, when it is present."""

    position: int
    convert: Convert


class RowCodec:
    """The cells of some columns as SQLite values and back. Most columns need nothing done."""

    __slots__ = ("_decode", "_encode", "_wide")

    def __init__(self, types: Sequence[Type]) -> None:
        kinds = [required(kind) for kind in types]
        self._wide = tuple(position for position, kind in enumerate(kinds) if isinstance(kind, U64))
        codecs = [(position, *_codec(kind)) for position, kind in enumerate(kinds)]
        self._encode = tuple(_Step(position, encode) for position, encode, _ in codecs if encode)
        self._decode = tuple(_Step(position, decode) for position, _, decode in codecs if decode)

    def encode(self, cells: Cells) -> Cells:
        """SQLite's values of these cells."""
        for position in self._wide:
            cell = cells[position]
            if cell is not None and cell > I64_MOST:
                cells = (*cells[:position], encode_u64(cell), *cells[position + 1 :])
        if not self._encode:
            return cells
        values = list(cells)
        for position, convert in self._encode:
            if values[position] is not None:
                values[position] = convert(values[position])
        return tuple(values)

    def decode(self, values: tuple[Any, ...]) -> Cells:
        """The cells of SQLite's values; raises `DatabaseCorrupt` for values that are no cells."""
        try:
            return self._decoded(values)
        except (ValueError, TypeError, msgspec.DecodeError) as error:
            raise DatabaseCorrupt(
                "a stored value is not of its column's type; run `treadle verify`"
            ) from error

    def _decoded(self, values: tuple[Any, ...]) -> Cells:
        for position in self._wide:
            if values[position].__class__ is str:
                values = (*values[:position], int(values[position]), *values[position + 1 :])
        if not self._decode:
            return values
        cells = list(values)
        for position, convert in self._decode:
            if cells[position] is not None:
                cells[position] = convert(cells[position])
        return tuple(cells)


def cell_encoder(kind: Type) -> Callable[[Cell], Any]:
    """The encoder of a single column, for bindings that are no whole row."""
    codec = RowCodec((kind,))
    return lambda cell: codec.encode((cell,))[0]
