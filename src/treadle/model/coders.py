"""Compiled encoders and decoders between cells and canonical bytes.

A `Coder` is made once per type, record or list and then called for every value, so it does at the start
all that does not depend on the value: the bytes before the value (a field's name and the tag) become the
first argument of a packer written in C, an enum becomes a table of finished bytes, a record becomes
straight-line code (see `straight`). What a decoder reads is exactly what its encoder writes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, cast

from treadle import limits
from treadle.errors import check
from treadle.model import canonical
from treadle.model.canonical import corrupt
from treadle.model.facts import Cell, Cells
from treadle.model.straight import FALSY, NONE, Fragment, Slot, compile_encoder

Encode: TypeAlias = Callable[[Any], bytes]
Decode: TypeAlias = Callable[[bytes, int], tuple[Any, int]]

_U16: Final = struct.Struct(">H")
_U32: Final = struct.Struct(">I")


class Coder(NamedTuple):
    """How cells of one type become canonical bytes and come back.

    `fragment(prefix)` is the code that writes a cell after `prefix`; `decode(data, start)` reads one cell
    and says where it ends. A cell that a record may leave out has the coder of what is there in
    `present`; it is left out where it equals `default` (None, or an empty tuple or False).
    """

    fragment: Callable[[bytes], Fragment]
    decode: Decode
    present: Coder | None = None
    default: Any = None


def writer(coder: Coder) -> Encode:
    """The function that writes one cell by itself."""
    return _encoder(coder, b"")


def _encoder(coder: Coder, prefix: bytes) -> Encode:
    fragment = coder.fragment(prefix)
    if fragment.parts == _CALL:
        return cast(Encode, fragment.names["encode"])
    one = compile_encoder((b"",) * 2, 1, [Slot(0, fragment)])
    return lambda cell: one((cell,))


_CALL: Final = ("encode{n}({c})",)


def _calling(encode: Encode) -> Fragment:
    """The fragment that calls a function with the cell."""
    return Fragment(_CALL, {"encode": encode})


def _table(table: Mapping[Any, bytes]) -> Fragment:
    """The fragment that looks the cell up among finished bytes."""
    return Fragment(("table{n}[{c}]",), {"table": table})


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

    def fragment(prefix: bytes) -> Fragment:
        whole = prefix + head
        return _calling(partial(struct.Struct(f">{len(whole)}s{form}").pack, whole))

    def decode(data: bytes, start: int) -> tuple[int, int]:
        if data[start] != tag:
            raise corrupt(f"another type than declared at byte {start}")
        (value,) = tail.unpack_from(data, start + 1)
        if not low <= value <= high:
            raise corrupt(f"a number out of its type's range at byte {start}")
        return value, start + 1 + size

    return Coder(fragment, decode)


I64: Final = number(canonical.I64, "q", limits.I64_MIN, limits.I64_MAX)
U64: Final = number(canonical.U64, "Q", 0, limits.U64_MAX)
TIMESTAMP: Final = number(canonical.TIMESTAMP, "q", limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX)
DATE: Final = number(canonical.DATE, "i", limits.DATE_MIN, limits.DATE_MAX)


def _bool_fragment(prefix: bytes) -> Fragment:
    return _table({False: prefix + b"\x01", True: prefix + b"\x02"})


def _bool_decode(data: bytes, start: int) -> tuple[bool, int]:
    tag = data[start]
    if tag not in (canonical.FALSE, canonical.TRUE):
        raise corrupt(f"another type than declared at byte {start}")
    return tag == canonical.TRUE, start + 1


BOOL: Final = Coder(_bool_fragment, _bool_decode)


def fixed(head: bytes, size: int) -> Coder:
    """Exactly `size` bytes after `head` (a tag, and a length where the tag has one)."""
    width = len(head)

    def fragment(prefix: bytes) -> Fragment:
        names = {"whole": prefix + head, "check": check}
        before = f'if len({{c}}) != {size}: check{{n}}(False, "a value of exactly {size} bytes")'
        return Fragment(("whole{n}", "{c}"), names, before)

    def decode(data: bytes, start: int) -> tuple[bytes, int]:
        if not data.startswith(head, start):
            raise corrupt(f"another type than declared at byte {start}")
        return _slice(data, start + width, size)

    return Coder(fragment, decode)


UUID: Final = fixed(bytes((canonical.UUID,)), 16)
HASH: Final = fixed(bytes((canonical.BYTES, 0, 0, 0, 32)), 32)
"""Bytes, always 32 of them."""


def exact(head: bytes) -> Coder:
    """Decimals and money: `head` is the tag with the scale or the currency, then 16 bytes unscaled."""
    size = len(head)

    def fragment(prefix: bytes) -> Fragment:
        return Fragment(("whole{n}", "{c}.to_bytes(16, 'big', signed=True)"), {"whole": prefix + head})

    def decode(data: bytes, start: int) -> tuple[int, int]:
        if not data.startswith(head, start):
            raise corrupt(f"another type than declared at byte {start}")
        raw, end = _slice(data, start + size, 16)
        value = int.from_bytes(raw, "big", signed=True)
        if not -canonical.DECIMAL_BOUND < value < canonical.DECIMAL_BOUND:
            raise corrupt(f"a decimal of more than {limits.DECIMAL_PRECISION} digits at byte {start}")
        return value, end

    return Coder(fragment, decode)


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


def _counted(prefix: bytes, tag: int) -> Encode:
    """Packs a prefix, a tag and a four-byte count."""
    whole = prefix + bytes((tag,))
    return partial(struct.Struct(f">{len(whole)}sI").pack, whole)


def _text_fragment(prefix: bytes) -> Fragment:
    names = {"pack": _counted(prefix, canonical.STRING)}
    return Fragment(("pack{n}(len(raw{n}))", "raw{n}"), names, "raw{n} = {c}.encode()")


STRING: Final = Coder(_text_fragment, _text_decode)


class _Memo(dict[str, bytes]):
    """Finished bytes of texts that come again and again; cleared when full, so it stays small."""

    def __init__(self, encode: Encode) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, text: str) -> bytes:
        raw = self._encode(text)
        if len(raw) <= _MEMO_BYTES:
            if len(self) >= _MEMO_ENTRIES:
                self.clear()
            self[text] = raw
        return raw


_MEMO_ENTRIES: Final = 1_024
_MEMO_BYTES: Final = 512


def _label_fragment(prefix: bytes) -> Fragment:
    return _table(_Memo(_encoder(STRING, prefix)))


LABEL: Final = Coder(_label_fragment, _text_decode)
"""A string that comes from a small set (names, principals): the same bytes as `STRING`, remembered."""


def _sized(tag: int) -> Coder:
    def fragment(prefix: bytes) -> Fragment:
        return Fragment(("pack{n}(len({c}))", "{c}"), {"pack": _counted(prefix, tag)})

    def decode(data: bytes, start: int) -> tuple[bytes, int]:
        body = _expect(data, start, tag) + 4
        return _slice(data, body, _U32.unpack_from(data, body - 4)[0])

    return Coder(fragment, decode)


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

    def fragment(prefix: bytes) -> Fragment:
        return _table({name: prefix + raw for name, raw in spelled.items()})

    def decode(data: bytes, start: int) -> tuple[str, int]:
        end = _expect(data, start, canonical.ENUM) + 2
        end += _U16.unpack_from(data, end - 2)[0]
        name = names.get(data[start:end])
        if name is None:
            raise corrupt(f"an unknown variant at byte {start}")
        return name, end

    return Coder(fragment, decode)


# Compounds.

_NULL: Final = bytes((canonical.NULL,))


def optional(item: Coder) -> Coder:
    """None, or what `item` writes. A record leaves None out, so the null tag stands in lists only."""
    inner = item.decode

    def fragment(prefix: bytes) -> Fragment:
        encode = _encoder(item, prefix)
        null = prefix + _NULL
        return _calling(lambda cell: null if cell is None else encode(cell))

    def decode(data: bytes, start: int) -> tuple[Any, int]:
        if data[start] == canonical.NULL:
            return None, start + 1
        return inner(data, start)

    return Coder(fragment, decode, item)


def omitted(item: Coder, default: Any) -> Coder:
    """What `item` writes, left out of a record where it is `default`: an empty tuple, or False."""
    return Coder(item.fragment, item.decode, item, default)


def made(coder: Coder, make: Callable[[Any], Any]) -> Coder:
    """The same bytes; what is read goes through `make`, such as a NamedTuple's `_make`."""
    inner = coder.decode

    def decode(data: bytes, start: int) -> tuple[Any, int]:
        cell, end = inner(data, start)
        return make(cell), end

    return Coder(coder.fragment, decode)


