"""Ways through a command's clauses that several checks go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treadle.model import contract as m
from treadle.riff import syntax as s
from treadle.riff.names import look_up
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import BindingSymbol, BlockSymbol, CommandSymbol, Unit


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome where it is answered, the names that its payload may use, and what answers it."""

    outcome: s.Outcome
    scope: CommandScope
    success: bool = False


def answers(unit: Unit, command: CommandSymbol) -> Iterator[Answer]:
    """Every outcome of a command in source order, the success last."""
    yield from _block(unit, command, command.block)
    if command.success is not None:
        yield Answer(command.success, CommandScope(unit, command, command.block), success=True)


def _block(unit: Unit, command: CommandSymbol, block: BlockSymbol) -> Iterator[Answer]:
    for binding in block.bindings:
        payload = CommandScope(unit, command, block, "payload")
        node = binding.node
        given = [node.failure, *(handler.outcome for handler in node.handlers), node.restrict, node.cascade]
        yield from (Answer(outcome, payload) for outcome in given if outcome is not None)
    scope = CommandScope(unit, command, block)
    for decision in block.decisions:
        for arm, inner in decision.arms:
            if isinstance(arm.action, s.Reject):
                yield Answer(arm.action.outcome, CommandScope(unit, command, block, before=decision.known))
            elif inner is not None:
                yield from _block(unit, command, inner)
    if block is command.block and command.loop is not None:
        yield from _block(unit, command, command.loop.block)
    yield from (Answer(require.failure, scope) for require in block.requires)
    for effect in block.effects:
        match effect:
            case s.DoTransition():
                yield Answer(effect.stale, scope)
                yield Answer(effect.illegal, scope)
            case s.DoLease():
                yield from (Answer(outcome, scope) for _, outcome in effect.outcomes)
            case _:
                pass


def target(unit: Unit, command: CommandSymbol, block: BlockSymbol, name: s.Name) -> BindingSymbol | None:
    """The binding that an effect names, or None and C004 where there is none that it can see."""
    found = look_up(unit.report, command.by_name, name, "binding")
    if found is None or block.sees(found.block):
        return found
    place = "loop" if found.block.kind == "loop" else "arm"
    message = f"`{name.text}` is bound in the {place} and known in that {place} only"
    unit.report.add("C004", name.at, message)
    return None


def known(command: CommandSymbol, expr: m.Expr) -> m.Expr:
    """The expression with a row's key field replaced by the key argument that the row was found by."""
    if isinstance(expr, m.BindingField):
        argument = key_argument(command.by_name.get(expr.binding), expr.field)
        return argument if argument is not None else expr
    return expr


def key_argument(binding: BindingSymbol | None, name: str) -> m.Expr | None:
    """The key argument of a key field of a binding's row."""
    if binding is None or binding.entity is None:
        return None
    for member, argument in zip(binding.entity.key, binding.key, strict=False):
        if member.name == name:
            return argument
    return None


def arguments(binding: BindingSymbol) -> dict[str, m.Expr] | None:
    """A binding's key arguments by field, or None where one was refused."""
    if binding.entity is None or not binding.key:
        return None
    found = dict(zip([member.name for member in binding.entity.key], binding.key, strict=False))
    kept = {name: argument for name, argument in found.items() if argument is not None}
    return kept if len(kept) == len(binding.entity.key) else None
