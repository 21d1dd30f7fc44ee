"""C010, C011, C036: what writes has an idempotency key, an input that serves nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.limits import KEY_BYTES
from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.symbols import CommandSymbol, Unit, direct_input
from treadle.riff.walk import answers


def idempotency(unit: Unit) -> None:
    for command in unit.commands:
        key = command.idempotency_key
        if key is not None:
            _key(unit, command, key)
            continue
        if any(binding.kind != "read" for binding in command.bindings) or command.effects():
            message = (
                f"command {command.name} writes and has no idempotency key;"
                f" add `input request_key: string<{KEY_BYTES}>` and `idempotency_key request_key`"
            )
            unit.report.add("C010", command.node.name.at, message)
        for service in command.services.values():
            message = f"`{service.name.text}` is new on every call; add an idempotency key to repeat it"
            unit.report.add("C036", service.name.at, message)


def _key(unit: Unit, command: CommandSymbol, key: s.IdempotencyKey) -> None:
    name = direct_input(key.expression, command)
    if name is None:
        message = f"the idempotency key is an input itself, of uuid or string<{KEY_BYTES}>"
        unit.report.add("C011", key.expression.at, message)
        return
    node, kind = command.inputs[name]
    good = isinstance(kind, t.Uuid) or (isinstance(kind, t.String) and kind.maximum <= KEY_BYTES)
    if kind is not None and not good:
        message = f"the idempotency key is uuid or string<1> to string<{KEY_BYTES}>; `{name}` is {kind}"
        related = [("the input is here", node.name.at)]
        unit.report.add("C011", key.expression.at, message, related=related)
    for at in _uses(unit, command, name):
        message = f"`{name}` is the idempotency key and names the call only; use another input here"
        unit.report.add("C011", at, message)


def _uses(unit: Unit, command: CommandSymbol, name: str) -> Iterator[Extent]:
    """Every place that uses an input, but for the `idempotency_key` clause."""
    if command.loop is not None and command.loop.node.input.text == name:
        yield command.loop.node.input.at
    for node in expressions(unit, command):
        for use in unit.uses(node):
            expr = use.expr
            while isinstance(expr, m.DatePart):
                expr = expr.operand
            if isinstance(expr, m.Input) and expr.name == name:
                yield use.at


def expressions(unit: Unit, command: CommandSymbol) -> Iterator[s.Expression]:
    """Every expression of a command, but for its idempotency key."""
    for binding in command.bindings:
        yield from binding.node.key
        yield from (
            (entry.value for entry in binding.node.initialize.entries) if binding.node.initialize else ()
        )
    for block in command.blocks:
        for decision in block.decisions:
            yield from (arm.when for arm, _ in decision.arms if arm.when is not None)
        yield from (require.expression for require in block.requires)
    for effect, _ in command.effects():
        match effect:
            case s.Set():
                yield effect.value
            case s.Emit():
                yield from (entry.value for entry in effect.payload.entries)
            case s.DoTransition():
                yield effect.revision
            case s.DoLease():
                yield from (value for _, value in effect.values)
    for answer in answers(unit, command):
        yield from (entry.value for entry in answer.outcome.payload.entries)
