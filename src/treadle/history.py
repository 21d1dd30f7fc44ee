"""The log as a person reads it: who did what, when, with which outcome, and what it wrote.

Secret fields, owners and fencing tokens are masked unless the caller is an administrator: the log is for
looking at, and lease evidence must not leak through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from treadle.engine import retained
from treadle.engine import state as states
from treadle.engine.core import Engine
from treadle.engine.state import Deployed
from treadle.errors import UnknownName
from treadle.model import canonical, record
from treadle.model.contract import Contract
from treadle.model.record import LogRecord, QuadText, RowImage
from treadle.model.showing import plain_json
from treadle.model.values import datetime_of
from treadle.ports.store import ReadTx
from treadle.rows import read_key
from treadle.text import nearest

MASK: Final = "•••"
PAGE: Final = 256


class Written(NamedTuple):
    """One row that a record wrote: `fields` after it, None for a delete; `before` the record before."""

    entity: str
    key: list[Any]
    revision: int
    before: int
    fields: dict[str, Any] | None


class GraphWritten(NamedTuple):
    """What a record changed in the graph: statements as N-Quads lines, and names of graphs."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    created: tuple[str, ...]
    dropped: tuple[str, ...]

    @classmethod
    def read(cls, data: dict[str, list[str]] | None) -> GraphWritten | None:
        """What a record in its JSON form says of the graph."""
        return None if data is None else cls(*(tuple(data[name]) for name in cls._fields))

    def about(self, iri: str) -> bool:
        """Whether a statement has this subject."""
        start = f"<{iri}> "
        return any(line.startswith(start) for line in (*self.removed, *self.added))


