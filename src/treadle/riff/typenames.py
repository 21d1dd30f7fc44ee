"""Written types to types: bounds, unknown names, and where records may stand (C005)."""

from __future__ import annotations

import re
from typing import Final

from treadle.limits import DECIMAL_PRECISION, LIST_ENTRIES, STRING_BYTES
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.symbols import Unit

_PLAIN: Final[dict[str, t.Type]] = {
    "bool": t.BOOL,
    "i64": t.I64_,
    "u64": t.U64_,
    "timestamp": t.TIMESTAMP,
    "date": t.DATE,
    "uuid": t.UUID,
}
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_BOUNDED: Final = {
    "string": "string<80>: at most 80 bytes of UTF-8",
    "bytes": "bytes<80>: at most 80 bytes",
    "decimal": "decimal<10, 2>: ten digits, two of them after the point",
    "money": "money<EUR>",
    "optional": "optional<u64>",
    "list": "list<u64, 1..64>",
}


def resolve_type(unit: Unit, node: s.TypeNode, *, records: bool = False) -> t.Type | None:
    """The type that is written, or None and C005. `records`: a list of an entity's records may stand here."""
    match node:
        case s.PlainType():
            return _PLAIN[node.name]
        case s.DecimalType():
            return _decimal(unit, node)
        case s.MoneyType():
            return _money(unit, node)
        case s.StringType():
            return t.String(node.maximum.value) if _sized(unit, node.maximum) else None
        case s.BytesType():
            return t.Bytes(node.maximum.value) if _sized(unit, node.maximum) else None
        case s.OptionalType():
            return _optional(unit, node)
        case s.ListType():
            return _list(unit, node, records)
        case s.NamedType():
            return _named(unit, node)


def _refuse(unit: Unit, node: s.Node, message: str) -> None:
    unit.report.add("C005", node.at, message)


def _decimal(unit: Unit, node: s.DecimalType) -> t.Type | None:
    precision, scale = node.precision.value, node.scale.value
    if not 1 <= precision <= DECIMAL_PRECISION:
        _refuse(unit, node.precision, f"a decimal has 1 to {DECIMAL_PRECISION} digits; write such a number")
        return None
    if scale > precision:
        _refuse(unit, node.scale, f"of {precision} digits at most {precision} stand after the point")
        return None
    return t.Decimal(precision, scale)


def _money(unit: Unit, node: s.MoneyType) -> t.Type | None:
    if _CURRENCY.fullmatch(node.currency.text):
        return t.Money(node.currency.text)
    _refuse(unit, node.currency, "a currency is three capital letters, as in money<EUR>")
    return None


def _sized(unit: Unit, maximum: s.Integer) -> bool:
    if 1 <= maximum.value <= STRING_BYTES:
        return True
    _refuse(unit, maximum, f"this bound is out of range; write 1 to {STRING_BYTES:,} bytes, without commas")
    return False


def _optional(unit: Unit, node: s.OptionalType) -> t.Type | None:
    if isinstance(node.item, s.OptionalType):
        _refuse(unit, node.item, "an optional cannot hold an optional; write it once")
        return None
    item = resolve_type(unit, node.item)
    return t.Optional(item) if item is not None else None


def _list(unit: Unit, node: s.ListType, records: bool) -> t.Type | None:
    item = _item(unit, node.item, records)
    low, high = node.minimum.value if node.minimum else 0, node.maximum.value
    if not 1 <= high <= LIST_ENTRIES:
        _refuse(unit, node.maximum, f"a list has at most 1 to {LIST_ENTRIES:,} entries; write such a number")
        return None
    if node.minimum is not None and low > high:
        _refuse(unit, node.minimum, f"the minimum {node.minimum.text} is above the maximum; swap them")
        return None
    return t.List(item, low, high) if item is not None else None


def _item(unit: Unit, node: s.TypeNode, records: bool) -> t.Type | None:
    if isinstance(node, s.NamedType) and node.name.text in unit.entities:
        if records:
            return t.Record(node.name.text)
        message = f"a list of {node.name.text} records is an input of a bulk or reimport command only"
        _refuse(unit, node, message)
        return None
    return resolve_type(unit, node)


def _named(unit: Unit, node: s.NamedType) -> t.Type | None:
    name = node.name.text
    if name in unit.enums:
        return t.Enum(name)
    if name in unit.entities:
        _refuse(unit, node, f"{name} is an entity; hold its key fields instead")
    elif name in _BOUNDED:
        _refuse(unit, node, f"`{name}` needs its bound, as in {_BOUNDED[name]}")
    else:
        known = [*unit.enums, *_PLAIN, *_BOUNDED]
        message = f"no type or enum `{name}`"
        unit.report.add("C005", node.at, message, misspelt=name, known=known)
    return None
