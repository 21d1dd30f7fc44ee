"""Expressions: each node becomes one small function of a frame, made once.

Arithmetic is exact: a result outside its type's range raises `OutOfRange`, which ends the command in
the terminal failure `arithmetic`; nothing wraps or rounds. `&&` and `||` stop early. `null` equals
only `null`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from treadle import limits
from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model.types import I64, MONEY_PRECISION, U64, Decimal, Money, Type

Function: TypeAlias = Callable[[Any], Any]
"""A compiled expression over some frame: a command's, a row's image, a policy's question."""
Leaf: TypeAlias = Callable[[c.Expr], Function]
"""Makes the functions of the nodes that name something; it differs with where an expression stands."""

MICROSECONDS_A_DAY: Final = 86_400_000_000


class OutOfRange(Exception):
    """A number left its type's range, or a division by zero."""


def compile_expr(expr: c.Expr, leaf: Leaf) -> Function:
    """The function of `expr`; names are left to `leaf`."""
    match expr:
        case c.Literal():
            return constant(expr.cell)
        case c.Variant():
            return constant(expr.name)
        case c.Unary():
            return _unary(expr, compile_expr(expr.operand, leaf))
        case c.Binary():
            return _binary(expr, leaf)
        case c.DatePart():
            return _date(compile_expr(expr.operand, leaf))
        case c.IsNull():
            return _is_null(compile_expr(expr.operand, leaf), expr.negated)
        case c.In():
            return _in(compile_expr(expr.item, leaf), compile_expr(expr.list, leaf))
        case _:
            return leaf(expr)


def constant(cell: Any) -> Function:
    return lambda frame: cell


def bounds(kind: Type) -> tuple[int, int]:
    """The least and the greatest cell of a numeric type; decimals count unscaled."""
    match kind:
        case I64():
            return limits.I64_MIN, limits.I64_MAX
        case U64():
            return 0, limits.U64_MAX
        case Decimal():
            most = 10**kind.precision - 1
            return -most, most
        case Money():
            most = 10**MONEY_PRECISION - 1
            return -most, most
        case _:
            raise InvariantBroken(f"{kind} is not a number")


def _unary(expr: c.Unary, operand: Function) -> Function:
    if expr.op == "!":
        return lambda frame: not operand(frame)
    least, most = bounds(expr.type)

    def negate(frame: Any) -> int:
        value: int = -operand(frame)
        if least <= value <= most:
            return value
        raise OutOfRange

    return negate


def _binary(expr: c.Binary, leaf: Leaf) -> Function:
    """Brackets are few (nesting is bounded), but `a + b + c …` may be as long as a source text.

    So a long left spine becomes a loop over its operators; a short one stays nested, which is faster.
    """
    spine: list[c.Binary] = []
    first: c.Expr = expr
    while isinstance(first, c.Binary):
        spine.append(first)
        first = first.left
    function = compile_expr(first, leaf)
    if len(spine) > _NESTED:
        return _loop(function, [_applied(node, leaf) for node in reversed(spine)])
    for node in reversed(spine):
        function = _operator(node)(function, compile_expr(node.right, leaf))
    return function


def _applied(node: c.Binary, leaf: Leaf) -> Function:
    """The operator and its right side, as a function of the pair (left side's value, frame)."""
    right = compile_expr(node.right, leaf)
    return _operator(node)(lambda pair: pair[0], lambda pair: right(pair[1]))


def _loop(first: Function, rest: list[Function]) -> Function:
    steps = tuple(rest)

    def run(frame: Any) -> Any:
        value = first(frame)
        for step in steps:
            value = step((value, frame))
        return value

    return run


def _operator(node: c.Binary) -> Callable[[Function, Function], Function]:
    if node.op in _COMPARISONS:
        return _COMPARISONS[node.op]
    least, most = bounds(node.type)
    arithmetic = _ARITHMETIC[node.op]
    return lambda left, right: _ranged(arithmetic(left, right), least, most)


def _ranged(value_of: Function, least: int, most: int) -> Function:
    def ranged(frame: Any) -> int:
        value: int = value_of(frame)
        if least <= value <= most:
            return value
        raise OutOfRange

    return ranged


def _divide(left: Function, right: Function) -> Function:
    """Truncates toward zero, where Python's own division rounds down."""

    def divide(frame: Any) -> int:
        dividend: int = left(frame)
        divisor: int = right(frame)
        if divisor == 0:
            raise OutOfRange
        quotient = abs(dividend) // abs(divisor)
        return quotient if (dividend < 0) == (divisor < 0) else -quotient

    return divide


_NESTED: Final = 16  # a left spine longer than this is evaluated by a loop

_COMPARISONS: Final[dict[str, Callable[[Function, Function], Function]]] = {
    "||": lambda left, right: lambda frame: left(frame) or right(frame),
    "&&": lambda left, right: lambda frame: left(frame) and right(frame),
    "==": lambda left, right: lambda frame: left(frame) == right(frame),
    "!=": lambda left, right: lambda frame: left(frame) != right(frame),
    "<": lambda left, right: lambda frame: left(frame) < right(frame),
    "<=": lambda left, right: lambda frame: left(frame) <= right(frame),
    ">": lambda left, right: lambda frame: left(frame) > right(frame),
    ">=": lambda left, right: lambda frame: left(frame) >= right(frame),
}

_ARITHMETIC: Final[dict[str, Callable[[Function, Function], Function]]] = {
    "+": lambda left, right: lambda frame: left(frame) + right(frame),
    "-": lambda left, right: lambda frame: left(frame) - right(frame),
    "*": lambda left, right: lambda frame: left(frame) * right(frame),
    "/": _divide,
}


def _date(operand: Function) -> Function:
    def date(frame: Any) -> int | None:
        value = operand(frame)
        return None if value is None else value // MICROSECONDS_A_DAY

    return date


def _is_null(operand: Function, negated: bool) -> Function:
    if negated:
        return lambda frame: operand(frame) is not None
    return lambda frame: operand(frame) is None


def _in(item: Function, entries: Function) -> Function:
    def contains(frame: Any) -> bool:
        found = entries(frame)
        return found is not None and item(frame) in found

    return contains


def walk(expr: c.Expr) -> list[c.Expr]:
    """The expression and every expression in it. A loop, since a chain of operators may be long."""
    found: list[c.Expr] = []
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(_inner(one))
    return found


def _inner(expr: c.Expr) -> tuple[c.Expr, ...]:
    match expr:
        case c.Unary() | c.DatePart() | c.IsNull():
            return (expr.operand,)
        case c.Binary():
            return (expr.left, expr.right)
        case c.In():
            return (expr.item, expr.list)
        case c.Exists():
            return expr.args
        case _:
            return ()


def misplaced(expr: c.Expr) -> InvariantBroken:
    """The error for a node that the compiler refuses where it stands."""
    return InvariantBroken(f"internal invariant broken: {type(expr).__name__} stands where it cannot")
