"""C004, C005, C009, C014, C020 for reimport commands: one list of one entity's records."""

from __future__ import annotations

from treadle.limits import BULK_ELEMENTS
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.checks.outcomes import payload
from treadle.riff.names import entity, in_aggregate, reserved
from treadle.riff.scopes import CommandScope
from treadle.riff.symbols import BlockSymbol, CommandSymbol, OutcomeSymbol, ReimportSymbol, Unit
from treadle.riff.typenames import resolve_type


def reimports(unit: Unit) -> None:
    for reimport in unit.reimports:
        node = reimport.node
        reserved(unit.report, node.input.name)
        reimport.entity = entity(unit, node.entity)
        if reimport.entity is not None:
            in_aggregate(unit, reimport.entity, node.entity.at, "C009")
        if node.source.text != node.input.name.text:
            message = f"no input `{node.source.text}`; the records come from `{node.input.name.text}`"
            unit.report.add("C004", node.source.at, message)
        reimport.type = _type(unit, reimport)
        _outcomes(unit, reimport)


def _type(unit: Unit, reimport: ReimportSymbol) -> t.Type | None:
    node = reimport.node.input.type
    found = resolve_type(unit, node, records=True)
    if found is None or reimport.entity is None:
        return None
    wanted = f"list<{reimport.entity.name}, 1..64>"
    if not isinstance(found, t.List) or found.item != t.Record(reimport.entity.name):
        message = f"a reimport takes one list of {reimport.entity.name} records; write {wanted}"
        unit.report.add(
            "C005", node.at, message, related=[("the entity is named here", reimport.node.entity.at)]
        )
        return None
    if isinstance(node, s.ListType):
        if node.minimum is None or node.minimum.value < 1:
            at = node.minimum.at if node.minimum else node.maximum.at
            unit.report.add("C005", at, f"the list of a reimport has a minimum of 1 or more; write {wanted}")
        if node.maximum.value > BULK_ELEMENTS:
            message = f"a reimport takes {node.maximum.text} records here, at most {BULK_ELEMENTS:,}"
            unit.report.add("C020", node.maximum.at, message)
    return found


def _outcomes(unit: Unit, reimport: ReimportSymbol) -> None:
    """Both outcomes may answer the input and constants, and need names of their own."""
    node = reimport.node
    command = CommandSymbol(s.CommandDecl(node.at, node.name, False, ()), BlockSymbol("command", None))
    command.inputs[node.input.name.text] = (node.input, reimport.type)
    scope = CommandScope(unit, command, command.block, "payload")
    for outcome, success in ((node.failure, False), (node.success, True)):
        reserved(unit.report, outcome.name)
        fields = payload(unit, outcome, scope)
        if outcome.name.text in reimport.outcomes:
            message = (
                f"`{outcome.name.text}` is the failure of this command too; the success needs another name"
            )
            related = [("the failure is here", node.failure.name.at)]
            unit.report.add("C014", outcome.name.at, message, related=related)
        elif fields is not None:
            reimport.outcomes[outcome.name.text] = OutcomeSymbol(outcome, fields, success)
