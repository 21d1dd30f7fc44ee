"""The partition of a command, computed from its input alone."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from treadle.errors import InvalidInput
from treadle.model import contract as c
from treadle.model.facts import Cells
from treadle.plan.expressions import Function, OutOfRange, compile_expr, misplaced


def partition_of(command: c.Command) -> Callable[[Cells], Cells] | None:
    """A function from a command's input to its partition values; None where the input does not tell them.

    A create whose key is a service value begins a partition of its own, which no caller was in before.
    """
    expr = command.partition
    if expr is None or _sealed(expr):
        return None
    places = {field.name: position for position, field in enumerate(command.inputs)}

    def leaf(node: c.Expr) -> Function:
        if isinstance(node, c.Input):
            return itemgetter(places[node.name])
        raise misplaced(node)

    value = compile_expr(expr, leaf)

    def partition(cells: Cells) -> Cells:
        try:
            return (value(cells),)
        except OutOfRange:
            raise InvalidInput(f"no partition of {command.name} has such a value", path="input") from None

    return partition


def _sealed(expr: c.Expr) -> bool:
    """Whether an expression holds a service value."""
    match expr:
        case c.Service():
            return True
        case c.Unary() | c.DatePart():
            return _sealed(expr.operand)
        case c.Binary():
            return _sealed(expr.left) or _sealed(expr.right)
        case _:
            return False