def list_(item: Coder) -> Coder:
    """A tuple of any length of what `item` writes."""
    encode_item = _encoder(item, b"")
    decode_item = item.decode

    def fragment(prefix: bytes) -> Fragment:
        names = {"pack": _counted(prefix, canonical.LIST), "join": b"".join, "item": encode_item}
        return Fragment(("pack{n}(len({c}))", "join{n}(map(item{n}, {c}))"), names)

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        at = _expect(data, start, canonical.LIST) + 4
        cells = []
        for _ in range(_U32.unpack_from(data, at - 4)[0]):
            cell, at = decode_item(data, at)
            cells.append(cell)
        return tuple(cells), at

    return Coder(fragment, decode)


def row(items: Sequence[Coder]) -> Coder:
    """A tuple of fixed length as a list: each position has its own coder."""
    decoders = tuple(item.decode for item in items)
    head = bytes((canonical.LIST,)) + _U32.pack(len(items))
    slots = [Slot(at, item.fragment(b"")) for at, item in enumerate(items)]

    def fragment(prefix: bytes) -> Fragment:
        return _calling(compile_encoder((prefix + head,) * (len(items) + 1), len(items), slots))

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        if not data.startswith(head, start):
            raise corrupt(f"a list of another length than declared at byte {start}")
        at = start + len(head)
        cells = []
        for decode_item in decoders:
            cell, at = decode_item(data, at)
            cells.append(cell)
        return tuple(cells), at

    return Coder(fragment, decode)


