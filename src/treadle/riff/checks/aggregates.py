"""C003, C004, C008, C016 for aggregates: one root, partition and conflict key; whose rows belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent
from treadle.riff.expressions import check_expression
from treadle.riff.names import declare, entity
from treadle.riff.scopes import RowScope
from treadle.riff.symbols import AggregateSymbol, EntitySymbol, Typed, Unit

Item = TypeVar("Item", s.Root, s.PartitionBy, s.ConflictKey)

_EXAMPLES: Final = {
    "root": "root Entity",
    "partition_by": "partition_by shop_id",
    "conflict_key": "conflict_key (shop_id)",
}


def aggregates(unit: Unit) -> None:
    for aggregate in unit.aggregates.values():
        items = aggregate.node.items
        root = _one(unit, aggregate, "root", [item for item in items if isinstance(item, s.Root)])
        by = _one(
            unit, aggregate, "partition_by", [item for item in items if isinstance(item, s.PartitionBy)]
        )
        key = _one(
            unit, aggregate, "conflict_key", [item for item in items if isinstance(item, s.ConflictKey)]
        )
        aggregate.root = _belongs(unit, aggregate, root.entity) if root else None
        for item in items:
            if isinstance(item, s.Child):
                _child(unit, aggregate, item)
        seen: dict[str, s.Name] = {}
        for item in items:
            if isinstance(item, s.Invariant) and declare(unit.report, seen, item.name, "invariant"):
                aggregate.invariants[item.name.text] = item
                _named_once(unit, aggregate, item)
        _keys(unit, aggregate, by, key)


def _one(unit: Unit, aggregate: AggregateSymbol, word: str, found: Sequence[Item]) -> Item | None:
    if not found:
        message = f"aggregate {aggregate.name} has no {word}; add `{_EXAMPLES[word]}`"
        unit.report.add("C003", aggregate.node.name.at, message)
        return None
    for extra in found[1:]:
        at = Extent(extra.at.start, extra.at.start + len(word))
        message = f"aggregate {aggregate.name} has two of `{word}`; keep one"
        unit.report.add("C003", at, message, related=[("the first is here", found[0].at)])
    return found[0]


def _belongs(unit: Unit, aggregate: AggregateSymbol, name: s.Name) -> EntitySymbol | None:
    """The entity, now of this aggregate; None where it is unknown or of another one."""
    found = entity(unit, name)
    if found is None:
        return None
    if found.aggregate is None:
        found.aggregate = aggregate
        return found
    message = f"{name.text} already belongs to aggregate {found.aggregate.name}; an entity belongs to one"
    related = [("it is taken here", found.aggregate.node.name.at)]
    unit.report.add("C008", name.at, message, related=related)
    return None


def _child(unit: Unit, aggregate: AggregateSymbol, item: s.Child) -> None:
    found = _belongs(unit, aggregate, item.entity)
    root = aggregate.root
    if found is None or root is None:
        return
    aggregate.children.append(found)
    wanted = [(member.name, member.type) for member in root.key]
    given = [(member.name, member.type) for member in found.key][: len(wanted)]
    if given == wanted or any(kind is None for _, kind in given + wanted):
        return
    fields = ", ".join(f"{name}: {kind}" for name, kind in wanted)
    message = f"the key of child {found.name} must begin with the root's key: ({fields}, …)"
    related = [
        (f"the key of {root.name} is here", _key_at(root)),
        (f"that of {found.name} is here", _key_at(found)),
    ]
    unit.report.add("C008", item.entity.at, message, related=related)


def _key_at(symbol: EntitySymbol) -> Extent:
    return next((item.at for item in symbol.node.items if isinstance(item, s.Key)), symbol.node.name.at)


def _named_once(unit: Unit, aggregate: AggregateSymbol, item: s.Invariant) -> None:
    """`violates NAME` must mean one invariant: an aggregate's is not called as one of its entities'."""
    holders = [aggregate.root, *aggregate.children]
    for holder in holders:
        first = holder.invariants.get(item.name.text) if holder is not None else None
        if holder is not None and first is not None:
            message = f"{holder.name} has an invariant `{item.name.text}` already; rename one"
            unit.report.add("C002", item.name.at, message, related=[("the first is here", first.name.at)])


def _keys(
    unit: Unit, aggregate: AggregateSymbol, by: s.PartitionBy | None, key: s.ConflictKey | None
) -> None:
    root = aggregate.root
    if root is None:
        return
    keys = {member.name for member in root.key}

    def of_key(typed: Typed) -> bool:
        others = [use for use in typed.uses if getattr(use.expr, "field", None) not in keys | {None}]
        for use in others:
            message = (
                f"a partition and a conflict key are made of the key of {root.name}; this is another field"
            )
            unit.report.add("C016", use.at, message, help=f"key fields: {', '.join(sorted(keys))}")
        return not others

    scope = RowScope(unit, root, "a partition or conflict key")
    if by is not None:
        aggregate.partition = check_expression(scope, by.expression, then=of_key)
    if key is not None:
        aggregate.conflict_key = [check_expression(scope, each, then=of_key) for each in key.expressions]
