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
    for a caller who does not see all rows, and so is told nothing that others' rows show."""

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


def known(place: Place) -> Iterator[q.Query]:
    """The named queries that the caller may use."""
    names = sorted(place.state.queries.stored)
    for name in place.state.roles.allowed(place.caller, names, "queries"):
        yield place.state.queries.get(name)
