"""Types of expressions: what each means, and where types differ (C006) or a form is not allowed (C007).

A `Typer` reads one expression at a time. What a name stands for is its scope's business (`scopes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from treadle.limits import DECIMAL_PRECISION, EXPRESSION_DEPTH, I64_MAX, I64_MIN, U64_MAX
from treadle.model import contract as m
from treadle.model import types as t
from treadle.riff import syntax as s
from treadle.riff.diagnostics import Extent, Report
from treadle.riff.symbols import Typed, Unit, Use
from treadle.riff.tokens import string_value

_LOGIC: Final = ("||", "&&")
_ORDER: Final = ("<", "<=", ">", ">=")
_EQUALITY: Final = ("==", "!=")
_ORDERED: Final = (t.U64, t.I64, t.Decimal, t.Money, t.Timestamp, t.Date)
_SUMMED: Final = (t.U64, t.I64, t.Decimal, t.Money)
_LONGEST: Final = 2 * DECIMAL_PRECISION + 2  # characters of a number that can fit any type, zeros apart


class Scope(Protocol):
    """What names mean in a place. `resolve` reports what it cannot resolve and then gives None."""

    unit: Unit
    policy: bool

    def resolve(self, node: s.Path) -> m.Expr | None: ...


class Typer:
    """Types one expression and notes the names that it uses."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.report: Report = scope.unit.report
        self.uses: list[Use] = []

    def value(self, node: s.Expression, expected: t.Type | None = None) -> m.Expr | None:
        """The expression, of the expected type where one is given."""
        found = self._value(node, expected)
        if found is None or expected is None or fits(found.type, expected):
            return found
        self.report.add("C006", node.at, f"this is {found.type}, but {expected} is needed here")
        return None

    def _value(self, node: s.Expression, expected: t.Type | None) -> m.Expr | None:
        match node:
            case s.Constant():
                return self._constant(node, expected)
            case s.Path():
                return self._path(node)
            case s.Not():
                inner = self.value(node.operand, t.BOOL)
                return inner and m.Unary("!", inner, t.BOOL)
            case s.Negate():
                return self._negate(node, expected)
            case s.Chain():
                return self._chain(node, expected)
            case s.Exists():
                return self._exists(node)

    def _path(self, node: s.Path) -> m.Expr | None:
        found = self.scope.resolve(node)
        if found is not None:
            self.uses.append(Use(found, node.at))
        return found

    # Constants.

    def _constant(self, node: s.Constant, expected: t.Type | None) -> m.Expr | None:
        kind = t.required(expected) if expected is not None else None
        match node.kind:
            case "TRUE" | "FALSE":
                return m.Literal(node.kind == "TRUE", t.BOOL)
            case "NULL":
                return self._null(node, expected)
            case "QUOTED":
                return self._text(node, kind)
            case "INTEGER" if not isinstance(kind, t.Decimal | t.Money):
                return self._integer(node, _number(node.text), kind)
            case _:
                return self._fixed(node, node.text, kind)

    def _null(self, node: s.Constant, expected: t.Type | None) -> m.Expr | None:
        if isinstance(expected, t.Optional):
            return m.Literal(None, expected)
        message = (
            "the type of `null` is not known here; name an optional field or input instead"
            if expected is None
            else f"{expected} is never null; declare it optional<{expected}>, or write a value"
        )
        self.report.add("C006", node.at, message)
        return None

    def _text(self, node: s.Constant, kind: t.Type | None) -> m.Expr | None:
        value = string_value(node.text)
        size = len(value.encode())
        if not isinstance(kind, t.String):
            return m.Literal(value, t.String(max(1, size)))
        if size <= kind.maximum:
            return m.Literal(value, kind)
        self.report.add("C006", node.at, f"this text has {size:,} bytes and does not fit {kind}; shorten it")
        return None

    def _integer(self, node: s.Expression, value: int, kind: t.Type | None) -> m.Expr | None:
        chosen: t.Type = t.I64_ if value <= I64_MAX else t.U64_
        low, high = I64_MIN, U64_MAX
        if isinstance(kind, t.U64 | t.I64):
            chosen = kind
            low, high = (0, U64_MAX) if isinstance(kind, t.U64) else (I64_MIN, I64_MAX)
        if low <= value <= high:
            return m.Literal(value, chosen)
        message = f"this number does not fit {chosen}; write one from {low} to {high}"
        self.report.add("C006", node.at, message)
        return None

    def _fixed(self, node: s.Expression, text: str, kind: t.Type | None) -> m.Expr | None:
        """A decimal constant, of as many digits as written where nothing else is asked for."""
        sign, digits, places = _parts(text, isinstance(kind, t.Decimal | t.Money))
        chosen: t.Type = kind if isinstance(kind, t.Decimal | t.Money) else t.Decimal(0, 0)
        if isinstance(chosen, t.Money):
            precision, scale = t.MONEY_PRECISION, t.MONEY_SCALE
        elif isinstance(kind, t.Decimal):
            precision, scale = kind.precision, kind.scale
        else:
            precision, scale = max(len(digits), places, 1), places
            chosen = t.Decimal(precision, scale)
        room = precision - (scale - places)
        if precision > DECIMAL_PRECISION or places > scale or len(digits) > room:
            message = f"this number does not fit {chosen}; write at most {scale} digits after the point"
            if places <= scale:
                message = (
                    f"this number does not fit {chosen}; write at most {precision - scale} digits before it"
                )
            self.report.add("C006", node.at, message)
            return None
        unscaled = int(digits or "0") * 10 ** (scale - places)
        return m.Literal(str(-unscaled if sign else unscaled), chosen)

    # Operators.

    def _negate(self, node: s.Negate, expected: t.Type | None) -> m.Expr | None:
        inner = node.operand
        if isinstance(inner, s.Constant) and inner.kind in ("INTEGER", "FIXED"):
            kind = t.required(expected) if expected is not None else None
            if inner.kind == "FIXED" or isinstance(kind, t.Decimal | t.Money):
                return self._fixed(node, "-" + inner.text, kind)
            return self._integer(node, -_number(inner.text), kind)
        found = self.value(inner, expected if isinstance(expected, t.I64 | t.Decimal | t.Money) else None)
        if found is None:
            return None
        if isinstance(found.type, t.I64 | t.Decimal | t.Money):
            return m.Unary("-", found, found.type)
        self.report.add("C006", node.at, f"`-` needs a signed number; this is {found.type}")
        return None

    def _chain(self, node: s.Chain, expected: t.Type | None) -> m.Expr | None:
        operator = node.steps[0].operator
        if operator in _LOGIC:
            return self._logic(node, operator)
        if operator in ("+", "-", "*", "/"):
            return self._arithmetic(node, expected)
        left = self._compare(node.first, node.steps[0])
        for step in node.steps[1:]:
            left = left and self._compare_next(left, step)
        return left

    def _logic(self, node: s.Chain, operator: str) -> m.Expr | None:
        operands = [node.first, *(step.operand for step in node.steps if step.operand is not None)]
        found = [self.value(operand, t.BOOL) for operand in operands]
        known = [operand for operand in found if operand is not None]
        return _balanced(operator, known) if len(known) == len(operands) else None

    def _arithmetic(self, node: s.Chain, expected: t.Type | None) -> m.Expr | None:
        """Operands of one type; constants take the type of the others, else the one asked for."""
        operands = [node.first, *(step.operand for step in node.steps if step.operand is not None)]
        found: list[m.Expr | None] = [None if _bare(operand) else self.value(operand) for operand in operands]
        if any(each is None and not _bare(operand) for each, operand in zip(found, operands, strict=True)):
            return None
        kind = next((each.type for each in found if each is not None), None)
        if kind is None and expected is not None and isinstance(t.required(expected), _SUMMED):
            kind = t.required(expected)
        for place, operand in enumerate(operands):
            if found[place] is None:
                found[place] = self.value(operand, kind if isinstance(kind, _SUMMED) else None)
        result = found[0]
        for step, right in zip(node.steps, found[1:], strict=True):
            result = self._operate(step, result, right)
        return result

    def _operate(self, step: s.Step, left: m.Expr | None, right: m.Expr | None) -> m.Expr | None:
        if left is None or right is None:
            return None
        if left.type != right.type:
            message = (
                f"`{step.operator}` needs both sides of one type; these are {left.type} and {right.type}"
            )
        elif not isinstance(left.type, _SUMMED if step.operator in "+-" else (t.U64, t.I64)):
            numbers = "numbers" if step.operator in "+-" else "integers"
            message = f"`{step.operator}` works on {numbers} that are not optional; this is {left.type}"
        else:
            return _binary(step.operator, left, right, left.type)
        self.report.add("C006", step.at, message)
        return None

    def _compare(self, first: s.Expression, step: s.Step) -> m.Expr | None:
        if step.operand is None:
            return self._is_null(step, self.value(first))
        if _bare(first) and not _bare(step.operand):
            right = self.value(step.operand)
            left = right and self._value(first, _context(first, right.type))
        else:
            left = self.value(first)
            right = left and self._right(step, left)
        return self._compared(step, left, right)

    def _compare_next(self, left: m.Expr, step: s.Step) -> m.Expr | None:
        if step.operand is None:
            return self._is_null(step, left)
        return self._compared(step, left, self._right(step, left))

    def _right(self, step: s.Step, left: m.Expr) -> m.Expr | None:
        operand = step.operand
        if operand is None:
            return None
        return self._value(operand, _context(operand, left.type) if _bare(operand) else None)

    def _compared(self, step: s.Step, left: m.Expr | None, right: m.Expr | None) -> m.Expr | None:
        if left is None or right is None:
            return None
        operator = step.operator
        if operator == "in":
            return self._in(step, left, right)
        plain, other = t.required(left.type), t.required(right.type)
        if operator in _EQUALITY and isinstance(plain, t.List | t.Record):
            message = f"{plain} cannot be compared; compare its fields or entries one by one"
        elif plain != other:
            message = f"`{operator}` needs both sides of one type; these are {left.type} and {right.type}"
        elif operator in _ORDER and not isinstance(plain, _ORDERED):
            message = f"{plain} has no order; use `==` or `!=`"
        elif operator in _ORDER and (left.type != plain or right.type != other):
            message = f"`{operator}` needs values that are never null; this is {left.type} and {right.type}"
        else:
            return _binary(operator, left, right, t.BOOL)
        self.report.add("C006", step.at, message)
        return None

    # Forms of row policies.

    def _only_in_policies(self, what: str, at: Extent) -> bool:
        if not self.scope.policy:
            self.report.add("C007", at, f"{what} stands in row policies only; write the comparison out")
        return self.scope.policy

    def _is_null(self, step: s.Step, operand: m.Expr | None) -> m.Expr | None:
        if not self._only_in_policies(f"`{step.operator}`", step.at) or operand is None:
            return None
        if isinstance(operand.type, t.Optional):
            return m.IsNull(operand, step.operator == "is not null", t.BOOL)
        self.report.add("C006", step.at, f"{operand.type} is never null; remove this comparison")
        return None

    def _in(self, step: s.Step, item: m.Expr, entries: m.Expr) -> m.Expr | None:
        if not self._only_in_policies("`in`", step.at):
            return None
        if isinstance(entries.type, t.List) and t.required(item.type) == entries.type.item:
            return m.In(item, entries, t.BOOL)
        message = f"`in` needs a list of {t.required(item.type)} on its right; this is {entries.type}"
        self.report.add("C006", step.at, message)
        return None

    def _exists(self, node: s.Exists) -> m.Expr | None:
        if not self._only_in_policies("`exists`", node.at):
            return None
        unit = self.scope.unit
        entity = unit.entities.get(node.entity.text)
        if entity is None:
            message = f"no entity `{node.entity.text}`"
            self.report.add("C004", node.entity.at, message, misspelt=node.entity.text, known=unit.entities)
            return None
        index = entity.indexes.get(node.index.text)
        if index is None:
            message = f"entity {entity.name} has no index `{node.index.text}`"
            self.report.add("C043", node.index.at, message, misspelt=node.index.text, known=entity.indexes)
            return None
        if len(node.args) != len(index.fields):
            names = ", ".join(name.text for name in index.fields)
            message = f"index {index.name.text} is probed with {len(node.args)} values; give all of ({names})"
            self.report.add("C043", node.at, message)
            return None
        members = [entity.fields.get(name.text) for name in index.fields]
        wanted = [member.type if member else None for member in members]
        args = [self.value(arg, kind) for arg, kind in zip(node.args, wanted, strict=True)]
        known = tuple(arg for arg in args if arg is not None)
        if len(known) < len(args):
            return None
        found = m.Exists(entity.name, index.name.text, known, t.BOOL)
        self.uses.append(Use(found, node.at))
        return found


