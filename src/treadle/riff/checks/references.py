"""C018 (and C002, C004) for references: onto a complete key, of the same types, in the same partition."""

from __future__ import annotations

from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.names import entity, listed_once, members
from treadle.riff.symbols import EntitySymbol, FieldSymbol, Unit, substitute


def references(unit: Unit) -> None:
    for owner in unit.entities.values():
        for node in owner.references.values():
            listed_once(unit.report, node.fields, "this reference")
            listed_once(unit.report, node.target_fields, "this reference's target")
            sources = members(unit.report, owner.fields, node.fields, owner.name)
            target = entity(unit, node.target)
            if target is None:
                continue
            once = len({name.text for name in node.fields}) == len(node.fields)
            if (
                sources is not None
                and once
                and _complete(unit, node, target)
                and _typed(unit, node, sources, target)
            ):
                owner.sound.append(node)
                target.inbound.append((owner, node))
                _partition(unit, node, owner, target)


def _complete(unit: Unit, node: s.Reference, target: EntitySymbol) -> bool:
    """Whether the target's fields are its whole key, one for each field here."""
    names = [name.text for name in node.target_fields]
    key = [member.name for member in target.key]
    if sorted(names) == sorted(key) and len(names) == len(node.fields):
        return True
    at = Extent(node.target_fields[0].at.start, node.target_fields[-1].at.end)
    message = f"a reference names the whole key of {target.name}, a field for each; write ({', '.join(key)})"
    if len(set(names)) == len(names) and key:
        unit.report.add("C018", at, message)
    return False


def _typed(unit: Unit, node: s.Reference, sources: list[FieldSymbol], target: EntitySymbol) -> bool:
    good = True
    for name, source, goal in zip(node.fields, sources, node.target_fields, strict=True):
        wanted = target.fields[goal.text].type
        if isinstance(source.type, t.Optional):
            message = f"`{name.text}` is optional; a reference's fields are required"
        elif wanted is not None and source.type != wanted:
            message = f"`{name.text}` is {source.type}, but {target.name}.{goal.text} is {wanted}"
        else:
            continue
        unit.report.add("C018", name.at, message)
        good = False
    return good


def _partition(unit: Unit, node: s.Reference, owner: EntitySymbol, target: EntitySymbol) -> None:
    here, there = owner.partition(), target.partition()
    if here is None or there is None:
        return
    held: dict[str, m.Expr] = {
        goal.text: m.OwnField(owner.name, name.text, member.type)
        for name, goal in zip(node.fields, node.target_fields, strict=True)
        if (member := owner.fields[name.text]).type
    }
    if substitute(there, held) != here:
        message = f"this refers to a {target.name} of another partition; a reference stays within one"
        unit.report.add("C018", node.name.at, message)
