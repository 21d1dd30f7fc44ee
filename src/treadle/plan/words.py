"""Expressions, keys and outcomes as text, the way the contract writes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from treadle.model import contract as c
from treadle.model import types as t

_LEVEL: Final = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 3,
    "<=": 3,
    ">": 3,
    ">=": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
}
_UNARY: Final = 6


def expression(expr: c.Expr) -> str:
    """The text of an expression, with brackets only where they are needed."""
    return _text(expr)[0]


def _text(expr: c.Expr) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    match expr:
        case c.Binary():
            return _chain(expr)
        case c.Unary():
            return f"{expr.op}{_bracketed(expr.operand, _UNARY)}", _UNARY
        case c.IsNull():
            return f"{_bracketed(expr.operand, _UNARY)} is {'not ' if expr.negated else ''}null", 3
        case c.In():
            return f"{_bracketed(expr.item, _UNARY)} in {_bracketed(expr.list, _UNARY)}", 3
        case c.Exists():
            return f"exists {expr.entity}.{expr.index}({listed(expr.args)})", _UNARY
        case c.DatePart():
            return f"{_bracketed(expr.operand, _UNARY)}.date", _UNARY
        case _:
            return _name(expr), _UNARY


def _chain(expr: c.Binary) -> tuple[str, int]:
    """A left spine without recursion: it may be as long as a source text."""
    spine: list[c.Binary] = []
    first: c.Expr = expr
    while isinstance(first, c.Binary):
        spine.append(first)
        first = first.left
    text, level = _text(first)
    parts = deque([text])
    for node in reversed(spine):
        own = _LEVEL[node.op]
        if level < own:
            parts.appendleft("(")
            parts.append(")")
        parts.append(f" {node.op} {_bracketed(node.right, own + 1)}")
        level = own
    return "".join(parts), level


def _bracketed(expr: c.Expr, least: int) -> str:
    text, level = _text(expr)
    return text if level >= least else f"({text})"


def _name(expr: c.Expr) -> str:
    match expr:
        case c.Literal():
            return _literal(expr)
        case c.Variant():
            return f"{expr.enum}.{expr.name}"
        case c.Input() | c.Element() | c.Service():
            return expr.name
        case c.ElementField():
            return f"{expr.element}.{expr.field}"
        case c.BindingRow():
            return expr.binding
        case c.BindingField():
            return f"{expr.binding}.{expr.field}"
        case c.OwnField():
            return expr.field
        case c.PrincipalFact():
            return f"principal.{expr.name}"
        case _:
            return "tx.time"


def _literal(literal: c.Literal) -> str:
    cell = literal.cell
    kind = t.required(literal.type)
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return '"' + cell.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(kind, t.Decimal):
        return fixed(cell, kind.scale)
    return fixed(cell, t.MONEY_SCALE) if isinstance(kind, t.Money) else str(cell)


def fixed(unscaled: int, scale: int) -> str:
    """An unscaled decimal with its point."""
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    sign = "-" if unscaled < 0 else ""
    return sign + (f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits)


def listed(exprs: Sequence[c.Expr]) -> str:
    """Expressions with commas between them."""
    return ", ".join(map(expression, exprs))


def row(binding: c.Binding) -> str:
    """`Job(shop_id, job_id)`: the row that a binding names."""
    return f"{binding.entity}({listed(binding.key)})"


def outcome(answered: c.Outcome) -> str:
    """An outcome with its payload."""
    if not answered.fields:
        return answered.name
    fields = ", ".join(f"{each.name}: {expression(each.value)}" for each in answered.fields)
    return f"{answered.name} {{ {fields} }}"
