"""Compiled encoders and decoders between cells and canonical bytes.

A `Coder` is made once per type, record or list and then called for every value, so it does at the start
all that does not depend on the value: the bytes before the value (a field's name and the tag) become the
first argument of a packer written in C, an enum becomes a table of finished bytes, a record's fields are
put in order by one `itemgetter`. What a decoder reads is exactly what its encoder writes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from treadle import limits
from treadle.errors import check
from treadle.model import canonical
from treadle.model.canonical import corrupt
from treadle.model.facts import Cell, Cells

Encode: TypeAlias = Callable[[Any], bytes]
Decode: TypeAlias = Callable[[bytes, int], tuple[Any, int]]

_U16: Final = struct.Struct(">H")
_U32: Final = struct.Struct(">I")


class Coder(NamedTuple):
    """How cells of one type become canonical bytes and come back.

    `encoder(prefix)` makes the function that writes a cell after `prefix`; `decode(data, start)` reads one
    cell and says where it ends. Cells that may be None, which a record leaves out, have a coder for what
    is there in `present`.
    """

    encoder: Callable[[bytes], Encode]
    decode: Decode
    present: Coder | None = None


def reader(coder: Coder) -> Callable[[bytes], Any]:
    """The function that reads a whole bytes object; it raises `DatabaseCorrupt` for any other bytes."""
    decode = coder.decode

    def read(data: bytes) -> Any:
        try:
            cell, end = decode(data, 0)
        except (IndexError, struct.error):
            raise corrupt("it ends in the middle of a value") from None
        if end != len(data):
            raise corrupt(f"bytes after the value, from byte {end}")
        return cell

    return read


def writer(coder: Coder) -> Encode:
    """The function that writes one cell by itself."""
    return coder.encoder(b"")


def _expect(data: bytes, start: int, tag: int) -> int:
    if data[start] != tag:
        raise corrupt(f"another type than declared at byte {start}")
    return start + 1


def _slice(data: bytes, start: int, size: int) -> tuple[bytes, int]:
    end = start + size
    if end > len(data):
        raise corrupt(f"it ends in the middle of a value, at byte {len(data)}")
    return data[start:end], end


# Scalars.


def number(tag: int, form: str, low: int, high: int) -> Coder:
    """Integers of fixed width: `form` is the struct code."""
    tail = struct.Struct(">" + form)
    size = tail.size
    head = bytes((tag,))

    def encoder(prefix: bytes) -> Encode:
        whole = prefix + head
        return partial(struct.Struct(f">{len(whole)}s{form}").pack, whole)

    def decode(data: bytes, start: int) -> tuple[int, int]:
        if data[start] != tag:
            raise corrupt(f"another type than declared at byte {start}")
        (value,) = tail.unpack_from(data, start + 1)
        if not low <= value <= high:
            raise corrupt(f"a number out of its type's range at byte {start}")
        return value, start + 1 + size

    return Coder(encoder, decode)


I64: Final = number(canonical.I64, "q", limits.I64_MIN, limits.I64_MAX)
U64: Final = number(canonical.U64, "Q", 0, limits.U64_MAX)
TIMESTAMP: Final = number(canonical.TIMESTAMP, "q", limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX)
DATE: Final = number(canonical.DATE, "i", limits.DATE_MIN, limits.DATE_MAX)


def _bool_encoder(prefix: bytes) -> Encode:
    return {False: prefix + b"\x01", True: prefix + b"\x02"}.__getitem__


def _bool_decode(data: bytes, start: int) -> tuple[bool, int]:
    tag = data[start]
    if tag not in (canonical.FALSE, canonical.TRUE):
        raise corrupt(f"another type than declared at byte {start}")
    return tag == canonical.TRUE, start + 1


BOOL: Final = Coder(_bool_encoder, _bool_decode)


def fixed(tag: int, size: int) -> Coder:
    """Exactly `size` bytes after the tag."""
    head = bytes((tag,))

    def encoder(prefix: bytes) -> Encode:
        return (prefix + head).__add__

    def decode(data: bytes, start: int) -> tuple[bytes, int]:
        return _slice(data, _expect(data, start, tag), size)

    return Coder(encoder, decode)


UUID: Final = fixed(canonical.UUID, 16)


def _checked_encoder(whole: bytes, size: int) -> Encode:
    def encode(cell: bytes) -> bytes:
        if len(cell) != size:
            check(False, f"a value of exactly {size} bytes")
        return whole + cell

    return encode


def _hash_decode(data: bytes, start: int) -> tuple[bytes, int]:
    if not data.startswith(_HASH_HEAD, start):
        raise corrupt(f"another type than declared at byte {start}")
    return _slice(data, start + 5, 32)


_HASH_HEAD: Final = bytes((canonical.BYTES, 0, 0, 0, 32))
HASH: Final = Coder(lambda prefix: _checked_encoder(prefix + _HASH_HEAD, 32), _hash_decode)
"""Exactly 32 bytes."""


def exact(head: bytes) -> Coder:
    """Decimals and money: `head` is the tag with the scale or the currency, then 16 bytes unscaled."""
    size = len(head)

    def encoder(prefix: bytes) -> Encode:
        whole = prefix + head
        return lambda cell: whole + cell.to_bytes(16, "big", signed=True)

    def decode(data: bytes, start: int) -> tuple[int, int]:
        if not data.startswith(head, start):
            raise corrupt(f"another type than declared at byte {start}")
        raw, end = _slice(data, start + size, 16)
        value = int.from_bytes(raw, "big", signed=True)
        if not -canonical.DECIMAL_BOUND < value < canonical.DECIMAL_BOUND:
            raise corrupt(f"a decimal of more than {limits.DECIMAL_PRECISION} digits at byte {start}")
        return value, end

    return Coder(encoder, decode)


def decimal_(scale: int) -> Coder:
    return exact(bytes((canonical.DECIMAL, scale)))


def money(currency: str) -> Coder:
    return exact(bytes((canonical.MONEY,)) + currency.encode())


def _text_decode(data: bytes, start: int) -> tuple[str, int]:
    if data[start] != canonical.STRING:
        raise corrupt(f"another type than declared at byte {start}")
    body = start + 5
    end: int = body + _U32.unpack_from(data, start + 1)[0]
    raw = data[body:end]
    if end > len(data) or b"\0" in raw:
        raise corrupt(f"text cut short or with a NUL at byte {start}")
    try:
        return raw.decode(), end
    except UnicodeDecodeError:
        raise corrupt(f"text that is not UTF-8 at byte {start}") from None


def _text_encoder(prefix: bytes) -> Encode:
    whole = prefix + bytes((canonical.STRING,))
    pack = partial(struct.Struct(f">{len(whole)}sI").pack, whole)

    def encode(cell: str) -> bytes:
        raw = cell.encode()
        return pack(len(raw)) + raw

    return encode


STRING: Final = Coder(_text_encoder, _text_decode)


class _Memo(dict[str, bytes]):
    """Finished bytes of texts that come again and again; cleared when full, so it stays small."""

    def __init__(self, encode: Encode) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, text: str) -> bytes:
        if len(self) >= _MEMO_ENTRIES:
            self.clear()
        raw = self._encode(text)
        self[text] = raw
        return raw


_MEMO_ENTRIES: Final = 1_024


def _label_encoder(prefix: bytes) -> Encode:
    return _Memo(_text_encoder(prefix)).__getitem__


LABEL: Final = Coder(_label_encoder, _text_decode)
"""A string that comes from a small set (names, principals): the same bytes as `STRING`, remembered."""


def _sized(tag: int) -> Coder:
    def encoder(prefix: bytes) -> Encode:
        whole = prefix + bytes((tag,))
        pack = partial(struct.Struct(f">{len(whole)}sI").pack, whole)

        def encode(cell: bytes) -> bytes:
            return pack(len(cell)) + cell

        return encode

    def decode(data: bytes, start: int) -> tuple[bytes, int]:
        body = _expect(data, start, tag) + 4
        return _slice(data, body, _U32.unpack_from(data, body - 4)[0])

    return Coder(encoder, decode)


BYTES: Final = _sized(canonical.BYTES)
ENCLOSED: Final = _sized(canonical.ENCLOSED)
"""Canonical bytes of one value inside another value: readable without a schema, skipped by its length."""


def _enum_bytes(name: str) -> bytes:
    raw = name.encode()
    return bytes((canonical.ENUM,)) + _U16.pack(len(raw)) + raw


def enum(variants: Sequence[str]) -> Coder:
    """One of these names."""
    spelled = {name: _enum_bytes(name) for name in variants}
    names = {raw: name for name, raw in spelled.items()}

    def encoder(prefix: bytes) -> Encode:
        return {name: prefix + raw for name, raw in spelled.items()}.__getitem__

    def decode(data: bytes, start: int) -> tuple[str, int]:
        end = _expect(data, start, canonical.ENUM) + 2
        end += _U16.unpack_from(data, end - 2)[0]
        name = names.get(data[start:end])
        if name is None:
            raise corrupt(f"an unknown variant at byte {start}")
        return name, end

    return Coder(encoder, decode)


# Compounds.

_NULL: Final = bytes((canonical.NULL,))


def optional(item: Coder) -> Coder:
    """None, or what `item` writes. A record leaves None out, so the null tag stands in lists only."""
    inner = item.decode

    def encoder(prefix: bytes) -> Encode:
        encode = item.encoder(prefix)
        null = prefix + _NULL
        return lambda cell: null if cell is None else encode(cell)

    def decode(data: bytes, start: int) -> tuple[Any, int]:
        if data[start] == canonical.NULL:
            return None, start + 1
        return inner(data, start)

    return Coder(encoder, decode, item)


def made(coder: Coder, make: Callable[[Any], Any]) -> Coder:
    """The same bytes; what is read goes through `make`, such as a NamedTuple's `_make`."""
    inner = coder.decode

    def decode(data: bytes, start: int) -> tuple[Any, int]:
        cell, end = inner(data, start)
        return make(cell), end

    return Coder(coder.encoder, decode)


