"""Canonical bytes as tagged items: the tags, and both directions between bytes and items.

`parse` is total: bytes that are not the one spelling of a value are refused, whatever they are, and
`render(parse(data)) == data` for all the others. docs/formats/canonical.md has the table.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from treadle import limits
from treadle.errors import DatabaseCorrupt

NULL: Final = 0x00
FALSE: Final = 0x01
TRUE: Final = 0x02
I64: Final = 0x03
U64: Final = 0x04
TIMESTAMP: Final = 0x05
DATE: Final = 0x06
UUID: Final = 0x07
DECIMAL: Final = 0x08
MONEY: Final = 0x09
STRING: Final = 0x0A
BYTES: Final = 0x0B
ENUM: Final = 0x0C
LIST: Final = 0x0D
RECORD: Final = 0x0E
ENCLOSED: Final = 0x0F

DEPTH: Final = 2 * limits.NESTING
"""How deep values may stand in each other: a contract's own bound, and as much again around it."""

DECIMAL_BOUND: Final = 10**limits.DECIMAL_PRECISION

_U16: Final = struct.Struct(">H")
_U32: Final = struct.Struct(">I")
_I32: Final = struct.Struct(">i")
_U64: Final = struct.Struct(">Q")
_I64: Final = struct.Struct(">q")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Item(NamedTuple):
    """A value as it stands in canonical bytes.

    `value` by tag: NULL, FALSE, TRUE None · I64, U64, TIMESTAMP, DATE int · UUID 16 bytes · DECIMAL
    (scale, unscaled) · MONEY (currency, unscaled) · STRING, ENUM str · BYTES bytes · LIST tuple of items ·
    RECORD tuple of (name, item) · ENCLOSED the item inside.
    """

    tag: int
    value: Any


Parsed: TypeAlias = tuple[Any, int]


def corrupt(message: str) -> DatabaseCorrupt:
    """The error for bytes that are not canonical; what it says never quotes them."""
    return DatabaseCorrupt(f"not a canonical value: {message}; restore from a backup or run `treadle verify`")


def _take(data: bytes, start: int, size: int) -> Parsed:
    end = start + size
    if end > len(data):
        raise corrupt(f"it ends in the middle of a value, at byte {len(data)}")
    return data[start:end], end


def _number(layout: struct.Struct, low: int, high: int) -> Callable[[bytes, int, int], Parsed]:
    def read(data: bytes, start: int, depth: int) -> Parsed:
        body, end = _take(data, start, layout.size)
        (value,) = layout.unpack(body)
        if not low <= value <= high:
            raise corrupt(f"a number out of its type's range at byte {start}")
        return value, end

    return read


def _unscaled(data: bytes, start: int) -> Parsed:
    body, end = _take(data, start, 16)
    value = int.from_bytes(body, "big", signed=True)
    if not -DECIMAL_BOUND < value < DECIMAL_BOUND:
        raise corrupt(f"a decimal of more than {limits.DECIMAL_PRECISION} digits at byte {start}")
    return value, end


def _decimal(data: bytes, start: int, depth: int) -> Parsed:
    body, middle = _take(data, start, 1)
    if body[0] > limits.DECIMAL_PRECISION:
        raise corrupt(f"a decimal of more than {limits.DECIMAL_PRECISION} places at byte {start}")
    value, end = _unscaled(data, middle)
    return (body[0], value), end


def _money(data: bytes, start: int, depth: int) -> Parsed:
    body, middle = _take(data, start, 3)
    currency = body.decode("latin-1")
    if not _CURRENCY.fullmatch(currency):
        raise corrupt(f"a currency that is not three capital letters at byte {start}")
    value, end = _unscaled(data, middle)
    return (currency, value), end


def _text(data: bytes, start: int, layout: struct.Struct) -> tuple[str, int]:
    size, body = _take(data, start, layout.size)
    raw, end = _take(data, body, layout.unpack(size)[0])
    try:
        text: str = raw.decode()
    except UnicodeDecodeError:
        raise corrupt(f"text that is not UTF-8 at byte {start}") from None
    if "\0" in text:
        raise corrupt(f"text with a NUL at byte {start}")
    return text, end


def _string(data: bytes, start: int, depth: int) -> Parsed:
    return _text(data, start, _U32)


def _enum(data: bytes, start: int, depth: int) -> Parsed:
    name, end = _text(data, start, _U16)
    if not _IDENTIFIER.fullmatch(name):
        raise corrupt(f"a variant that is no identifier at byte {start}")
    return name, end


def _bytes(data: bytes, start: int, depth: int) -> Parsed:
    size, body = _take(data, start, 4)
    return _take(data, body, _U32.unpack(size)[0])


