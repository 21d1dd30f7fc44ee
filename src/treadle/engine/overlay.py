"""The rows of a batch: what the store held, with what the batch's earlier commands did on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.model.facts import Access, Key, Range, Row, RowChange, RowRef, UniqueRef, Verdict
from treadle.ports.store import Table, WriteTx


class Overlay:
    """The `View` that commands are evaluated over, for the length of one write transaction.

    `want` collects what commands will touch, `load` fetches all of it with a few statements, `apply`
    lets later commands see an earlier one's changes, `flush` writes the final images.
    """

    def __init__(self, tx: WriteTx, tables: Mapping[str, Table]) -> None:
        self._tx = tx
        self._tables = tables
        self._rows: dict[RowRef, Row | None] = {}
        self._revisions: dict[RowRef, int] = {}
        self._holders: dict[UniqueRef, Key | None] = {}
        self._stored: dict[RowRef, Row | None] = {}
        self._stored_holders: dict[UniqueRef, Key | None] = {}
        self._wanted: dict[str, dict[Key, None]] = {}
        self._wanted_uniques: dict[UniqueRef, None] = {}

    def want(self, access: Access) -> None:
        """Note what a command may touch."""
        for entity, key in access.rows:
            keys = self._wanted.get(entity)
            if keys is None:
                keys = self._wanted[entity] = {}
            keys[key] = None
        for unique in access.uniques:
            self._wanted_uniques[unique] = None

    def load(self) -> None:
        """Fetch everything wanted and not yet here."""
        rows = self._rows
        for entity, wanted in self._wanted.items():
            keys = [key for key in wanted if (entity, key) not in rows]
            if keys:
                self._load_rows(entity, keys)
        self._wanted = {}
        uniques = [unique for unique in self._wanted_uniques if unique not in self._holders]
        if uniques:
            self._holders.update(zip(uniques, self._tx.holders(uniques), strict=True))
        self._wanted_uniques = {}

    def _load_rows(self, entity: str, keys: list[Key]) -> None:
        table = self._tables[entity]
        absent = []
        for key, row in zip(keys, self._tx.rows(table, keys), strict=True):
            self._rows[entity, key] = row
            if row is None:
                absent.append(key)
        if absent and table.tombstones:
            for key, revision in zip(absent, self._tx.last_revisions(table, absent), strict=True):
                self._revisions[entity, key] = revision

    def row(self, entity: str, key: Key) -> Row | None:
        ref = (entity, key)
        try:
            return self._rows[ref]
        except KeyError:
            self._load_rows(entity, [key])
            return self._rows[ref]

    def last_revision(self, entity: str, key: Key) -> int:
        return self._revisions.get((entity, key), 0)

    def holder(self, unique: UniqueRef) -> Key | None:
        if unique not in self._holders:
            self._holders[unique] = self._tx.holders([unique])[0]
        return self._holders[unique]

    def probe(self, range_: Range) -> Sequence[Key]:
        self.flush()
        return self._tx.probe(self._tables[range_.entity], range_)

    def apply(self, verdict: Verdict, number: int) -> None:
        """Take over what a command decided, as log record `number`."""
        for change in verdict.changes:
            ref = (change.entity, change.key)
            self._stored.setdefault(ref, self._rows.get(ref, change.before))
            if change.cells is None:
                self._rows[ref] = None
                self._revisions[ref] = change.revision
            else:
                self._rows[ref] = Row(change.revision, change.cells, number)
        for unique in verdict.released:
            self._hold(unique, None)
        for unique, key in verdict.taken:
            self._hold(unique, key)

    def _hold(self, unique: UniqueRef, key: Key | None) -> None:
        before = self.holder(unique)
        self._stored_holders.setdefault(unique, before)
        self._holders[unique] = key

    def flush(self) -> None:
        """Write the final images into the transaction; what is here then equals what is stored."""
        if self._stored:
            self._flush_rows()
        if self._stored_holders:
            self._flush_uniques()

    def _flush_rows(self) -> None:
        changes: dict[str, tuple[list[RowChange], list[int]]] = {}
        for ref, before in self._stored.items():
            now = self._rows[ref]
            if now is None and before is None and not self._tables[ref[0]].tombstones:
                continue  # created and deleted in one batch, and its last revision is not kept either
            entity, key = ref
            listed, numbers = changes.setdefault(entity, ([], []))
            if now is None:
                listed.append(RowChange(entity, key, before, self._revisions[ref], None))
                numbers.append(0)
            else:
                listed.append(RowChange(entity, key, before, now.revision, now.cells))
                numbers.append(now.commit)
        for entity, (listed, numbers) in changes.items():
            self._tx.write_rows(self._tables[entity], listed, numbers)
        self._stored = {}

    def _flush_uniques(self) -> None:
        released, taken = [], []
        for unique, before in self._stored_holders.items():
            now = self._holders[unique]
            if before == now:
                continue
            if before is not None:
                released.append(unique)
            if now is not None:
                taken.append((unique, now))
        self._tx.write_uniques(released, taken)
        self._stored_holders = {}