class Member(NamedTuple):
    """A field of a record and its coder."""

    name: str
    coder: Coder


class _Plan(NamedTuple):
    """The fields of a record in canonical order; `positions` says where each stands in the cells."""

    positions: tuple[int, ...]
    names: tuple[bytes, ...]
    coders: tuple[Coder, ...]
    width: int

    @classmethod
    def of(cls, members: Sequence[Member | None]) -> _Plan:
        named = [(member.name.encode(), at, member.coder) for at, member in enumerate(members) if member]
        named.sort(key=itemgetter(0))
        check(len({name for name, _, _ in named}) == len(named), "field names of a record are distinct")
        return cls(
            tuple(at for _, at, _ in named),
            tuple(_U16.pack(len(name)) + name for name, _, _ in named),
            tuple(coder for _, _, coder in named),
            len(members),
        )


def _slot(position: int, name: bytes, coder: Coder) -> Slot:
    if coder.present is None:
        return Slot(position, coder.fragment(name))
    return Slot(position, coder.present.fragment(name), NONE if coder.default is None else FALSY)


def _record_encoder(plan: _Plan, prefix: bytes) -> Encode:
    head = prefix + bytes((canonical.RECORD,))
    heads = [head + _U16.pack(count) for count in range(len(plan.names) + 1)]
    fields = zip(plan.positions, plan.names, plan.coders, strict=True)
    return compile_encoder(heads, plan.width, [_slot(*field) for field in fields])


def _record_decoder(plan: _Plan) -> Decode:
    fields = tuple(
        (name, len(name), (coder.present or coder).decode, position, coder.present is not None, coder.default)
        for name, coder, position in zip(plan.names, plan.coders, plan.positions, strict=True)
    )
    absent: list[Cell] = [None] * plan.width
    for _, _, _, position, _, default in fields:
        absent[position] = default

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        if data[start] != canonical.RECORD:
            raise corrupt(f"another type than declared at byte {start}")
        count = _U16.unpack_from(data, start + 1)[0]
        at = start + 3
        cells = absent.copy()
        for name, length, decode_field, position, may_miss, default in fields:
            if count and data.startswith(name, at):
                cell, at = decode_field(data, at + length)
                if cell == default:
                    raise corrupt(f"a field that should have been left out, before byte {at}")
                cells[position] = cell
                count -= 1
            elif not may_miss:
                raise corrupt(f"a record without a field that it must have, at byte {at}")
        if count:
            raise corrupt(f"a record with an undeclared field at byte {at}")
        return tuple(cells), at

    return decode


def record(members: Sequence[Member | None]) -> Coder:
    """A tuple of cells as a record: fields by name, those that may be absent and are left out.

    A position without a member is not written, and is read as None.
    """
    plan = _Plan.of(members)
    return Coder(lambda prefix: _calling(_record_encoder(plan, prefix)), _record_decoder(plan))


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
    "omitted",
    "optional",
    "reader",
    "record",
    "row",
    "writer",
]
