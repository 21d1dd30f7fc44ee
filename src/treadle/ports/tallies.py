"""Counting a workflow's rows: what a store may offer beside `treadle.ports.store`, for metrics.

A store whose snapshots have `tally` counts in one statement; of any other the rows are read and counted.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from treadle.model.facts import Cell
from treadle.ports.store import ReadTx, Table

FREE, HELD, LAPSED = 0, 1, 2


class Tally(NamedTuple):
    """`rows` rows of one state and hold, the first record that wrote one, the first lease that ends.

    `hold` is `FREE` (nobody's), `HELD` (a lease that lasts) or `LAPSED` (one whose time is over).
    """

    state: Cell
    hold: int
    rows: int
    commit: int
    until: int | None


class Places(NamedTuple):
    """Positions in a row: the state, and of a lease the owner and the end; None without a lease."""

    state: int
    owner: int | None = None
    until: int | None = None


@runtime_checkable
class Tallies(Protocol):
    """A snapshot that counts by itself."""

    def tally(self, table: Table, places: Places, now: int) -> list[Tally]:
        """The rows of a table by state and hold at the time `now`, in microseconds."""


def counted(tx: ReadTx, table: Table, places: Places, now: int, page: int = 1_000) -> list[Tally]:
    """The rows of a table by state and hold, by the store or else by reading them all."""
    if isinstance(tx, Tallies):
        return tx.tally(table, places, now)
    found: dict[tuple[Cell, int], Tally] = {}
    after = None
    while rows := tx.scan(table, after, page):
        for row in rows:
            until = None if places.until is None else row.cells[places.until]
            owned = places.owner is not None and row.cells[places.owner] is not None
            hold = FREE if not owned or until is None else HELD if until > now else LAPSED
            key = (row.cells[places.state], hold)
            add(found, key, row.commit, until if hold else None)
        after = rows[-1].cells[: table.key_count]
    return list(found.values())


def add(found: dict[tuple[Cell, int], Tally], key: tuple[Cell, int], commit: int, until: int | None) -> None:
    """Count one row more."""
    known = found.get(key)
    if known is None:
        found[key] = Tally(*key, 1, commit, until)
        return
    first = known.until if until is None else until if known.until is None else min(until, known.until)
    found[key] = known._replace(rows=known.rows + 1, commit=min(commit, known.commit), until=first)