def _list(data: bytes, start: int, depth: int) -> Parsed:
    size, at = _take(data, start, 4)
    items = []
    for _ in range(_U32.unpack(size)[0]):
        item, at = _item(data, at, depth + 1)
        items.append(item)
    return tuple(items), at


def _record(data: bytes, start: int, depth: int) -> Parsed:
    size, at = _take(data, start, 2)
    fields: list[tuple[str, Item]] = []
    last = ""
    for _ in range(_U16.unpack(size)[0]):
        name_at = at
        name, at = _text(data, at, _U16)
        # Code points and UTF-8 bytes sort alike, so comparing the texts compares their bytes.
        if name <= last:
            raise corrupt(f"record fields out of order at byte {name_at}")
        item, at = _item(data, at, depth + 1)
        if item.tag == NULL:
            raise corrupt(f"a null that should have been left out at byte {name_at}")
        fields.append((name, item))
        last = name
    return tuple(fields), at


def _enclosed(data: bytes, start: int, depth: int) -> Parsed:
    body, end = _bytes(data, start, depth)
    item, read = _item(body, 0, depth + 1)
    if read != len(body):
        raise corrupt(f"bytes after an enclosed value, before byte {end}")
    return item, end


def _nothing(data: bytes, start: int, depth: int) -> Parsed:
    return None, start


def _uuid(data: bytes, start: int, depth: int) -> Parsed:
    return _take(data, start, 16)


_READERS: Final[dict[int, Callable[[bytes, int, int], Parsed]]] = {
    NULL: _nothing,
    FALSE: _nothing,
    TRUE: _nothing,
    I64: _number(_I64, limits.I64_MIN, limits.I64_MAX),
    U64: _number(_U64, 0, limits.U64_MAX),
    TIMESTAMP: _number(_I64, limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX),
    DATE: _number(_I32, limits.DATE_MIN, limits.DATE_MAX),
    UUID: _uuid,
    DECIMAL: _decimal,
    MONEY: _money,
    STRING: _string,
    BYTES: _bytes,
    ENUM: _enum,
    LIST: _list,
    RECORD: _record,
    ENCLOSED: _enclosed,
}


def _item(data: bytes, start: int, depth: int) -> tuple[Item, int]:
    if depth > DEPTH:
        raise corrupt(f"values nested more than {DEPTH} deep at byte {start}")
    head, body = _take(data, start, 1)
    reader = _READERS.get(head[0])
    if reader is None:
        raise corrupt(f"an unknown tag at byte {start}")
    value, end = reader(data, body, depth)
    return Item(head[0], value), end


def parse(data: bytes) -> Item:
    """The tagged item that `data` spells; the whole of `data` is one value.

    Raises `DatabaseCorrupt` for anything but the canonical spelling of a value, whatever the bytes are.
    """
    item, end = _item(data, 0, 1)
    if end != len(data):
        raise corrupt(f"bytes after the value, from byte {end}")
    return item


# Items to bytes. These run for bodies and settings; commands go through compiled coders.


def _render_text(layout: struct.Struct, text: str) -> bytes:
    raw = text.encode()
    return layout.pack(len(raw)) + raw


def _render_list(items: tuple[Item, ...]) -> bytes:
    return _U32.pack(len(items)) + b"".join(map(render, items))


def _render_record(fields: tuple[tuple[str, Item], ...]) -> bytes:
    parts = [_render_text(_U16, name) + render(item) for name, item in fields]
    return _U16.pack(len(parts)) + b"".join(parts)


def _render_enclosed(item: Item) -> bytes:
    raw = render(item)
    return _U32.pack(len(raw)) + raw


_WRITERS: Final[dict[int, Callable[[Any], bytes]]] = {
    NULL: lambda value: b"",
    FALSE: lambda value: b"",
    TRUE: lambda value: b"",
    I64: _I64.pack,
    U64: _U64.pack,
    TIMESTAMP: _I64.pack,
    DATE: _I32.pack,
    UUID: bytes,
    DECIMAL: lambda value: bytes((value[0],)) + value[1].to_bytes(16, "big", signed=True),
    MONEY: lambda value: value[0].encode() + value[1].to_bytes(16, "big", signed=True),
    STRING: lambda value: _render_text(_U32, value),
    BYTES: lambda value: _U32.pack(len(value)) + value,
    ENUM: lambda value: _render_text(_U16, value),
    LIST: _render_list,
    RECORD: _render_record,
    ENCLOSED: _render_enclosed,
}


def render(item: Item) -> bytes:
    """The canonical bytes of a tagged item: the inverse of `parse`."""
    return bytes((item.tag,)) + _WRITERS[item.tag](item.value)
