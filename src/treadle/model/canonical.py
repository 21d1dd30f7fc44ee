"""Canonical bytes: one spelling for each value, readable without a schema.

A value is a tag byte and a body (docs/formats/canonical.md has the table and test vectors). All numbers
are big endian and of fixed width, every length and count is checked, the fields of a record stand by
name in the order of their UTF-8 bytes, and absent optionals are left out. So equal values are equal
bytes, and bytes that are not the one spelling of a value are refused rather than read.

    parse, render    bytes to tagged items and back (see `items`)
    decode, encode   bytes to plain Python values and back, without a schema
    digest, keyed    SHA-256 and HMAC-SHA-256 that no other domain's bytes can produce
    pack, unpack     tuples of cells as bytes that sort like the tuples (see `packing`)

Cells of declared types do not come this way: `coders` compiles their encoders once.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from treadle import limits
from treadle.errors import DatabaseCorrupt, TooLarge, check
from treadle.model.items import (
    BYTES,
    DATE,
    DECIMAL,
    DEPTH,
    ENCLOSED,
    FALSE,
    I64,
    LIST,
    MONEY,
    NULL,
    RECORD,
    STRING,
    TIMESTAMP,
    TRUE,
    U64,
    UUID,
    Item,
    parse,
    render,
)
from treadle.model.packing import pack, unpack
from treadle.model.scalars import DAY_ZERO, EPOCH, microseconds, scaled, unscaled

_VALUES: Final[dict[int, Callable[[Any], object]]] = {
    NULL: lambda value: None,
    FALSE: lambda value: False,
    TRUE: lambda value: True,
    TIMESTAMP: lambda value: EPOCH + datetime.timedelta(microseconds=value),
    DATE: lambda value: datetime.date.fromordinal(value + DAY_ZERO),
    UUID: lambda value: uuid.UUID(bytes=value),
    DECIMAL: lambda value: scaled(value[1], value[0]),
    MONEY: lambda value: scaled(value[1], 2),
    LIST: lambda value: [_value(item) for item in value],
    RECORD: lambda value: {name: _value(item) for name, item in value},
    ENCLOSED: lambda value: _value(value),
}


def _value(item: Item) -> object:
    convert = _VALUES.get(item.tag)
    return item.value if convert is None else convert(item.value)


def decode(data: bytes) -> object:
    """The value that canonical bytes spell, read without a schema.

    Returns None, bool, int, str (strings and enum variants), bytes, `uuid.UUID`, aware `datetime` in UTC,
    `date`, `Decimal` (decimals and money), list, or dict (records; absent optionals are not in it).
    Raises `DatabaseCorrupt` for bytes that are not canonical.
    """
    return _value(parse(data))


def _item_of_int(value: int) -> Item:
    return Item(I64 if value <= limits.I64_MAX else U64, value)


def _item_of_mapping(value: Mapping[str, object], depth: int) -> Item:
    fields = [(name, _item_of(value[name], depth + 1)) for name in sorted(value) if value[name] is not None]
    return Item(RECORD, tuple(fields))


def _item_of_decimal(value: decimal.Decimal) -> Item:
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    return Item(DECIMAL, (scale, unscaled(value, scale)))


_SIMPLE: Final[dict[type, Callable[[Any], Item]]] = {
    type(None): lambda value: Item(NULL, None),
    bool: lambda value: Item(TRUE if value else FALSE, None),
    int: _item_of_int,
    str: lambda value: Item(STRING, value),
    bytes: lambda value: Item(BYTES, value),
    uuid.UUID: lambda value: Item(UUID, value.bytes),
    datetime.datetime: lambda value: Item(TIMESTAMP, microseconds(value)),
    datetime.date: lambda value: Item(DATE, value.toordinal() - DAY_ZERO),
    decimal.Decimal: _item_of_decimal,
}


def _item_of(value: object, depth: int) -> Item:
    if depth > DEPTH:
        raise TooLarge(f"values nested more than {DEPTH} deep cannot be encoded")
    simple = _SIMPLE.get(type(value))
    if simple is not None:
        return simple(value)
    if isinstance(value, list | tuple):
        return Item(LIST, tuple([_item_of(item, depth + 1) for item in value]))
    if isinstance(value, dict):
        return _item_of_mapping(value, depth)
    raise TypeError(f"{type(value).__name__} has no canonical form")


def encode(value: object) -> bytes:
    """Canonical bytes of a plain Python value, for what has no declared type: `decode(encode(v)) == v`.

    Takes what `decode` returns. An int is an i64 where it fits, else a u64; a tuple is a list; entries of
    a dict that are None are left out. Raises `TypeError` for another type, `struct.error` or
    `OverflowError` for a number out of range, `ValueError` for text with NUL or lone surrogates.
    """
    data = render(_item_of(value, 1))
    try:
        parse(data)  # so that nothing is ever written that would not be read
    except DatabaseCorrupt as error:
        raise ValueError(error.message) from None
    return data


# Hashes.

_MARK: Final = b"TREADLE\x00"
_BLOCK: Final = 64


@lru_cache(maxsize=256)
def _prefix(domain: str) -> bytes:
    raw = domain.encode()
    return _MARK + bytes((len(raw),)) + raw


def digest(domain: str, data: bytes) -> bytes:
    """SHA-256 over `TREADLE` 00, one length byte, `domain` and `data`: 32 bytes.

    The length byte keeps one domain's bytes from ever being another's. `domain` is at most 255 bytes.
    """
    return hashlib.sha256(_prefix(domain) + data).digest()


def keyed(key: bytes, domain: str, data: bytes) -> bytes:
    """HMAC-SHA-256 with `key` (at most 64 bytes) over the same bytes as `digest`: 32 bytes."""
    inner, outer = (state.copy() for state in _pads(key, domain))
    inner.update(data)
    outer.update(inner.digest())
    return outer.digest()


@lru_cache(maxsize=256)
def _pads(key: bytes, domain: str) -> tuple[hashlib._Hash, hashlib._Hash]:
    """HMAC's two hashes with the padded key in them (RFC 2104), the inner one with the domain too.

    A command makes two of these hashes; taking copies costs a third of beginning anew.
    """
    check(len(key) <= _BLOCK, "a key is at most one block of the hash")
    padded = key.ljust(_BLOCK, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + _prefix(domain))
    return inner, hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))


__all__ = ["Item", "decode", "digest", "encode", "keyed", "pack", "parse", "render", "unpack"]
