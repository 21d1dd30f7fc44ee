"""Row policies: which rows a principal sees and may change.

A rule allows an operation on a row; several rules for one operation are alternatives, and an operation
without a rule is not allowed. A row that may not be read looks absent. A rule that needs a fact which the
principal does not have, or whose arithmetic fails, allows nothing; an absent optional fact is null.

`exists Entity.index(…)` asks the state before the command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from treadle.errors import Denied
from treadle.model import contract as c
from treadle.model.facts import Cells, Range, Row, Sealed, View
from treadle.model.types import Optional
from treadle.plan.expressions import Function, OutOfRange, compile_expr, misplaced, walk

Allows: TypeAlias = Callable[[Cells, Sealed, View], bool]

# The frame of a rule: (cells of the row, facts, view).
_CELLS: Final = 0
_FACTS: Final = 1
_VIEW: Final = 2


class PolicyPlan(NamedTuple):
    """The rules of one entity. `probes`: a rule asks an index while it runs."""

    read: Allows
    create: Allows
    update: Allows
    delete: Allows
    probes: bool

    def hides(self, row: Row | None, sealed: Sealed, view: View) -> bool:
        """Whether there is a row that this principal does not see."""
        return row is not None and sealed.policed and not self.read(row.cells, sealed, view)


def denied() -> Denied:
    """What a caller hears whose change meets a row that policy keeps from it."""
    return Denied("a row policy does not allow this; nothing was recorded")


def policy_plan(contract: c.Contract, entity: c.Entity, positions: Mapping[str, int]) -> PolicyPlan | None:
    """The rules of an entity; None where no policy is declared on it."""
    rules = [
        rule for policy in contract.row_policies if policy.entity == entity.name for rule in policy.rules
    ]
    if not any(policy.entity == entity.name for policy in contract.row_policies):
        return None

    def allows(operation: str) -> Allows:
        return _any(
            [compile_expr(rule.expr, _leaf(positions)) for rule in rules if rule.operation == operation]
        )

    probes = any(isinstance(node, c.Exists) for rule in rules for node in walk(rule.expr))
    return PolicyPlan(allows("read"), allows("create"), allows("update"), allows("delete"), probes)


def _any(rules: list[Function]) -> Allows:
    def allows(cells: Cells, sealed: Sealed, view: View) -> bool:
        return any(_holds(rule, (cells, sealed.facts, view)) for rule in rules)

    return allows


def _holds(rule: Function, frame: tuple[Any, ...]) -> bool:
    try:
        return bool(rule(frame))
    except (OutOfRange, _NoFact):
        return False


class _NoFact(Exception):
    """The principal does not have the fact that a rule reads."""


def _leaf(positions: Mapping[str, int]) -> Callable[[c.Expr], Function]:
    def leaf(expr: c.Expr) -> Function:
        match expr:
            case c.OwnField():
                position = positions[expr.field]
                return lambda frame: frame[_CELLS][position]
            case c.PrincipalFact():
                return _fact(expr.name, absent_is_null=isinstance(expr.type, Optional))
            case c.Exists():
                return _exists(expr, tuple(compile_expr(arg, leaf) for arg in expr.args))
            case _:
                raise misplaced(expr)

    return leaf


def _fact(name: str, *, absent_is_null: bool) -> Function:
    def fact(frame: Any) -> Any:
        facts = frame[_FACTS]
        if name not in facts and not absent_is_null:
            raise _NoFact
        return facts.get(name)

    return fact


def _exists(expr: c.Exists, args: tuple[Function, ...]) -> Function:
    entity, index = expr.entity, expr.index

    def exists(frame: Any) -> bool:
        values = tuple(arg(frame) for arg in args)
        return bool(frame[_VIEW].probe(Range(entity, index, values, 1)))

    return exists