class Entry(NamedTuple):
    """One log record, readable. Field values are Python values; masked ones are `•••`."""

    number: int
    time: datetime
    kind: str
    name: str
    principal: str
    role: str | None
    instance: str | None
    outcome: str | None
    success: bool
    failure: str | None
    constraint: str | None
    input: dict[str, Any]
    fields: dict[str, Any]
    revisions: tuple[tuple[str, int | None, int], ...]
    rows: tuple[Written, ...]
    events: tuple[tuple[str, dict[str, Any]], ...]
    contract_version: int | None
    body: Any
    hash: str
    graph: GraphWritten | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON-ready values."""
        data: dict[str, Any] = plain_json(self._asdict())
        data["revisions"] = [
            {"binding": binding, "revision": revision} | ({} if element is None else {"element": element})
            for binding, element, revision in self.revisions
        ]
        data["rows"] = [plain_json(row._asdict()) for row in self.rows]
        data["graph"] = None if self.graph is None else plain_json(self.graph._asdict())
        data["events"] = [{"event": name, "fields": plain_json(fields)} for name, fields in self.events]
        return data


def entries(
    engine: Engine,
    first: int = 1,
    last: int | None = None,
    of: tuple[str, Sequence[Any]] | None = None,
    *,
    unmasked: bool = False,
) -> Iterator[Entry]:
    """Log entries with first <= number <= last, oldest first; with `of`, one row's, newest first.

    A row's history is followed from its newest record backward: each row image names the record that
    wrote the row before, as far as the log was not pruned. `unmasked` is for administrators.
    Raises `UnknownName` for an unknown entity.
    """
    if of is None:
        yield from _all(engine, max(1, first), last, unmasked)
    else:
        yield from _row(engine, first, last, of, unmasked)


def _all(engine: Engine, first: int, last: int | None, unmasked: bool) -> Iterator[Entry]:
    while last is None or first <= last:
        with engine.store.read() as tx:
            first = max(first, retained.floor(tx) + 1)
            end = first + PAGE - 1 if last is None else min(last, first + PAGE - 1)
            page = [_entry(_Reader(tx, unmasked), item.data, item.hash) for item in tx.log(first, end)]
        yield from page
        if len(page) < PAGE:
            return
        first += PAGE


def _row(
    engine: Engine, first: int, last: int | None, of: tuple[str, Sequence[Any]], unmasked: bool
) -> Iterator[Entry]:
    entity, values = of
    deployed = engine.refresh().require()
    table = deployed.tables.get(entity)
    if table is None:
        raise UnknownName(
            f"no entity {entity} in contract {deployed.contract.name}{nearest(entity, deployed.tables)}"
        )
    key = read_key(deployed, entity, values)
    wanted = deployed.codec.key_encoder(entity)(key)
    with engine.store.read() as tx:
        reader = _Reader(tx, unmasked)
        row = tx.rows(table, [key])[0]
        number = row.commit if row is not None else _last_write(tx, entity, wanted)
        first = max(first, retained.floor(tx) + 1)
        while number >= first:
            item = next(tx.log(number, number))
            stored = record.decode(item.data)
            change = next(
                change for change in stored.changes if (change.entity, change.key) == (entity, wanted)
            )
            if last is None or number <= last:
                yield _entry(reader, item.data, item.hash)
            number = change.before


def _last_write(tx: ReadTx, entity: str, key: bytes) -> int:
    """The last record that wrote an absent row, searched from the head: only a deleted row needs this."""
    end, floor = tx.head().number, retained.floor(tx)
    while end > floor:
        start = max(floor + 1, end - PAGE + 1)
        for item in reversed(list(tx.log(start, end))):
            changes = record.decode(item.data).changes
            if any((change.entity, change.key) == (entity, key) for change in changes):
                return item.number
        end = start - 1
    return 0


class _Reader:
    """Decodes pieces of records under the contract that each was made under, and masks."""

    def __init__(self, tx: ReadTx, unmasked: bool) -> None:
        self._unmasked = unmasked
        self.deployed = lru_cache(maxsize=8)(
            lambda identity: Deployed(states.load_contract(tx, identity), {})
        )

    def fields(self, data: bytes | None, hidden: frozenset[str]) -> dict[str, Any]:
        """A canonical record as values by name, hidden names masked at any depth."""
        if not data:
            return {}
        value = canonical.decode(data)
        fields: Any = value if self._unmasked else masked(value, hidden)
        return dict(fields)


def masked(value: Any, hidden: frozenset[str]) -> Any:
    """`value` with what these names hold, at any depth, shown as `MASK`."""
    if isinstance(value, dict):
        return {name: MASK if name in hidden else masked(item, hidden) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, hidden) for item in value]
    return value


@lru_cache(maxsize=64)
def hidden_names(contract: Contract) -> frozenset[str]:
    """Names of fields and inputs that hold secrets or lease evidence anywhere in the contract."""
    names = {field.name for entity in contract.entities for field in entity.members if field.secret}
    for workflow in contract.workflows:
        if workflow.lease is not None:
            names |= {workflow.lease.owner, workflow.lease.fencing_token}
    for command in contract.commands:
        for effect in command.effects:
            for part in ("owner", "fencing_token"):
                name = getattr(effect, part, None)
                if name is not None:
                    names.add(name)
    return frozenset(names)


def _entry(reader: _Reader, data: bytes, digest: bytes) -> Entry:
    stored = record.decode(data)
    hidden: frozenset[str] = frozenset()
    if stored.contract is not None:
        hidden = hidden_names(reader.deployed(stored.contract.hex()).contract)
    return Entry(
        number=stored.number,
        time=datetime_of(stored.time),
        kind=stored.kind,
        name=stored.name,
        principal=stored.principal,
        role=stored.role,
        instance=stored.actor_instance,
        outcome=stored.outcome,
        success=stored.success,
        failure=stored.failure,
        constraint=stored.constraint,
        input=reader.fields(stored.input, hidden),
        fields=reader.fields(stored.fields, hidden),
        revisions=tuple((item.binding, item.element, item.revision) for item in stored.revisions),
        rows=tuple(_written(reader, change, hidden) for change in stored.changes),
        events=tuple((event.name, reader.fields(event.fields, hidden)) for event in stored.events),
        contract_version=stored.contract_version,
        body=canonical.decode(stored.body) if stored.body else None,
        hash=digest.hex(),
        graph=_graph(stored),
    )


def _graph(stored: LogRecord) -> GraphWritten | None:
    if not (stored.quads_removed or stored.quads_added or stored.graphs_created or stored.graphs_dropped):
        return None
    removed, added = (tuple(map(_line, quads)) for quads in (stored.quads_removed, stored.quads_added))
    return GraphWritten(removed, added, stored.graphs_created, stored.graphs_dropped)


def _line(quad: QuadText) -> str:
    return " ".join((*filter(None, quad), "."))


def _key(data: bytes) -> list[Any]:
    value = canonical.decode(data)
    return value if isinstance(value, list) else [value]


def _written(reader: _Reader, change: RowImage, hidden: frozenset[str]) -> Written:
    fields = None if change.image is None else reader.fields(change.image, hidden)
    return Written(change.entity, _key(change.key), change.revision, change.before, fields)


__all__ = ["MASK", "Entry", "GraphWritten", "Written", "entries", "hidden_names", "masked"]
