"""Expressions: exact arithmetic that never wraps, comparison, null, early stops, long chains."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import limits
from treadle.errors import InvariantBroken
from treadle.model import contract as c
from treadle.model import types as t
from treadle.plan.entities import data_of
from treadle.plan.expressions import OutOfRange, compile_expr, walk
from treadle.plan.words import expression

Operator = Literal["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"]


def leaf(expr: c.Expr) -> Any:
    """Inputs are looked up in a mapping."""
    assert isinstance(expr, c.Input)
    return lambda frame: frame[expr.name]


def value(expr: c.Expr, **frame: Any) -> Any:
    return compile_expr(expr, leaf)(frame)


def name(text: str, kind: t.Type) -> c.Input:
    return c.Input(text, kind)


def binary(op: Operator, left: c.Expr, right: c.Expr, kind: t.Type) -> c.Binary:
    return c.Binary(op, left, right, kind)


def of_two(op: Operator, kind: t.Type, left: Any, right: Any, result: t.Type | None = None) -> Any:
    return value(binary(op, name("a", kind), name("b", kind), result or kind), a=left, b=right)


ORDER: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LARGE, SMALL = limits.I64_MAX, limits.I64_MIN
I64S = st.integers(SMALL, LARGE) | st.sampled_from([0, 1, -1, SMALL, SMALL + 1, LARGE, LARGE - 1])


def exact(op: Operator, left: int, right: int) -> int | None:
    """The mathematical result; None where there is none. Division truncates toward zero."""
    if op == "/":
        return None if right == 0 else int(Fraction(left, right))
    return {"+": left + right, "-": left - right, "*": left * right}[op]


@given(st.sampled_from(["+", "-", "*", "/"]), I64S, I64S)
def test_i64_is_exact_or_fails(op: Operator, left: int, right: int) -> None:
    expected = exact(op, left, right)
    if expected is not None and SMALL <= expected <= LARGE:
        assert of_two(op, t.I64_, left, right) == expected
    else:
        with pytest.raises(OutOfRange):
            of_two(op, t.I64_, left, right)


@pytest.mark.parametrize(
    "op, left, right",
    [
        ("+", limits.U64_MAX, 1),
        ("-", 0, 1),
        ("*", 2**32, 2**32),
        ("/", 1, 0),
    ],
)
def test_u64_never_wraps(op: Operator, left: int, right: int) -> None:
    with pytest.raises(OutOfRange):
        of_two(op, t.U64_, left, right)


def test_u64_reaches_its_ends() -> None:
    assert of_two("+", t.U64_, limits.U64_MAX - 1, 1) == limits.U64_MAX
    assert of_two("-", t.U64_, 5, 5) == 0


@pytest.mark.parametrize(
    "left, right, quotient", [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (-1, 2, 0)]
)
def test_division_truncates_toward_zero(left: int, right: int, quotient: int) -> None:
    assert of_two("/", t.I64_, left, right) == quotient


def test_the_one_quotient_that_leaves_i64() -> None:
    with pytest.raises(OutOfRange):
        of_two("/", t.I64_, SMALL, -1)


def test_negation_knows_its_range() -> None:
    negated = c.Unary("-", name("a", t.I64_), t.I64_)
    assert value(negated, a=5) == -5
    with pytest.raises(OutOfRange):
        value(negated, a=SMALL)


@pytest.mark.parametrize("kind, digits", [(t.Decimal(5, 2), 5), (t.Decimal(38, 0), 38), (t.Money("EUR"), 38)])
def test_decimals_keep_their_precision(kind: t.Type, digits: int) -> None:
    most = 10**digits - 1
    assert of_two("+", kind, most - 1, 1) == most
    assert of_two("-", kind, -most + 1, 1) == -most
    for left, right in ((most, 1), (-most, -1)):
        with pytest.raises(OutOfRange):
            of_two("+", kind, left, right)


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.integers(-3, 3), st.integers(-3, 3))
def test_order(op: Operator, left: int, right: int) -> None:
    assert of_two(op, t.I64_, left, right, t.BOOL) is ORDER[op](left, right)


def test_null_equals_only_null() -> None:
    kind = t.Optional(t.U64_)
    assert of_two("==", kind, None, None, t.BOOL) is True
    assert of_two("==", kind, None, 0, t.BOOL) is False
    assert of_two("!=", kind, None, 0, t.BOOL) is True


def test_and_and_or_stop_early() -> None:
    fails = binary(
        "==", binary("/", name("a", t.I64_), name("zero", t.I64_), t.I64_), name("a", t.I64_), t.BOOL
    )
    yes, no = c.Literal(True, t.BOOL), c.Literal(False, t.BOOL)
    assert value(binary("||", yes, fails, t.BOOL), a=1, zero=0) is True
    assert value(binary("&&", no, fails, t.BOOL), a=1, zero=0) is False
    with pytest.raises(OutOfRange):
        value(binary("||", no, fails, t.BOOL), a=1, zero=0)


def test_not_and_date_and_null_tests() -> None:
    day = 86_400_000_000
    assert value(c.Unary("!", name("a", t.BOOL), t.BOOL), a=False) is True
    date = c.DatePart(name("a", t.TIMESTAMP), t.DATE)
    assert [value(date, a=each) for each in (0, day - 1, day, -1, -day)] == [0, 0, 1, -1, -1]
    assert value(c.IsNull(name("a", t.UUID), False, t.BOOL), a=None) is True
    assert value(c.IsNull(name("a", t.UUID), True, t.BOOL), a=None) is False
    listed = c.In(name("a", t.UUID), name("b", t.List(t.UUID, 0, 9)), t.BOOL)
    assert value(listed, a=b"x", b=(b"x",)) is True
    assert value(listed, a=b"y", b=(b"x",)) is False
    assert value(listed, a=b"y", b=None) is False


def test_constants() -> None:
    assert value(c.Literal("1250", t.Decimal(6, 2))) == 1250
    assert value(c.Literal("text", t.String(9))) == "text"
    assert value(c.Variant("Color", "Red", t.Enum("Color"))) == "Red"


@pytest.mark.parametrize("length", [2, 17, 18, 5_000])
def test_a_chain_may_be_as_long_as_a_source(length: int) -> None:
    sum_: c.Expr = c.Literal(1, t.U64_)
    for _ in range(length - 1):
        sum_ = binary("+", sum_, c.Literal(1, t.U64_), t.U64_)
    assert value(sum_) == length
    assert len(walk(sum_)) == 2 * length - 1
    assert expression(sum_) == " + ".join(["1"] * length)
    either: c.Expr = name("a", t.BOOL)
    for _ in range(length - 1):
        either = binary("||", either, name("b", t.BOOL), t.BOOL)
    assert value(either, a=False, b=True) is True
    assert value(either, a=False, b=False) is False


def test_a_long_chain_still_stops_early_and_still_fails() -> None:
    chain: c.Expr = name("a", t.BOOL)
    fails = binary(
        "==", binary("/", name("n", t.I64_), name("zero", t.I64_), t.I64_), name("n", t.I64_), t.BOOL
    )
    for _ in range(30):
        chain = binary("&&", chain, fails, t.BOOL)
    assert value(chain, a=False, n=1, zero=0) is False
    with pytest.raises(OutOfRange):
        value(chain, a=True, n=1, zero=0)


def test_a_node_where_it_cannot_stand_is_an_error_of_ours() -> None:
    invariant = c.Invariant("Odd", name("a", t.BOOL))
    entity = c.Entity("E", (c.Field("k", t.UUID),), (), invariants=(invariant,))
    with pytest.raises(InvariantBroken):
        data_of(c.Contract("X", 1, "", entities=(entity,)))


@pytest.mark.parametrize(
    "expr, text",
    [
        (
            binary("*", binary("+", name("a", t.U64_), name("b", t.U64_), t.U64_), name("c", t.U64_), t.U64_),
            "(a + b) * c",
        ),
        (
            binary("-", name("a", t.U64_), binary("-", name("b", t.U64_), name("c", t.U64_), t.U64_), t.U64_),
            "a - (b - c)",
        ),
        (c.Unary("!", binary("&&", name("a", t.BOOL), name("b", t.BOOL), t.BOOL), t.BOOL), "!(a && b)"),
        (c.Literal("-1250", t.Decimal(6, 2)), "-12.50"),
        (c.Literal("5", t.Money("EUR")), "0.05"),
        (c.Literal('say "x"', t.String(9)), '"say \\"x\\""'),
        (c.Literal(None, t.Optional(t.UUID)), "null"),
        (c.TxTime(t.TIMESTAMP), "tx.time"),
        (c.BindingField("job", "pages", t.U64_), "job.pages"),
        (c.DatePart(c.TxTime(t.TIMESTAMP), t.DATE), "tx.time.date"),
        (c.IsNull(name("a", t.UUID), True, t.BOOL), "a is not null"),
    ],
)
def test_expressions_as_text(expr: c.Expr, text: str) -> None:
    assert expression(expr) == text


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_decimal_sums_agree_with_the_decimal_module(left: int, right: int) -> None:
    kind = t.Decimal(12, 2)
    exact_sum = Decimal(left).scaleb(-2) + Decimal(right).scaleb(-2)
    assert Decimal(of_two("+", kind, left, right)).scaleb(-2) == exact_sum