def list_(item: Coder) -> Coder:
    """A tuple of any length of what `item` writes."""
    encode_item = item.encoder(b"")
    decode_item = item.decode

    def encoder(prefix: bytes) -> Encode:
        whole = prefix + bytes((canonical.LIST,))
        pack = partial(struct.Struct(f">{len(whole)}sI").pack, whole)
        return lambda cells: pack(len(cells)) + b"".join([encode_item(cell) for cell in cells])

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        at = _expect(data, start, canonical.LIST) + 4
        cells = []
        for _ in range(_U32.unpack_from(data, at - 4)[0]):
            cell, at = decode_item(data, at)
            cells.append(cell)
        return tuple(cells), at

    return Coder(encoder, decode)


def row(items: Sequence[Coder]) -> Coder:
    """A tuple of fixed length as a list: each position has its own coder."""
    encoders = tuple(item.encoder(b"") for item in items)
    decoders = tuple(item.decode for item in items)
    head = bytes((canonical.LIST,)) + _U32.pack(len(items))

    def encoder(prefix: bytes) -> Encode:
        whole = prefix + head
        join = b"".join
        return lambda cells: (
            whole + join([encode(cell) for encode, cell in zip(encoders, cells, strict=True)])
        )

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        if not data.startswith(head, start):
            raise corrupt(f"a list of another length than declared at byte {start}")
        at = start + len(head)
        cells = []
        for decode_item in decoders:
            cell, at = decode_item(data, at)
            cells.append(cell)
        return tuple(cells), at

    return Coder(encoder, decode)


