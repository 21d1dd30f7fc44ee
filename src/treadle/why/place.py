"""What reasons are looked for in: one row, who asks, and what the log says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.state import State
from treadle.model import query as q
from treadle.model.facts import Row
from treadle.plan.entities import EntityPlan
from treadle.why.tail import Asked, Tail


class Place(NamedTuple):
    """Where reasons are looked for. `last` is the last revision of a row that is gone; `restricted` is true
    for a caller who does not see all rows, and so is told nothing that others' rows show. `clock` is the
    machine's, behind `now` where the last commit is ahead of it; the log has the records after `floor`."""

    engine: Engine
    caller: Caller
    state: State
    plan: EntityPlan
    row: Row | None
    now: int
    last: int
    tail: Tail
    asked: Asked
    restricted: bool
    clock: int
    floor: int


def known(place: Place) -> Iterator[q.Query]:
    """The named queries that the caller may use."""
    names = sorted(place.state.queries.stored)
    for name in place.state.roles.allowed(place.caller, names, "queries"):
        yield place.state.queries.get(name)


def lists(place: Place) -> bool:
    """Whether the caller may learn which rows there are: from a named query that lists them, or the log."""
    if place.state.roles.permits(place.caller, "audit"):
        return True
    rows = [(query, query.rows) for query in known(place)]
    return any(
        isinstance(member.value, q.ShapeResult)
        and query.statement(member.value.row).entity == place.plan.name
        for query, member in rows
        if member is not None
    )
