"""What can be written inside a transaction: each method is a few statements, each for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treadle.errors import check
from treadle.model.facts import Key, RowChange, UniqueRef
from treadle.model.packing import pack
from treadle.ports.store import Head, LogEntry, QuadText, StoredEvent, Table
from treadle.store.handle import check_built, check_follows, check_successor
from treadle.store.postgres.reads import PostgresRead, checksum
from treadle.store.postgres.relations import Shared
from treadle.store.postgres.schema import Opening
from treadle.store.postgres.sessions import Session
from treadle.store.postgres.statements import TableStatements, alteration, definition, drop_index
from treadle.store.postgres.texts import hashed, place_of
from treadle.store.postgres.views import drop_view, view_definition


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows as one list for each column."""
    return [list(column) for column in zip(*rows, strict=True)]


class PostgresWrite(PostgresRead):
    """The write transaction of a PostgreSQL database."""

    __slots__ = ("_commit",)

    def __init__(
        self, session: Session, shared: Shared, opening: Opening, commit: Callable[[], None]
    ) -> None:
        super().__init__(session, shared, opening)
        self._commit = commit

    def _run(self, text: str, values: Sequence[Any], count: int, complaint: str) -> None:
        """Run a statement that must change exactly `count` rows."""
        check(self._session.changed(text, values) == count, complaint)

    def write_rows(self, table: Table, changes: Sequence[RowChange], commit: Sequence[int]) -> None:
        self._check_open()
        statements = self._names.statements(table)
        inserted: list[tuple[RowChange, int]] = []
        updated: list[tuple[RowChange, int]] = []
        deleted: list[Key] = []
        for change, number in zip(changes, commit, strict=True):
            if change.cells is None:
                if change.before is not None:
                    deleted.append(change.key)
            else:
                (inserted if change.before is None else updated).append((change, number))
        if updated:
            values = _images(statements, updated)
            self._run(statements.update, values, len(updated), "an updated row is there")
        if deleted:
            keys = statements.key_codec.arrays(deleted)
            self._run(statements.delete, keys, len(deleted), "a deleted row is there")
        if inserted:
            values = _images(statements, inserted)
            self._run(statements.insert, values, len(inserted), "an inserted row is new")
        if table.tombstones:
            self._bury(table, changes)

    def _bury(self, table: Table, changes: Sequence[RowChange]) -> None:
        """Keep the last revisions of deleted rows, and drop those of keys that have a row again."""
        gone = {pack(change.key): str(change.revision) for change in changes if change.cells is None}
        back = [pack(change.key) for change in changes if change.cells is not None and change.before is None]
        if gone:
            self._session.changed(self._texts.bury, [table.name, list(gone), list(gone.values())])
        if back:
            self._session.changed(self._texts.unbury, [table.name, back])

    def write_uniques(self, released: Sequence[UniqueRef], taken: Sequence[tuple[UniqueRef, Key]]) -> None:
        if released:
            rows = [(entity, name, place_of(pack(values))) for entity, name, values in released]
            self._session.changed(self._texts.release, _columns(rows))
        if taken:
            entries = [(entity, name, pack(values), pack(key)) for (entity, name, values), key in taken]
            placed = [(entity, name, place_of(entry), entry, key) for entity, name, entry, key in entries]
            self._run(self._texts.take, _columns(placed), len(placed), "a unique entry is taken once")

    def append_log(self, entries: Sequence[LogEntry]) -> None:
        check_follows(self.head(), entries)
        if entries:
            self._session.changed(self._texts.append, _columns(entries))
            self._opening = self._opening._replace(head=Head(*entries[-1][:3]))

    def drop_log(self, last: int, limit: int) -> int:
        return int(self._session.changed(self._texts.drop_log, [last, limit]))

    def write_receipts(self, receipts: Sequence[tuple[bytes, int]]) -> None:
        # In the order of their places in the tree, neighbours share a page that is at hand.
        bound = sorted(receipt for receipt in receipts if receipt[1] >= 0)
        pruned = {identity: number for identity, number in receipts if number < 0}
        if bound:
            complaint = "an idempotency identity is bound once"
            self._run(self._texts.bind, _columns(bound), len(bound), complaint)
        if pruned:
            self._session.changed(self._texts.prune, [list(pruned), list(pruned.values())])

    def drop_stubs(self, last: int, limit: int) -> tuple[int, int]:
        # The last one that goes, and whether another one stays.
        ends = [number for (number,) in self._session.rows(self._texts.stub_ends, [last, limit - 1])]
        through = ends[0] if len(ends) == 2 else last
        return self._session.changed(self._texts.drop_stubs, [through]), through

    def append_events(self, events: Sequence[StoredEvent]) -> None:
        if events:
            self._session.changed(self._texts.emit, _columns(events))

    def remove_events(self, events: Sequence[StoredEvent]) -> None:
        if events:
            rows = [(event.name, event.number, event.ordinal) for event in events]
            self._session.changed(self._texts.unemit, _columns(rows))

    def write_entries(self, space: str, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        # The last change of a key counts; then the order between keys does not matter.
        final = dict(changes)
        gone = [key for key, value in final.items() if value is None]
        put = [(key, value, checksum(key, value)) for key, value in final.items() if value is not None]
        if gone:
            self._session.changed(self._texts.leave, [space, gone])
        if put:
            self._session.changed(self._texts.enter, [space, *_columns(put)])

    def put_setting(self, name: str, value: bytes | None) -> None:
        if value is None:
            self._session.changed(self._texts.drop, [name])
        else:
            self._session.changed(self._texts.put, [name, value, checksum(name.encode(), value)])

    # Tables.

    def _define(self, statements: Sequence[str]) -> None:
        self._session.script("; ".join(statements))

    def create_table(self, table: Table, *, hidden: bool = False) -> None:
        self._check_open()
        relation = self._names.give(table)
        self._define(definition(self._shared.schema, table, relation, hidden=hidden))

    def alter_table(self, before: Table, after: Table) -> None:
        self._check_open()
        check_successor(before, after)
        self._define(alteration(self._shared.schema, before, after, self._names.relation(before)))

    def replace_table(self, before: Table, built: Table, after: Table) -> None:
        self._check_open()
        check_built(before, built, after)
        schema = self._shared.schema
        relation = self._names.move(built, after)
        gone = [spec for spec in built.indexes if spec not in after.indexes]
        self._define(
            [
                drop_view(schema, before),
                *(drop_index(schema, relation, spec) for spec in gone),
                view_definition(schema, after, relation),
            ]
        )

    def drop_table(self, table: Table) -> None:
        self._check_open()
        self._names.forget(table)
        self._define([drop_view(self._shared.schema, table)])

    def drop_uniques(self, entity: str, name: str, limit: int) -> int:
        return int(self._session.changed(self._texts.clear, [entity, name, limit]))

    # The graph.

    def write_quads(self, removed: Sequence[QuadText], added: Sequence[QuadText]) -> None:
        if removed:
            self._session.changed(self._texts.remove_quads, [[hashed(quad) for quad in removed]])
        if added:
            rows = [(hashed(quad), *quad) for quad in added]
            self._session.changed(self._texts.add_quads, _columns(rows))

    def write_graphs(self, removed: Sequence[str], added: Sequence[str]) -> None:
        if removed:
            self._session.changed(self._texts.remove_graphs, [[hashed((name,)) for name in removed]])
        if added:
            rows = [(hashed((name,)), name) for name in added]
            self._session.changed(self._texts.add_graphs, _columns(rows))

    def raise_format(self, version: int) -> None:
        self._session.changed(self._texts.raise_format, [version])

    def commit(self) -> None:
        self._check_open()
        self._commit()


def _images(statements: TableStatements, changes: Sequence[tuple[RowChange, int]]) -> list[list[Any]]:
    """What is bound for the new images of rows: cells, revisions, commits."""
    cells = [change.cells for change, _ in changes if change.cells is not None]
    arrays = statements.codec.arrays(cells)
    return [
        *arrays,
        [str(change.revision) for change, _ in changes],
        [number for _, number in changes],
    ]