class Member(NamedTuple):
    """A field of a record and its coder."""

    name: str
    coder: Coder


def picker(positions: Sequence[int]) -> Callable[[Cells], Cells]:
    if len(positions) == 1:
        only = positions[0]
        return lambda cells: (cells[only],)
    if not positions:
        return lambda cells: ()
    return itemgetter(*positions)


class _Plan(NamedTuple):
    """The fields of a record in canonical order, and where they stand in the cells."""

    order: tuple[int, ...]
    names: tuple[bytes, ...]
    coders: tuple[Coder, ...]

    @classmethod
    def of(cls, members: Sequence[Member]) -> _Plan:
        order = sorted(range(len(members)), key=lambda position: members[position].name.encode())
        raw = [members[position].name.encode() for position in order]
        check(len(set(raw)) == len(raw), "field names of a record are distinct")
        names = tuple(_U16.pack(len(name)) + name for name in raw)
        return cls(tuple(order), names, tuple(members[position].coder for position in order))


def _record_encoder(plan: _Plan, prefix: bytes) -> Encode:
    head = prefix + bytes((canonical.RECORD,))
    heads = [head + _U16.pack(count) for count in range(len(plan.order) + 1)]
    coders = [coder.present or coder for coder in plan.coders]
    encoders = tuple(coder.encoder(name) for name, coder in zip(plan.names, coders, strict=True))
    pick = picker(plan.order)
    full = len(encoders)
    join = b"".join
    if not any(coder.present for coder in plan.coders):
        whole = heads[full]
        return lambda cells: (
            whole + join([encode(cell) for encode, cell in zip(encoders, pick(cells), strict=True)])
        )
    required = picker([at for at, coder in zip(plan.order, plan.coders, strict=True) if not coder.present])

    def encode_record(cells: Cells) -> bytes:
        parts = [encode(cell) for encode, cell in zip(encoders, pick(cells), strict=True) if cell is not None]
        count = len(parts)
        if count != full and None in required(cells):
            check(False, "a field that is not optional is None")
        return heads[count] + join(parts)

    return encode_record


