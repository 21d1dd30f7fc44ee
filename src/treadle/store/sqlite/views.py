"""One readable view for each entity table: uuids, times and decimals as text, for people and their tools.

The views use nothing but what SQLite 3.40 has, so any tool of that age or younger can read them.
"""

from __future__ import annotations

from typing import Final

from treadle.model.types import (
    MONEY_SCALE,
    U64,
    Date,
    Decimal,
    Money,
    Optional,
    Timestamp,
    Type,
    Uuid,
    required,
)
from treadle.ports.store import Column, Table

_LIMB: Final = 1_000_000_000
_LIMB_DIGITS: Final = 9
_LIMBS: Final = 5
_HEX_DIGITS: Final = 32
_MOST_DECIMALS: Final = 250
"""SQLite bounds the subqueries of a view, and a decimal takes one; those past this stand as stored."""


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def view_name(table: Table) -> str:
    """The name of a table's readable view; no entity's name begins so."""
    return f"treadle_view_{table.name}"


def _uuid(cell: str) -> str:
    digits = f"lower(hex({cell}))"
    groups = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    return " || '-' || ".join(f"substr({digits}, {start}, {size})" for start, size in groups)


def _timestamp(cell: str) -> str:
    rest = f"(({cell} % 1000000 + 1000000) % 1000000)"
    seconds = f"(({cell} - {rest}) / 1000000)"
    return f"strftime('%Y-%m-%dT%H:%M:%S', {seconds}, 'unixepoch') || printf('.%06dZ', {rest})"


def _date(cell: str) -> str:
    return f"date({cell} * 86400, 'unixepoch')"


def _digit(cell: str, at: str) -> str:
    """The hexadecimal digit at a place from 0, of the size of a number that is stored plus 2^127.

    The first digit says the sign. A negative number's size is the complement of its digits, plus one.
    """
    digit = f"instr('123456789ABCDEF', substr(hex({cell}), {at} + 1, 1))"
    return (
        f"CASE WHEN hex({cell}) < '8' THEN CASE {at} WHEN 0 THEN 7 WHEN 31 THEN 16 ELSE 15 END - {digit} "
        f"ELSE {digit} - CASE {at} WHEN 0 THEN 8 ELSE 0 END END"
    )


def _limbs(cell: str) -> str:
    """A table treadle_n: the row i = 32 has in l0 to l4 the limbs (base 10^9, lowest first) of |cell|.

    Digit by digit (d is the next) the number so far is multiplied by 16 and the digit added.
    """
    names = [f"l{limb}" for limb in range(_LIMBS)]
    carried = "d"
    steps = []
    for name in names:
        grown = f"({name} * 16 + {carried})"
        steps.append(f"{grown} % {_LIMB}")
        carried = f"{grown} / {_LIMB}"
    return (
        f"WITH RECURSIVE treadle_n(i, d, {', '.join(names)}) AS ("
        f"SELECT 0, {_digit(cell, '0')}{', 0' * _LIMBS} UNION ALL "
        f"SELECT i + 1, {_digit(cell, '(i + 1)')}, {', '.join(steps)} FROM treadle_n WHERE i < {_HEX_DIGITS})"
    )


def _decimal(cell: str, scale: int) -> str:
    """The number with `scale` digits after the point."""
    total = _LIMBS * _LIMB_DIGITS
    limbs = ", ".join(f"l{limb}" for limb in reversed(range(_LIMBS)))
    padded = f"printf('{'%09d' * _LIMBS}', {limbs})"
    whole = f"ltrim(substr({padded}, 1, {total - scale}), '0')"
    fraction = f" || '.' || substr({padded}, {total - scale + 1})" if scale else ""
    sign = f"CASE WHEN hex({cell}) < '8' THEN '-' ELSE '' END"
    number = f"{sign} || CASE {whole} WHEN '' THEN '0' ELSE {whole} END{fraction}"
    return f"({_limbs(cell)} SELECT {number} FROM treadle_n WHERE i = {_HEX_DIGITS})"


def _text(kind: Type, cell: str) -> str | None:
    """The expression that shows a present cell to people, or None where it can stand as it is."""
    if isinstance(kind, U64):
        return f"CASE typeof({cell}) WHEN 'text' THEN ltrim({cell}, '0') ELSE {cell} END"
    if isinstance(kind, Uuid):
        return _uuid(cell)
    if isinstance(kind, Timestamp):
        return _timestamp(cell)
    if isinstance(kind, Date):
        return _date(cell)
    if isinstance(kind, Decimal | Money):
        return _decimal(cell, kind.scale if isinstance(kind, Decimal) else MONEY_SCALE)
    return None


def _shown(table: Table, column: Column) -> str:
    # The table's name stands before the column's, lest a column be called like something in the expression.
    cell = f"{quoted(table.name)}.{quoted(column.name)}"
    text = _text(required(column.type), cell)
    if text is None:
        return cell
    if isinstance(column.type, Optional):
        text = f"CASE WHEN {cell} IS NOT NULL THEN {text} END"
    return f"{text} AS {quoted(column.name)}"


def view_definition(table: Table) -> str:
    """The statement that creates the readable view."""
    decimals = [column for column in table.columns if isinstance(required(column.type), Decimal | Money)]
    plain = set(decimals[_MOST_DECIMALS:])
    columns = [
        f"{quoted(table.name)}.{quoted(column.name)}" if column in plain else _shown(table, column)
        for column in table.columns
    ]
    columns += ["treadle_revision", "treadle_commit"]
    return f"CREATE VIEW {quoted(view_name(table))} AS SELECT {', '.join(columns)} FROM {quoted(table.name)}"
