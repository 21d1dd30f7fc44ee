"""Cells to what users see: Python values, JSON values, text for terminals, and words back from one.

Each function here is made for one scalar type by `Codec`; compounds are put together there.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import uuid
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from treadle.errors import InvalidInput
from treadle.model import types as t
from treadle.model.facts import Cell
from treadle.model.scalars import (
    DAY_ZERO,
    EPOCH,
    date_text,
    decimal_text,
    scaled,
    timestamp_text,
    uuid_text,
)

Show: TypeAlias = Callable[[Any], Any]


def same(cell: Cell) -> Cell:
    """Cells that are their own user value: bool, integers, text, bytes, variants."""
    return cell


def datetime_of(cell: int) -> datetime.datetime:
    """The aware datetime, in UTC, of microseconds since 1970."""
    return EPOCH + datetime.timedelta(microseconds=cell)


def _uuid(cell: bytes) -> uuid.UUID:
    return uuid.UUID(bytes=cell)


def _date(cell: int) -> datetime.date:
    return datetime.date.fromordinal(cell + DAY_ZERO)


def _decimal(scale: int) -> Callable[[int], decimal.Decimal]:
    return lambda cell: scaled(cell, scale)


def _digits(scale: int) -> Callable[[int], str]:
    return lambda cell: decimal_text(cell, scale)


def base64_text(cell: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(cell).decode()


def python_scalar(kind: t.Type) -> Show:
    """From a cell of a scalar type to its Python value."""
    match kind:
        case t.Timestamp():
            return datetime_of
        case t.Date():
            return _date
        case t.Uuid():
            return _uuid
        case t.Decimal():
            return _decimal(kind.scale)
        case t.Money():
            return _decimal(t.MONEY_SCALE)
        case _:
            return same


def json_scalar(kind: t.Type, integers_as_strings: bool) -> Show:
    """From a cell of a scalar type to its JSON value."""
    match kind:
        case t.I64() | t.U64():
            return str if integers_as_strings else same
        case t.Timestamp():
            return timestamp_text
        case t.Date():
            return date_text
        case t.Uuid():
            return uuid_text
        case t.Decimal():
            return _digits(kind.scale)
        case t.Money():
            return _digits(t.MONEY_SCALE)
        case t.Bytes():
            return base64_text
        case _:
            return same


_SHORT: Final = 120


def _escaped(text: str) -> str:
    """Printable as it is; anything that could move a cursor, colour or reorder text is spelled out."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def shown_json(value: object) -> str:
    """A JSON value on one line of a terminal: text bare, the rest as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return _escaped(value) if value else '""'
    return _escaped(json.dumps(value, ensure_ascii=False))


# Words of a command line.

_WORDS: Final = {"true": True, "false": False}


def word_value(kind: t.Type, text: str) -> object:
    """The value that a bare word stands for, to hand to a reader of this type.

    Text, numbers, uuids, times, decimals, base64 and variants stand for themselves. `null` is None for
    an optional that is not text. Raises `InvalidInput` for a list or record: those need JSON.
    """
    plain = t.required(kind)
    if isinstance(kind, t.Optional) and text == "null" and not isinstance(plain, t.String):
        return None
    match plain:
        case t.Bool():
            if text not in _WORDS:
                raise InvalidInput("expects a bool: write true or false")
            return _WORDS[text]
        case t.List() | t.Record():
            raise InvalidInput(f"expects {plain}, which has no bare form: write name:=JSON")
        case _:
            return text


def plain_json(value: object) -> Any:
    """A value that `canonical.decode` gave, ready for JSON: ids, times, decimals, bytes as text."""
    match value:
        case dict():
            return {name: plain_json(item) for name, item in value.items()}
        case list() | tuple():
            return [plain_json(item) for item in value]
        case uuid.UUID() | decimal.Decimal():
            return str(value)
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case bytes():
            return base64_text(value)
        case _:
            return value