def _record_decoder(plan: _Plan) -> Decode:
    fields = tuple(
        (name, len(name), (coder.present or coder).decode, at, coder.present is not None)
        for name, coder, at in zip(plan.names, plan.coders, plan.order, strict=True)
    )
    size = len(fields)

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        if data[start] != canonical.RECORD:
            raise corrupt(f"another type than declared at byte {start}")
        count = _U16.unpack_from(data, start + 1)[0]
        at = start + 3
        cells: list[Cell] = [None] * size
        for name, length, decode_field, position, may_miss in fields:
            if count and data.startswith(name, at):
                cell, at = decode_field(data, at + length)
                cells[position] = cell
                count -= 1
            elif not may_miss:
                raise corrupt(f"a record without a field that it must have, at byte {at}")
        if count:
            raise corrupt(f"a record with an undeclared field at byte {at}")
        return tuple(cells), at

    return decode


def record(members: Sequence[Member]) -> Coder:
    """A tuple of cells as a record: fields by name, optional ones that are None left out."""
    plan = _Plan.of(members)
    return Coder(lambda prefix: _record_encoder(plan, prefix), _record_decoder(plan))


__all__ = [
    "BOOL",
    "BYTES",
    "DATE",
    "ENCLOSED",
    "HASH",
    "I64",
    "LABEL",
    "STRING",
    "TIMESTAMP",
    "U64",
    "UUID",
    "Coder",
    "Decode",
    "Encode",
    "Member",
    "decimal_",
    "enum",
    "exact",
    "fixed",
    "list_",
    "made",
    "money",
    "number",
    "optional",
    "picker",
    "reader",
    "record",
    "row",
    "writer",
]
