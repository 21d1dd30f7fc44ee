"""What the names of a command stand for, and the keys that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from treadle.model import contract as c
from treadle.plan.expressions import Function, Leaf, compile_expr, misplaced
from treadle.plan.frame import TIME, Frame, KeyOf, Scope
from treadle.plan.positions import picker
from treadle.plan.verdicts import tuple_of


def leaf_of(scope: Scope) -> Leaf:
    """The functions of the nodes that name something in a command."""

    def leaf(expr: c.Expr) -> Function:
        match expr:
            case c.Input() | c.Service() | c.Element():
                return itemgetter(scope.slots[expr.name])
            case c.TxTime():
                return itemgetter(TIME)
            case c.ElementField():
                return _cell(scope.slots[expr.element], _element_position(scope, expr))
            case c.BindingRow():
                return _row(scope.bounds[expr.binding].slot)
            case c.BindingField():
                bound = scope.bounds[expr.binding]
                return _cell(bound.slot, bound.entity.positions[expr.field])
            case _:
                raise misplaced(expr)

    return leaf


def _element_position(scope: Scope, expr: c.ElementField) -> int:
    if scope.element_entity is None:
        raise misplaced(expr)
    return scope.element_entity.positions[expr.field]


def _cell(slot: int, position: int) -> Function:
    def cell(frame: Frame) -> object:
        return frame[slot][position]

    return cell


def _row(slot: int) -> Function:
    def row(frame: Frame) -> object:
        return tuple(frame[slot])

    return row


def key_of(scope: Scope, key: Sequence[c.Expr]) -> KeyOf:
    """The function that makes a key; where all its parts are whole slots, one that only picks them."""
    slots = [scope.slots[expr.name] for expr in key if isinstance(expr, c.Input | c.Service | c.Element)]
    if len(slots) == len(key):
        return picker(slots)
    leaf = leaf_of(scope)
    return tuple_of([compile_expr(expr, leaf) for expr in key])
