"""C002, C003, C005, C020 for an entity's members: one key, each name once in its kind, types that exist."""

from __future__ import annotations

from typing import Any

from treadle.limits import ENTITY_FIELDS
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.names import declare, listed_once
from treadle.riff.symbols import EntitySymbol, FieldSymbol, Unit
from treadle.riff.typenames import resolve_type


def entities(unit: Unit) -> None:
    for entity in unit.entities.values():
        _key(unit, entity)
        names = {name: member.node.name for name, member in entity.fields.items()}
        for item in entity.node.items:
            if isinstance(item, s.Member) and declare(
                unit.report, names, item.name, f"field of {entity.name}"
            ):
                entity.fields[item.name.text] = FieldSymbol(item, resolve_type(unit, item.type))
        _count(unit, entity)
        _others(unit, entity)


def _count(unit: Unit, entity: EntitySymbol) -> None:
    """As many fields as every store has columns for."""
    if len(entity.fields) > ENTITY_FIELDS:
        message = (
            f"entity {entity.name} has {len(entity.fields):,} fields, at most {ENTITY_FIELDS:,} are allowed; "
            "move some to another entity"
        )
        unit.report.add("C020", entity.node.name.at, message)


def _key(unit: Unit, entity: EntitySymbol) -> None:
    keys = [item for item in entity.node.items if isinstance(item, s.Key)]
    if not keys:
        message = f"entity {entity.name} has no key; begin it with one, as in `key (id: uuid)`"
        unit.report.add("C003", entity.node.name.at, message)
    for extra in keys[1:]:
        word = Extent(extra.at.start, extra.at.start + len("key"))
        message = f"entity {entity.name} has two keys; list all key fields in one"
        unit.report.add("C003", word, message, related=[("the first is here", keys[0].at)])
    for item in keys[:1]:
        listed_once(unit.report, [member.name for member in item.fields], "this key")
        for member in item.fields:
            if member.name.text == "tx":
                declare(unit.report, {}, member.name, "key field")
            kind = resolve_type(unit, member.type)
            if isinstance(kind, t.Optional | t.List):
                message = f"a key field cannot be {kind}; give it a plain type"
                unit.report.add("C005", member.type.at, message)
                kind = None
            entity.fields.setdefault(member.name.text, FieldSymbol(member, kind, key=True))


def _others(unit: Unit, entity: EntitySymbol) -> None:
    """Invariants, indexes, uniques and references by name; one delete policy."""
    tables: dict[type[s.Node], tuple[str, dict[str, Any]]] = {
        s.Invariant: ("invariant", entity.invariants),
        s.Index: ("index", entity.indexes),
        s.Unique: ("unique", entity.uniques),
        s.Reference: ("reference", entity.references),
    }
    seen: dict[str, dict[str, s.Name]] = {}
    for item in entity.node.items:
        match item:
            case s.Invariant() | s.Index() | s.Unique() | s.Reference():
                what, table = tables[type(item)]
                if declare(unit.report, seen.setdefault(what, {}), item.name, f"{what} of {entity.name}"):
                    table[item.name.text] = item
            case s.NoInbound() | s.RestrictPolicy() | s.CascadePolicy():
                _policy(unit, entity, item)
            case _:
                pass


def _policy(unit: Unit, entity: EntitySymbol, item: s.DeletePolicy) -> None:
    if entity.policy is None:
        entity.policy = item
        return
    word = Extent(item.at.start, item.at.start + len("delete_policy"))
    message = f"entity {entity.name} has two delete policies; keep one"
    unit.report.add("C002", word, message, related=[("the first is here", entity.policy.at)])
