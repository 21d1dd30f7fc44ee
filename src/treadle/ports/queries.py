"""What named queries ask of a store: ranges of one index, in its order.

A store's transactions have these two methods beside those of `treadle.ports.store`. Nothing else is asked:
no sorting, no joining, no scanning of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from treadle.model.facts import Cell, Cells, Row
from treadle.model.ranges import Filter, Fold
from treadle.ports.store import IndexSpec, ReadTx, Table


class Edge(NamedTuple):
    """One end of a range. `closed`: the value itself belongs to it. The value is never None."""

    value: Cell
    closed: bool


class Walk(NamedTuple):
    """A range of an index of `table`, or of its key (`along` None), read from one end to the other.

    An index holds its declared fields and then what is missing of the key; absent optionals come first.
    The leading fields equal `fixed` (None too). The field after them lies between `lower` and `upper`;
    with an edge, or where `present`, it is not None. Rows come in the order of the remaining fields, or the
    other way round if `descending`. `filters` are asked of each row.
    """

    table: Table
    along: IndexSpec | None
    fixed: Cells = ()
    lower: Edge | None = None
    upper: Edge | None = None
    present: bool = False
    descending: bool = False
    filters: tuple[Filter, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        """The positions of all fields of the index, the key's at the end: what rows are ordered by."""
        key = range(self.table.key_count)
        if self.along is None:
            return tuple(key)
        return (*self.along.positions, *(place for place in key if place not in self.along.positions))


class Group(NamedTuple):
    """Aggregates of one group: the cells that its rows share, and the value of each fold."""

    key: Cells
    values: Sequence[Cell]


class QueryTx(ReadTx, Protocol):
    """A snapshot that can be queried."""

    def walk(self, walk: Walk, budget: int, hits: int) -> Iterator[tuple[bool, Row]]:
        """The rows of the range that pass the filters, in order, each as (True, row).

        After looking at `budget` entries of the index it gives (False, the last row it looked at) and ends,
        so that nobody waits for a long range in which nothing passes. The caller reads at most `hits` rows
        that pass. Rows are fetched as they are asked for.
        """

    def summarise(
        self, walk: Walk, group: Sequence[int], folds: Sequence[Fold], budget: int, groups: int
    ) -> list[Group]:
        """The aggregates of the rows that pass the filters, for the first `groups` groups in order.

        `group` are positions of the fields after the fixed ones, in the index's order; without any there is
        one group, also of no rows. Raises `TooLarge` if the range has more than `budget` entries.
        """


def too_many(budget: int) -> str:
    """The message of `TooLarge` from `summarise`."""
    return f"an aggregate reads at most {budget:,} rows, and this one would read more; narrow its conditions"