def fits(kind: t.Type, expected: t.Type) -> bool:
    """Whether a value of `kind` may stand where `expected` is asked for: the same, or T for optional<T>."""
    return kind == expected or (isinstance(expected, t.Optional) and expected.item == kind)


def _context(node: s.Expression, kind: t.Type) -> t.Type:
    """The type that a constant takes beside an operand: `null` needs the optional, others the plain type."""
    return kind if isinstance(node, s.Constant) and node.kind == "NULL" else t.required(kind)


def _bare(node: s.Expression) -> bool:
    """Whether an expression has constants only, so that its type is the context's choice."""
    match node:
        case s.Constant():
            return True
        case s.Negate():
            return _bare(node.operand)
        case s.Chain() if node.steps[0].operator in ("+", "-", "*", "/"):
            return _bare(node.first) and all(step.operand and _bare(step.operand) for step in node.steps)
        case _:
            return False


def _number(text: str) -> int:
    return s.Integer(Extent(0, 0), text).value


def _parts(text: str, shorten: bool) -> tuple[bool, str, int]:
    """Whether a number is negative, its significant digits, and how many stand after the point.

    `shorten`: zeros at the end of the fraction do not count, 12.500 is 12.5.
    """
    whole, _, fraction = text.removeprefix("-").partition(".")
    fraction = fraction.rstrip("0") if shorten else fraction
    digits = (whole + fraction).lstrip("0")
    return text.startswith("-"), digits[: _LONGEST + 1], len(fraction)


