"""A contract with a field of each type and an index of each sort, and few cells of each type to fill it."""

from __future__ import annotations

from functools import cache
from typing import Any

from treadle.model import types
from treadle.model.contract import Contract, Entity
from treadle.riff import compile_contract

SOURCE = """
contract Everything version 1 {
  enum Colour { Red, Green, Blue }

  entity Item {
    key (shop: u64, id: i64)
    field flag: bool
    field big: u64
    field signed: i64
    field at: timestamp
    field day: date
    field who: uuid
    field amount: decimal<38, 4>
    field price: money<EUR>
    field name: string<40>
    field blob: bytes<10>
    field colour: Colour
    field tags: list<string<5>, 4>
    field o_flag: optional<bool>
    field o_big: optional<u64>
    field o_signed: optional<i64>
    field o_at: optional<timestamp>
    field o_day: optional<date>
    field o_who: optional<uuid>
    field o_amount: optional<decimal<5, 0>>
    field o_name: optional<string<40>>
    field o_blob: optional<bytes<10>>
    field o_colour: optional<Colour>
    field secret token: string<20>
    index by_colour (shop, colour, big)
    index by_name (shop, name) text_key (name, binary_utf8_v1)
    index by_o (o_colour, o_at, o_big)
    index by_present (flag, o_amount) presence (o_amount)
    index by_o_name (o_name, shop) text_key (o_name, binary_utf8_v1)
    index by_price (price, amount)
    index by_blob (blob, o_blob, day)
    index by_o_flag (shop, o_flag, signed)
    unique slug (shop, who)
  }

  entity Line {
    key (shop: u64, id: i64, n: u64)
    field text: optional<string<40>>
    field weight: i64
    index by_weight (shop, id, weight)
  }

  aggregate Items { root Item child Line partition_by shop conflict_key (shop, id) }
}
"""

TIME = 1_000_000
"""The time of the test's clock."""

FEW: dict[type, list[Any]] = {
    types.Bool: [False, True],
    types.I64: [-(2**63), -1, 0, 7, 2**63 - 1],
    types.U64: [0, 5, 2**63 - 1, 2**63, 2**64 - 1],
    types.Timestamp: [-1, TIME, 253_402_300_799_999_999],
    types.Date: [-719_162, 0, 3],
    types.Uuid: [b"\0" * 16, b"\0" * 15 + b"\xff", b"\xff" * 16],
    types.Decimal: [-(10**4), 0, 1, 99_999],
    types.Money: [-(10**37), 0, 10**37],
    types.String: ["", "a", "a\x01", "ab", "é", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffffx"],
    types.Bytes: [b"", b"\0", b"\0\xff", b"\xff"],
    types.Enum: ["Blue", "Green", "Red"],
}
"""Few cells of each type, its ends among them, so that rows and conditions often meet."""


def few(kind: types.Type) -> list[Any]:
    """The cells that a field of this type takes here."""
    if isinstance(kind, types.Optional):
        return [None, *few(kind.item)]
    if isinstance(kind, types.List):
        return [(), ("x",), ("x", "y")]
    return FEW[type(kind)]


@cache
def contract() -> Contract:
    compiled = compile_contract(SOURCE)
    assert compiled.contract is not None, compiled.render()
    return compiled.contract


def entity(name: str) -> Entity:
    return next(each for each in contract().entities if each.name == name)
