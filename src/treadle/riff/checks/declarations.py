"""C002 for whole declarations: each kind has its namespace, enums and entities share one.

Enters every declaration into the unit, so that the later checks can look names up.
"""

from __future__ import annotations

from treadle.riff import syntax as s
from treadle.riff.names import declare, reserved
from treadle.riff.symbols import (
    AggregateSymbol,
    BlockSymbol,
    CommandSymbol,
    EntitySymbol,
    EnumSymbol,
    EventSymbol,
    ReimportSymbol,
    Unit,
    WorkflowSymbol,
)


def declarations(unit: Unit) -> None:
    reserved(unit.report, unit.tree.name)
    spaces: dict[str, dict[str, s.Name]] = {}
    for node in unit.tree.declarations:
        what, space = _WORDS[type(node)]
        fresh = declare(unit.report, spaces.setdefault(space, {}), node.name, what)
        _enter(unit, node, fresh)


_WORDS: dict[type[s.Node], tuple[str, str]] = {
    s.EnumDecl: ("enum", "type"),
    s.EntityDecl: ("entity", "type"),
    s.EventDecl: ("event", "event"),
    s.AggregateDecl: ("aggregate", "aggregate"),
    s.WorkflowDecl: ("workflow", "workflow"),
    s.CommandDecl: ("command", "command"),
    s.ReimportDecl: ("command", "command"),
    s.PrincipalFact: ("principal fact", "fact"),
    s.RowPolicy: ("row policy", "policy"),
}


def _enter(unit: Unit, node: s.Declaration, fresh: bool) -> None:
    """Enter a declaration; of two of one name the first is known by it, and commands are checked all."""
    name = node.name.text
    match node:
        case s.CommandDecl():
            unit.commands.append(CommandSymbol(node, BlockSymbol("command", None)))
        case s.ReimportDecl():
            unit.reimports.append(ReimportSymbol(node))
        case s.RowPolicy():
            unit.policies.append((node, None))
        case _ if not fresh:
            return
        case s.EnumDecl():
            unit.enums[name] = EnumSymbol(node)
        case s.EntityDecl():
            unit.entities[name] = EntitySymbol(node)
        case s.EventDecl():
            unit.events[name] = EventSymbol(node)
        case s.AggregateDecl():
            unit.aggregates[name] = AggregateSymbol(node)
        case s.WorkflowDecl():
            unit.workflows[name] = WorkflowSymbol(node)
        case s.PrincipalFact():
            unit.facts[name] = (node, None)
