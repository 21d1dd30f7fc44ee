"""Aggregates: the root of a row, the conflict key, and the invariants that root and children share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from treadle.errors import InvalidInput
from treadle.model import contract as c
from treadle.model.facts import Cells, Key
from treadle.plan.expressions import Function, OutOfRange, compile_expr, misplaced, walk
from treadle.plan.positions import positions_of

ConflictKey: TypeAlias = tuple[str, Cells]
"""An aggregate's name and the values of its conflict key."""


class SharedInvariant(NamedTuple):
    """An aggregate's `invariant`: `holds` over a mapping from entity to a row's cells.

    `entities` are the children whose fields it reads.
    """

    name: str
    entities: tuple[str, ...]
    holds: Function


class AggregatePlan(NamedTuple):
    """An aggregate: `root_key_count` is the length of the root's key, with which a child's key begins.

    `conflict_key` takes the key of the root or of a child.
    """

    declaration: c.Aggregate
    name: str
    root: str
    root_key_count: int
    conflict_key: Callable[[Key], ConflictKey]
    invariants: tuple[SharedInvariant, ...]


def aggregate_plan(aggregate: c.Aggregate, entities: Mapping[str, c.Entity]) -> AggregatePlan:
    """The plan of an aggregate."""
    return AggregatePlan(
        declaration=aggregate,
        name=aggregate.name,
        root=aggregate.root,
        root_key_count=len(entities[aggregate.root].key),
        conflict_key=_conflict_key(aggregate, positions_of(entities[aggregate.root])),
        invariants=_invariants(aggregate, entities),
    )


def _conflict_key(aggregate: c.Aggregate, positions: Mapping[str, int]) -> Callable[[Key], ConflictKey]:
    def leaf(expr: c.Expr) -> Function:
        if isinstance(expr, c.OwnField):
            return itemgetter(positions[expr.field])
        raise misplaced(expr)

    values = [compile_expr(expr, leaf) for expr in aggregate.conflict_key]

    def conflict_key(key: Key) -> ConflictKey:
        try:
            return aggregate.name, tuple(value(key) for value in values)
        except OutOfRange:
            raise InvalidInput("no conflict key has such a value", path="input") from None

    return conflict_key


def _invariants(aggregate: c.Aggregate, entities: Mapping[str, c.Entity]) -> tuple[SharedInvariant, ...]:
    positions = {name: positions_of(entities[name]) for name in (aggregate.root, *aggregate.children)}

    def leaf(expr: c.Expr) -> Function:
        if isinstance(expr, c.OwnField):
            entity, position = expr.entity, positions[expr.entity][expr.field]
            return lambda rows: rows[entity][position]
        raise misplaced(expr)

    def shared(invariant: c.Invariant) -> SharedInvariant:
        read = {node.entity for node in walk(invariant.expr) if isinstance(node, c.OwnField)}
        children = tuple(child for child in aggregate.children if child in read)
        return SharedInvariant(invariant.name, children, compile_expr(invariant.expr, leaf))

    return tuple(shared(invariant) for invariant in aggregate.invariants)
