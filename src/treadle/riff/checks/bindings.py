"""C004, C006, C007, C009, C036 for bindings: rows of an aggregate, by keys known from the input."""

from __future__ import annotations

from treadle.model import contract as m
from treadle.model.types import Type
from treadle.riff import syntax as s
from treadle.riff.expressions import check_expression
from treadle.riff.names import declare, in_aggregate
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import BindingSymbol, CommandSymbol, EntitySymbol, Unit


def bindings(unit: Unit) -> None:
    for command in unit.commands:
        if not command.bindings:
            message = f"command {command.name} binds no row; add a read, mutate, create or delete"
            unit.report.add("C009", command.node.name.at, message)
        for binding in command.bindings:
            entity = binding.entity
            if entity is not None:
                in_aggregate(unit, entity, binding.node.entity.at, "C009")
                _key(unit, command, binding, entity)
            _handlers(unit, binding)


def _key(unit: Unit, command: CommandSymbol, binding: BindingSymbol, entity: EntitySymbol) -> None:
    node, key = binding.node, entity.key
    if key and len(node.key) != len(key):
        fields = ", ".join(f"{member.name}: {member.type}" for member in key)
        message = f"the key of {entity.name} is ({fields}); {len(node.key)} given here"
        unit.report.add("C009", node.entity.at, message)
    scope = CommandScope(unit, command, binding.block, "key")
    found = []
    for place, argument in enumerate(node.key):
        kind = key[place].type if place < len(key) else None
        found.append(_argument(unit, scope, binding, argument, kind))
    binding.key = found if len(found) == len(key) else ()


def _argument(
    unit: Unit, scope: CommandScope, binding: BindingSymbol, node: s.Expression, kind: Type | None
) -> m.Expr | None:
    if not _simple(node):
        message = (
            "a key argument is an input, a constant, a loop element or its field; compute it before the call"
        )
        unit.report.add("C009", node.at, message)
        return None
    found = check_expression(scope, node, kind)
    match found:
        case m.Service() if binding.kind != "create":
            message = (
                f"a service value is new on every call; only a create can have `{found.name}` in its key"
            )
            unit.report.add("C036", node.at, message)
        case m.Service() if scope.command.services[found.name].kind != "uuid_v7":
            message = "the transaction time is known only after the rows are found; use an input in the key"
            unit.report.add("C009", node.at, message)
        case m.DatePart():
            unit.report.add("C009", node.at, "a key argument is not computed; make the date an input")
        case _:
            return found
    return None


def _simple(node: s.Expression) -> bool:
    return isinstance(node, s.Constant | s.Path) or (
        isinstance(node, s.Negate) and isinstance(node.operand, s.Constant)
    )


def _handlers(unit: Unit, binding: BindingSymbol) -> None:
    """`conflict` names a unique, `violates` an invariant, each once, where a row is created or mutated."""
    seen: dict[str, dict[str, s.Name]] = {"conflict": {}, "violates": {}}
    for handler in binding.node.handlers:
        if binding.kind not in ("create", "mutate"):
            at = handler.at._replace(end=handler.at.start + len(handler.kind))
            message = f"a {binding.kind} writes nothing that could fail so; remove `{handler.kind}`"
            unit.report.add("C007", at, message)
            continue
        declare(unit.report, seen[handler.kind], handler.constraint, handler.kind)
        if binding.entity is None:
            continue
        known = _constraints(binding.entity, handler.kind)
        name = handler.constraint
        if name.text not in known:
            what = "unique" if handler.kind == "conflict" else "invariant"
            message = f"{binding.entity.name} has no {what} `{name.text}`"
            unit.report.add("C004", name.at, message, misspelt=name.text, known=known)


def _constraints(entity: EntitySymbol, kind: str) -> set[str]:
    if kind == "conflict":
        return set(entity.uniques)
    return set(entity.invariants) | (set(entity.aggregate.invariants) if entity.aggregate else set())
