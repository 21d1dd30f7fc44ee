"""What is asked of the rows of an index range: filters, and aggregates of the rows that pass.

Pure, over cells by position. Stores say the same in their own words; this is what the words have to mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from typing import Literal as OneOf

from treadle.model.facts import Cell, Cells

FilterOp: TypeAlias = OneOf["==", "!=", "<", "<=", ">", ">=", "in", "prefix", "is null", "is not null"]
FoldOp: TypeAlias = OneOf["count", "sum", "min", "max", "any", "all"]
Holds: TypeAlias = Callable[[Cells], bool]


class Filter(NamedTuple):
    """`cell op value` at a position of the row. For `in`, `value` is a tuple of cells that are not None.

    `==` and `!=` take None as a value like others; an order or a prefix holds for nothing that is None.
    """

    position: int
    op: FilterOp
    value: Any = None


class Fold(NamedTuple):
    """One aggregate: of the cells at `position`, or of the rows for which `filters` hold (any, all).

    count is the number of rows, sum an exact integer (0 for none), min and max None for none; cells that
    are None do not count for sum, min and max. any is false and all true for no rows.
    """

    op: FoldOp
    position: int | None = None
    filters: tuple[Filter, ...] = ()


def holds(filters: Sequence[Filter]) -> Holds:
    """Whether a row passes all of these filters."""
    tests = [_test(one) for one in filters]
    if not tests:
        return lambda cells: True
    if len(tests) == 1:
        return tests[0]
    return lambda cells: all(test(cells) for test in tests)


def _test(one: Filter) -> Holds:
    position, op, value = one
    if op in ("==", "is null"):
        return lambda cells: bool(cells[position] == value)
    if op in ("!=", "is not null"):
        return lambda cells: bool(cells[position] != value)
    if op == "in":
        entries = frozenset(value)
        return lambda cells: cells[position] in entries
    if value is None:
        return lambda cells: False
    compare = _ORDERS[op]
    return lambda cells: cells[position] is not None and compare(cells[position], value)


_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": lambda cell, value: bool(cell < value),
    "<=": lambda cell, value: bool(cell <= value),
    ">": lambda cell, value: bool(cell > value),
    ">=": lambda cell, value: bool(cell >= value),
    "prefix": lambda cell, value: bool(cell.startswith(value)),
}


def after_prefix(text: str) -> str | None:
    """The least text that is greater than every text with this prefix; None where there is none.

    Texts are ordered by their UTF-8 bytes, which is the order of their code points.
    """
    while text:
        last = ord(text[-1])
        if last < 0x10FFFF:
            return text[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        text = text[:-1]
    return None


def sort_key(cells: Sequence[Cell]) -> tuple[tuple[bool, Any], ...]:
    """A key by which tuples of cells sort as in an index: None first."""
    return tuple((cell is not None, cell) for cell in cells)


# Aggregates.


def empty(fold: Fold) -> Cell:
    """The aggregate of no rows."""
    return _EMPTY[fold.op]


_EMPTY: Final[dict[str, Cell]] = {
    "count": 0,
    "sum": 0,
    "min": None,
    "max": None,
    "any": False,
    "all": True,
}


def combined(fold: Fold, left: Cell, right: Cell) -> Cell:
    """The aggregate of two sets of rows together, from each one's."""
    if fold.op in ("count", "sum"):
        return left + right
    if fold.op == "any":
        return left or right
    if fold.op == "all":
        return left and right
    if left is None or right is None:
        return right if left is None else left
    return min(left, right) if fold.op == "min" else max(left, right)


def _step(fold: Fold) -> Callable[[Cell, Cells], Cell]:
    """The aggregate with one more row."""
    if fold.op == "count":
        return lambda value, cells: value + 1
    if fold.op in ("any", "all"):
        test = holds(fold.filters)
        return lambda value, cells: combined(fold, value, test(cells))
    position = fold.position if fold.position is not None else -1

    def step(value: Cell, cells: Cells) -> Cell:
        cell = cells[position]
        return value if cell is None else combined(fold, value, cell)

    return step


def folded(
    rows: Iterable[Cells], group: Sequence[int], folds: Sequence[Fold], groups: int
) -> list[tuple[Cells, list[Cell]]]:
    """The first `groups` groups of rows, by the cells at the positions `group`, each with its aggregates.

    The rows of a group follow one another. Without positions there is one group, also of no rows.
    """
    steps = [_step(fold) for fold in folds]
    found: list[tuple[Cells, list[Cell]]] = []
    if not group:
        found.append(((), [empty(fold) for fold in folds]))
    for cells in rows:
        key = tuple(cells[position] for position in group)
        if not found or found[-1][0] != key:
            if len(found) == groups:
                break
            found.append((key, [empty(fold) for fold in folds]))
        values = found[-1][1]
        for place, step in enumerate(steps):
            values[place] = step(values[place], cells)
    return found
