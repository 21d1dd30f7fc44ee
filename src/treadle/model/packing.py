"""Tuples of cells as bytes that sort like the tuples.

Stores use them where one column must hold values of any type: unique entries, tombstones, partitions.
Position by position, cells of one type compare as bytes as they compare themselves, null first; a
shorter tuple sorts before a longer one that begins with it. docs/formats/packing.md has the table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from treadle.errors import DatabaseCorrupt
from treadle.model.facts import Cell, Cells

_NULL: Final = 0x01
_FALSE: Final = 0x02
_TRUE: Final = 0x03
_FAR_BELOW: Final = 0x10  # below -2^63: 16 bytes, two's complement
_BELOW: Final = 0x11  # -2^63 to -1: 8 bytes, two's complement
_ABOVE: Final = 0x12  # 0 to 2^64-1: 8 bytes
_FAR_ABOVE: Final = 0x13  # from 2^64: 16 bytes, two's complement
_TEXT: Final = 0x20  # UTF-8, then 00; no text holds a NUL
_BYTES: Final = 0x21  # 00 written as 00 FF, then 00; every tag is below FF

_SIGNED: Final = struct.Struct(">Bq")
_UNSIGNED: Final = struct.Struct(">BQ")
_LEAST: Final = -(2**63)
_MOST: Final = 2**64


def _pack_int(value: int) -> bytes:
    if 0 <= value < _MOST:
        return _UNSIGNED.pack(_ABOVE, value)
    if value >= _LEAST and value < 0:
        return _SIGNED.pack(_BELOW, value)
    tag = _FAR_BELOW if value < 0 else _FAR_ABOVE
    return bytes((tag,)) + value.to_bytes(16, "big", signed=True)


def _pack_text(value: str) -> bytes:
    raw = value.encode()
    if b"\0" in raw:
        raise ValueError("text with a NUL cannot be packed")
    return b"\x20" + raw + b"\0"


def _pack_bytes(value: bytes) -> bytes:
    if b"\0" in value:
        value = value.replace(b"\0", b"\0\xff")
    return b"\x21" + value + b"\0"


_PACKERS: Final[dict[type, Callable[[Any], bytes]]] = {
    type(None): lambda value: b"\x01",
    bool: lambda value: b"\x03" if value else b"\x02",
    int: _pack_int,
    str: _pack_text,
    bytes: _pack_bytes,
}


def pack(cells: Cells) -> bytes:
    """Bytes that hold a tuple of scalar cells (bool, int below 2^127 in size, str, bytes, None).

    Raises `KeyError` for a cell of another type (a list or a record), `ValueError` for text with a NUL or
    a lone surrogate, `OverflowError` for a larger integer.
    """
    return b"".join([_PACKERS[type(cell)](cell) for cell in cells])


def _corrupt(message: str) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"not a packed tuple: {message}; restore from a backup or run `treadle verify`")


def _exactly(data: bytes, start: int, size: int) -> bytes:
    raw = data[start : start + size]
    if len(raw) != size:
        raise _corrupt("it ends in the middle of a number")
    return raw


def _unpack_short(data: bytes, start: int, signed: bool) -> tuple[int, int]:
    value = int.from_bytes(_exactly(data, start, 8), "big", signed=signed)
    if signed and value >= 0:
        raise _corrupt("a number under the wrong tag")
    return value, start + 8


def _unpack_long(data: bytes, start: int, below: bool) -> tuple[int, int]:
    value = int.from_bytes(_exactly(data, start, 16), "big", signed=True)
    if value >= _LEAST if below else value < _MOST:
        raise _corrupt("a number under the wrong tag")
    return value, start + 16


def _end_of(data: bytes, start: int) -> int:
    end = data.find(b"\0", start)
    if end < 0:
        raise _corrupt("it ends in the middle of a text")
    return end


def _unpack_text(data: bytes, start: int) -> tuple[str, int]:
    end = _end_of(data, start)
    try:
        return data[start:end].decode(), end + 1
    except UnicodeDecodeError:
        raise _corrupt("text that is not UTF-8") from None


def _unpack_bytes(data: bytes, start: int) -> tuple[bytes, int]:
    end = _end_of(data, start)
    while data[end + 1 : end + 2] == b"\xff":
        end = _end_of(data, end + 2)
    return data[start:end].replace(b"\0\xff", b"\0"), end + 1


_UNPACKERS: Final[dict[int, Callable[[bytes, int], tuple[Cell, int]]]] = {
    _NULL: lambda data, start: (None, start),
    _FALSE: lambda data, start: (False, start),
    _TRUE: lambda data, start: (True, start),
    _FAR_BELOW: lambda data, start: _unpack_long(data, start, True),
    _BELOW: lambda data, start: _unpack_short(data, start, True),
    _ABOVE: lambda data, start: _unpack_short(data, start, False),
    _FAR_ABOVE: lambda data, start: _unpack_long(data, start, False),
    _TEXT: _unpack_text,
    _BYTES: _unpack_bytes,
}


def unpack(data: bytes) -> Cells:
    """The tuple that `pack` made these bytes of; raises `DatabaseCorrupt` for any other bytes."""
    cells = []
    at = 0
    while at < len(data):
        unpacker = _UNPACKERS.get(data[at])
        if unpacker is None:
            raise _corrupt("an unknown tag")
        cell, at = unpacker(data, at + 1)
        cells.append(cell)
    return tuple(cells)