def _balanced(operator: str, operands: Sequence[m.Expr]) -> m.Expr:
    """`a && b && c …` as a shallow tree: the order of evaluation is the same, from left to right."""
    if len(operands) == 1:
        return operands[0]
    half = (len(operands) + 1) // 2
    left, right = _balanced(operator, operands[:half]), _balanced(operator, operands[half:])
    return _binary(operator, left, right, t.BOOL)


def _binary(operator: Any, left: m.Expr, right: m.Expr, kind: t.Type) -> m.Expr:
    return m.Binary(operator, left, right, kind)


def children(expr: m.Expr) -> tuple[m.Expr, ...]:
    """The operands of an expression."""
    match expr:
        case m.Unary() | m.DatePart() | m.IsNull():
            return (expr.operand,)
        case m.Binary():
            return expr.left, expr.right
        case m.In():
            return expr.item, expr.list
        case m.Exists():
            return expr.args
        case _:
            return ()


def depth(expr: m.Expr) -> int:
    """How many operators nest in an expression; counted without recursion."""
    level, deepest = [expr], 0
    while level:
        deepest += 1
        level = [child for parent in level for child in children(parent)]
    return deepest


def check_expression(
    scope: Scope,
    node: s.Expression,
    expected: t.Type | None = None,
    then: Callable[[Typed], bool] | None = None,
) -> m.Expr | None:
    """Type an expression, keep it in the unit, and give it; None where it was refused.

    `then` may refuse it further (and report why).
    """
    typer = Typer(scope)
    found = typer.value(node, expected)
    typed = Typed(found, tuple(typer.uses)) if found is not None else None
    if typed is not None and depth(typed.expr) > EXPRESSION_DEPTH:
        message = f"this expression nests {depth(typed.expr)} operators, at most {EXPRESSION_DEPTH}; split it"
        scope.unit.report.add("C020", node.at, message)
        typed = None
    if typed is not None and then is not None and not then(typed):
        typed = None
    scope.unit.typed[id(node)] = typed
    return typed.expr if typed else None
