"""The next moment at which something may become due: where a test's clock stops on its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treadle.engine.acts import scan
from treadle.engine.core import Engine
from treadle.model.types import TIMESTAMP, Optional
from treadle.ports.store import ReadTx
from treadle.streams.ledger import Ledger, headers

_BOTH: Final = (TIMESTAMP, Optional(TIMESTAMP))


def next_stored(engine: Engine, now: int) -> int | None:
    """The earliest time after `now`, in microseconds, that the database itself names.

    That is a timestamp in any row (when a lease ends, when a job is due, whatever a contract calls it), or
    the moment at which a consumer gets an event again.
    """
    with engine.store.read() as tx:
        named = (*_of_rows(engine, tx), *_of_consumers(tx))
        return min((moment for moment in named if moment > now), default=None)


def _of_rows(engine: Engine, tx: ReadTx) -> Iterator[int]:
    deployed = engine.refresh().deployed
    if deployed is None:
        return
    for name, table in deployed.tables.items():
        members = deployed.plan.entities[name].members
        places = [place for place, field in enumerate(members) if field.type in _BOTH]
        for row in scan(tx, table) if places else ():
            yield from (row.cells[place] for place in places if row.cells[place] is not None)


def _of_consumers(tx: ReadTx) -> Iterator[int]:
    for header in headers(tx):
        due = Ledger.first_due(tx, header)
        if due is not None:
            yield due
