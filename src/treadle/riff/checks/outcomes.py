"""C014 (and C004, C006 in payloads) for outcomes: one payload for a name, success and failure apart."""

from __future__ import annotations

from treadle.model.types import Type
from treadle.riff import syntax as s
from treadle.riff.expressions import check_expression
from treadle.riff.names import declare, reserved
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import CommandSymbol, OutcomeSymbol, Unit
from treadle.riff.walk import Answer, answers

_CONSTANTS_ONLY = (
    "a binding's failure answers inputs, loop elements and constants only; drop what is computed"
)


def outcomes(unit: Unit) -> None:
    for command in unit.commands:
        for answer in answers(unit, command):
            _outcome(unit, command, answer)


def _outcome(unit: Unit, command: CommandSymbol, answer: Answer) -> None:
    outcome = answer.outcome
    reserved(unit.report, outcome.name)
    fields = payload(unit, outcome, answer.scope)
    first = command.outcomes.get(outcome.name.text)
    if first is None:
        if fields is not None:
            command.outcomes[outcome.name.text] = OutcomeSymbol(outcome, fields, answer.success)
        return
    related = [("it is answered here first", first.first.name.at)]
    if answer.success:
        message = (
            f"`{outcome.name.text}` is a failure of this command too; the success needs a name of its own"
        )
        unit.report.add("C014", outcome.name.at, message, related=related)
    elif fields is not None and fields != first.fields:
        shape = ", ".join(f"{name}: {kind}" for name, kind in first.fields.items()) or "no fields"
        message = (
            f"`{outcome.name.text}` carries {{ {shape} }} elsewhere in this command; give it the same payload"
        )
        unit.report.add("C014", outcome.name.at, message, related=related)


def payload(unit: Unit, outcome: s.Outcome, scope: CommandScope) -> dict[str, Type] | None:
    """The types of an outcome's payload, or None where one was refused."""
    seen: dict[str, s.Name] = {}
    fields: dict[str, Type] = {}
    whole = True
    for entry in outcome.payload.entries:
        whole &= declare(unit.report, seen, entry.name, "payload field", "C014")
        found = None
        if scope.level == "payload" and not _plain(entry.value):
            unit.report.add("C004", entry.value.at, _CONSTANTS_ONLY)
        else:
            found = check_expression(scope, entry.value)
        if found is None:
            whole = False
        else:
            fields[entry.name.text] = found.type
    return fields if whole else None


def _plain(node: s.Expression) -> bool:
    if isinstance(node, s.Negate):
        return isinstance(node.operand, s.Constant)
    return isinstance(node, s.Constant) or (isinstance(node, s.Path) and node.parts[-1].text != "date")
