"""Coders made of other coders: optional cells, lists, rows of fixed length, records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from treadle.errors import check
from treadle.model import items
from treadle.model.coders import U16, U32, Coder, Decode, Encode, calling, counted, encoder, expect
from treadle.model.facts import Cell, Cells
from treadle.model.items import corrupt
from treadle.model.straight import FALSY, NONE, Fragment, Slot, compile_encoder

_NULL: Final = bytes((items.NULL,))


def optional(item: Coder) -> Coder:
    """None, or what `item` writes. A record leaves None out, so the null tag stands in lists only."""
    inner = item.decode

    def fragment(prefix: bytes) -> Fragment:
        encode = encoder(item, prefix)
        null = prefix + _NULL
        return calling(lambda cell: null if cell is None else encode(cell))

    def decode(data: bytes, start: int) -> tuple[Any, int]:
        if data[start] == items.NULL:
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
    encode_item = encoder(item, b"")
    decode_item = item.decode

    def fragment(prefix: bytes) -> Fragment:
        names = {"pack": counted(prefix, items.LIST), "join": b"".join, "item": encode_item}
        return Fragment(("pack{n}(len({c}))", "join{n}(map(item{n}, {c}))"), names)

    def decode(data: bytes, start: int) -> tuple[Cells, int]:
        at = expect(data, start, items.LIST) + 4
        cells = []
        for _ in range(U32.unpack_from(data, at - 4)[0]):
            cell, at = decode_item(data, at)
            cells.append(cell)
        return tuple(cells), at

    return Coder(fragment, decode)


def row(parts: Sequence[Coder]) -> Coder:
    """A tuple of fixed length as a list: each position has its own coder."""
    decoders = tuple(item.decode for item in parts)
    head = bytes((items.LIST,)) + U32.pack(len(parts))
    slots = [Slot(at, item.fragment(b"")) for at, item in enumerate(parts)]

    def fragment(prefix: bytes) -> Fragment:
        return calling(compile_encoder((prefix + head,) * (len(parts) + 1), len(parts), slots))

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
            tuple(U16.pack(len(name)) + name for name, _, _ in named),
            tuple(coder for _, _, coder in named),
            len(members),
        )


def _slot(position: int, name: bytes, coder: Coder) -> Slot:
    if coder.present is None:
        return Slot(position, coder.fragment(name))
    return Slot(position, coder.present.fragment(name), NONE if coder.default is None else FALSY)


def _record_encoder(plan: _Plan, prefix: bytes) -> Encode:
    head = prefix + bytes((items.RECORD,))
    heads = [head + U16.pack(count) for count in range(len(plan.names) + 1)]
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
        if data[start] != items.RECORD:
            raise corrupt(f"another type than declared at byte {start}")
        count = U16.unpack_from(data, start + 1)[0]
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
    return Coder(lambda prefix: calling(_record_encoder(plan, prefix)), _record_decoder(plan))
