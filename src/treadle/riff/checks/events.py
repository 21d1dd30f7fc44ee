"""C002, C004, C005 for an event's fields and its partition."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.names import declare, listed_once, members
from treadle.riff.symbols import EventSymbol, FieldSymbol, Unit
from treadle.riff.typenames import resolve_type


def events(unit: Unit) -> None:
    for event in unit.events.values():
        seen: dict[str, s.Name] = {}
        for member in event.node.fields:
            if declare(unit.report, seen, member.name, f"field of {event.name}"):
                event.fields[member.name.text] = FieldSymbol(member, resolve_type(unit, member.type))
        _partition(unit, event)


def _partition(unit: Unit, event: EventSymbol) -> None:
    names = event.node.partition_by
    listed_once(unit.report, names, "this partition")
    found = members(unit.report, event.fields, names, f"event {event.name}") or []
    for name, member in zip(names, found, strict=False):
        if isinstance(member.type, t.Optional | t.List):
            message = f"a partition field cannot be {member.type}; choose a field of a plain type"
            unit.report.add("C005", name.at, message)
