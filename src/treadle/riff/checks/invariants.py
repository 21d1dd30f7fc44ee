"""C004, C006, C007, C046 for invariants: conditions over a row, and over an aggregate's root and a child."""

from __future__ import annotations

from collections.abc import Callable

from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff.expressions import check_expression
from treadle.riff.scopes import RowScope
from treadle.riff.symbols import AggregateSymbol, Typed, Unit


def invariants(unit: Unit) -> None:
    for entity in unit.entities.values():
        scope = RowScope(unit, entity, "an invariant")
        for node in entity.invariants.values():
            check_expression(scope, node.expression, t.BOOL, _no_secret(unit))
    for aggregate in unit.aggregates.values():
        root = aggregate.root
        if root is not None:
            children = {child.name: child for child in aggregate.children}
            scope = RowScope(unit, root, "an invariant", children)
            for node in aggregate.invariants.values():
                check_expression(scope, node.expression, t.BOOL, _one_child(unit, aggregate))


def _no_secret(unit: Unit) -> Callable[[Typed], bool]:
    """Whether a broken invariant would tell nothing about a secret."""

    def public(typed: Typed) -> bool:
        found = [use for use in typed.uses if isinstance(use.expr, m.OwnField) and _secret(unit, use.expr)]
        for use in found:
            message = (
                "an invariant cannot use a secret field: its failure would tell about it; remove the field"
            )
            unit.report.add("C046", use.at, message)
        return not found

    return public


def _secret(unit: Unit, field: m.OwnField) -> bool:
    return field.field in unit.entities[field.entity].secrets


def _one_child(unit: Unit, aggregate: AggregateSymbol) -> Callable[[Typed], bool]:
    """A command that writes one child need not hold a row of another."""
    root = aggregate.root.name if aggregate.root else ""
    public = _no_secret(unit)

    def then(typed: Typed) -> bool:
        first = ""
        for use in typed.uses:
            if not isinstance(use.expr, m.OwnField) or use.expr.entity in (root, first):
                continue
            if first:
                message = (
                    f"an invariant speaks of {root} and one child; split what {first} and this child share"
                )
                unit.report.add("C007", use.at, message)
                return False
            first = use.expr.entity
        return public(typed)

    return then
