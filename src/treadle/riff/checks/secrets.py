"""C046: a secret field leaves a command only where the contract says that it reveals it."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.symbols import CommandSymbol, LoopSymbol, Unit
from treadle.riff.walk import answers


def secrets(unit: Unit) -> None:
    for command in unit.commands:
        for answer in answers(unit, command):
            for entry in answer.outcome.payload.entries:
                _value(unit, command, entry.value, entry.reveals, "an outcome")
        for effect, _ in command.effects():
            match effect:
                case s.Emit():
                    for entry in effect.payload.entries:
                        _value(unit, command, entry.value, entry.reveals, "an event")
                case s.Set() if not _secret_target(command, effect.target):
                    _value(unit, command, effect.value, effect.reveals, "a field that is not secret")
                case s.Set():
                    _reveals(unit, command, effect.reveals, _leaks(unit, command, effect.value))
                case _:
                    pass
        for binding in command.bindings:
            for entry in binding.node.initialize.entries if binding.node.initialize else ():
                if binding.entity is None or entry.name.text not in binding.entity.secrets:
                    _value(unit, command, entry.value, entry.reveals, "a field that is not secret")


def _secret_target(command: CommandSymbol, target: s.Path) -> bool:
    binding = command.by_name.get(target.parts[0].text)
    entity = binding.entity if binding else None
    return entity is not None and len(target.parts) == 2 and target.parts[1].text in entity.secrets


def _value(
    unit: Unit, command: CommandSymbol, node: s.Expression, reveals: Sequence[s.Path], where: str
) -> None:
    leaks = _leaks(unit, command, node)
    revealed = _reveals(unit, command, reveals, leaks)
    hidden = [leak for leak in leaks if leak not in revealed]
    if hidden:
        message = f"the secret `{hidden[0]}` would reach {where}; add `reveals {hidden[0]}`, or leave it out"
        unit.report.add("C046", node.at, message)


def _reveals(
    unit: Unit, command: CommandSymbol, reveals: Sequence[s.Path], leaks: dict[str, None]
) -> set[str]:
    """What is revealed; refuses a path twice, and one that is no secret of the value."""
    seen: dict[str, s.Path] = {}
    for path in reveals:
        first = seen.setdefault(path.text, path)
        if first is not path:
            message = f"`{path.text}` is revealed twice; once is enough"
            unit.report.add("C046", path.at, message, related=[("the first is here", first.at)])
        elif path.text not in leaks:
            message = f"`{path.text}` is no secret that this value holds; remove `reveals`"
            unit.report.add("C046", path.at, message)
    return set(seen)


def _leaks(unit: Unit, command: CommandSymbol, node: s.Expression) -> dict[str, None]:
    """The secret fields that an expression reads, as `binding.field`, in order."""
    found: dict[str, None] = {}
    for use in unit.uses(node):
        expr = use.expr
        while isinstance(expr, m.DatePart):
            expr = expr.operand
        match expr:
            case m.BindingField(binding, name) | m.ElementField(binding, name):
                entity = _entity(command, binding)
                if entity in unit.entities and name in unit.entities[entity].secrets:
                    found.setdefault(f"{binding}.{name}")
            case m.BindingRow(binding) | m.Element(binding):
                entity = _entity(command, binding)
                secrets = unit.entities[entity].secrets if entity in unit.entities else set()
                found.update(dict.fromkeys(f"{binding}.{name}" for name in sorted(secrets)))
            case _:
                pass
    return found


def _entity(command: CommandSymbol, name: str) -> str:
    """The entity of a binding's row, or of the loop's element; '' for neither."""
    binding = command.by_name.get(name)
    if binding is not None and binding.entity is not None:
        return binding.entity.name
    loop: LoopSymbol | None = command.loop
    if loop is not None and loop.node.element.text == name and isinstance(loop.item, t.Record):
        return loop.item.entity
    return ""
