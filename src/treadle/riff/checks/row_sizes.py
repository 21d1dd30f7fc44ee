"""C020: rows that can never fit. Bounds tell the least bytes of a row's canonical form; it has at most 1 MiB.

A row that its values make too large ends a command with `row_too_large` instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from treadle.limits import COMMAND_BYTES, ROW_BYTES
from treadle.model import types as t
from treadle.riff.symbols import CommandSymbol, EntitySymbol, EventSymbol, FieldSymbol, Unit

_FIXED: Final[dict[type, int]] = {
    t.Bool: 1,
    t.I64: 9,
    t.U64: 9,
    t.Timestamp: 9,
    t.Date: 5,
    t.Uuid: 17,
    t.Decimal: 18,
    t.Money: 20,
    t.String: 5,
    t.Bytes: 5,
    t.Enum: 4,
}
"""The least bytes of a value: a tag, then its body; a text and a variant's name may be as short as can be."""


def row_sizes(unit: Unit) -> None:
    for entity in unit.entities.values():
        _bounded(unit, entity, entity.fields.values(), f"a row of {entity.name}")
    for event in unit.events.values():
        _bounded(unit, event, event.fields.values(), f"an event {event.name}")
    for command in unit.commands:
        _inputs(unit, command)


def _bounded(unit: Unit, owner: EntitySymbol | EventSymbol, fields: Iterable[FieldSymbol], what: str) -> None:
    size = _record(unit, fields)
    if size > ROW_BYTES:
        message = (
            f"{what} has at least {size:,} bytes, at most {ROW_BYTES:,} are allowed; lower the lists' minimum"
        )
        unit.report.add("C020", owner.node.name.at, message)


def _inputs(unit: Unit, command: CommandSymbol) -> None:
    kinds = [(name, kind) for name, (_, kind) in command.inputs.items() if kind is not None]
    size = 3 + sum(
        2 + len(name) + _least(unit, kind) for name, kind in kinds if not isinstance(kind, t.Optional)
    )
    if size > COMMAND_BYTES:
        message = (
            f"the input of {command.name} has at least {size:,} bytes, at most {COMMAND_BYTES:,} are allowed;"
            " lower the lists' minimum"
        )
        unit.report.add("C020", command.node.name.at, message)


def _record(unit: Unit, fields: Iterable[FieldSymbol]) -> int:
    """A record's count, then each present field's name and value; absent optionals are left out."""
    return 3 + sum(
        2 + len(member.name) + _least(unit, member.type)
        for member in fields
        if member.type is not None and not isinstance(member.type, t.Optional)
    )


def _least(unit: Unit, kind: t.Type) -> int:
    match kind:
        case t.Optional():
            return 1
        case t.List():
            return 5 + kind.minimum * _least(unit, kind.item) if kind.minimum else 5
        case t.Record():
            return _record(unit, unit.entities[kind.entity].fields.values())
        case _:
            return _FIXED[type(kind)]
