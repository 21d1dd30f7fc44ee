"""Counting a workflow's rows in one statement (see `treadle.ports.tallies`)."""

from __future__ import annotations

from typing import Any

from treadle.ports.store import Table
from treadle.ports.tallies import FREE, HELD, LAPSED, Places, Tally
from treadle.store.sqlite.statements import COMMIT
from treadle.store.sqlite.views import quoted


def tally(connection: Any, table: Table, places: Places, now: int) -> list[Tally]:
    """The rows of a table by state and hold at the time `now`."""
    state = quoted(table.columns[places.state].name)
    hold, until = str(FREE), "NULL"
    if places.owner is not None and places.until is not None:
        owner, until = (quoted(table.columns[place].name) for place in (places.owner, places.until))
        hold = (
            f"CASE WHEN {owner} IS NULL OR {until} IS NULL THEN {FREE} "
            f"WHEN {until} > {now:d} THEN {HELD} ELSE {LAPSED} END"
        )
    text = (
        f"SELECT {state}, {hold} AS hold, count(*), min({COMMIT}), min({until}) "
        f"FROM {quoted(table.name)} GROUP BY 1, 2"
    )
    return [
        Tally(state, hold, count, commit, until if hold else None)
        for state, hold, count, commit, until in connection.execute(text)
    ]
