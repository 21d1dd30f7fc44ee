"""C015 (and C004, C006) for `emit`: an event of that name, each required field once, of its type."""

from __future__ import annotations

from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.expressions import check_expression
from treadle.riff.names import look_up
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import Unit


def emits(unit: Unit) -> None:
    for command in unit.commands:
        for effect, block in command.effects():
            if isinstance(effect, s.Emit):
                _emit(unit, CommandScope(unit, command, block), effect)


def _emit(unit: Unit, scope: CommandScope, node: s.Emit) -> None:
    event = look_up(unit.report, unit.events, node.event, "event")
    seen: dict[str, s.Name] = {}
    for entry in node.payload.entries:
        first = seen.setdefault(entry.name.text, entry.name)
        if first is not entry.name:
            message = f"`{entry.name.text}` is given twice; keep one"
            unit.report.add("C015", entry.name.at, message, related=[("the first is here", first.at)])
        member = event.fields.get(entry.name.text) if event else None
        if event is not None and member is None:
            message = f"event {event.name} has no field `{entry.name.text}`"
            known = event.fields
            unit.report.add("C015", entry.name.at, message, misspelt=entry.name.text, known=known)
        if member is not None:
            check_expression(scope, entry.value, member.type)
    if event is None:
        return
    required = [name for name, member in event.fields.items() if not isinstance(member.type, t.Optional)]
    lacking = [name for name in required if name not in seen]
    if lacking:
        message = f"the event lacks {', '.join(lacking)}; give every field that is not optional"
        unit.report.add("C015", node.event.at, message, related=[("the event is here", event.node.name.at)])
