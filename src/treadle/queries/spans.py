"""From conditions, an order and a cursor to ranges of one index.

`in` on a leading field makes a strand for each of its values; strands are merged by the order. Going on
after a place makes, within a strand, one range for each field of the order: the rows that are equal up to
a field and beyond it there. Every range fixes leading fields and bounds the next one, so each is one seek.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from treadle.model.facts import Cell, Cells
from treadle.model.ranges import Filter, after_prefix, sort_key
from treadle.model.types import Optional
from treadle.ports.queries import Edge, Walk


class Bounds(NamedTuple):
    """What the conditions say of the first field that is not fixed."""

    lower: Edge | None = None
    upper: Edge | None = None
    present: bool = False

    @property
    def free(self) -> bool:
        return self.lower is None and self.upper is None and not self.present

    def hold(self, cell: Cell) -> bool:
        """Whether a cell lies between the edges."""
        if cell is None:
            return self.free
        low, high = self.lower, self.upper
        above = low is None or cell > low.value or (low.closed and cell == low.value)
        below = high is None or cell < high.value or (high.closed and cell == high.value)
        return bool(above and below)

    def above(self, edge: Edge) -> Bounds:
        """Narrower: nothing below `edge`."""
        low = self.lower
        narrower = low is None or edge.value > low.value or (edge.value == low.value and not edge.closed)
        return self._replace(lower=edge, present=True) if narrower else self

    def below(self, edge: Edge) -> Bounds:
        """Narrower: nothing above `edge`."""
        high = self.upper
        narrower = high is None or edge.value < high.value or (edge.value == high.value and not edge.closed)
        return self._replace(upper=edge, present=True) if narrower else self

    def asking(self, one: Filter) -> Bounds:
        """Narrower by an order or a prefix."""
        if one.op == "prefix":
            end = after_prefix(one.value)
            bounds = self.above(Edge(one.value, True))
            return bounds if end is None else bounds.below(Edge(end, False))
        edge = Edge(one.value, one.op in ("<=", ">="))
        return self.below(edge) if one.op in ("<", "<=") else self.above(edge)


class Strand(NamedTuple):
    """One choice of the fixed fields: a walk of all its rows, and its fixed cells by position."""

    walk: Walk
    known: Mapping[int, Cell]


def strands(walk: Walk, fixed: Sequence[Cells]) -> Iterator[Strand]:
    """The strands of a walk whose leading fields may each have several values."""
    choices = [sorted(set(cells), key=lambda cell: sort_key((cell,))) for cells in fixed]
    columns = walk.columns
    for cells in itertools.product(*choices):
        yield Strand(walk._replace(fixed=cells), dict(zip(columns, cells, strict=False)))


def ranges(strand: Strand, bounds: Bounds, order: Sequence[int], after: Cells | None) -> Iterator[Walk]:
    """The ranges of a strand in order: all of it, or what comes after a place in the order."""
    if after is None:
        yield from _split(strand.walk, bounds)
        return
    for place in range(len(order) - 1, -1, -1):
        yield from _beyond(strand, bounds, order, after, place)


def _split(walk: Walk, bounds: Bounds) -> Iterator[Walk]:
    """A range with bounds. Where nothing else leads to a place in the index, absent values come apart."""
    columns = walk.columns
    ranged = walk._replace(lower=bounds.lower, upper=bounds.upper, present=bounds.present)
    if len(walk.fixed) == len(columns):
        yield walk
    elif walk.fixed or not bounds.free:
        yield ranged
    elif not isinstance(walk.table.columns[columns[0]].type, Optional):
        yield walk._replace(present=True)
    else:
        parts = [walk._replace(fixed=(None,)), walk._replace(present=True)]
        yield from reversed(parts) if walk.descending else parts


def _beyond(strand: Strand, bounds: Bounds, order: Sequence[int], after: Cells, place: int) -> Iterator[Walk]:
    """The rows that equal `after` in the fields before `place` and lie beyond it there."""
    walk = strand.walk
    equal = list(walk.fixed)
    for position, cell in zip(order[:place], after, strict=False):
        if position not in strand.known:
            if len(equal) == len(walk.fixed) and not bounds.hold(cell):
                return
            equal.append(cell)
        elif strand.known[position] != cell:
            return
    position, cell = order[place], after[place]
    narrowed = walk._replace(fixed=tuple(equal))
    inner = bounds if len(equal) == len(walk.fixed) else Bounds()
    if position in strand.known:
        own, there = sort_key((strand.known[position],)), sort_key((cell,))
        if own < there if walk.descending else own > there:
            yield from _split(narrowed, inner)
    elif not walk.descending:
        beyond = inner._replace(present=True) if cell is None else inner.above(Edge(cell, False))
        yield from _split(narrowed, beyond)
    elif cell is not None:
        yield from _split(narrowed, inner.below(Edge(cell, False)))
        if inner.free and isinstance(walk.table.columns[position].type, Optional):
            yield narrowed._replace(fixed=(*equal, None))
