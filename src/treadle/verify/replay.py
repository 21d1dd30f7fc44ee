"""The state that the log alone gives: rows, tombstones and unique entries, as much in memory as fits."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from treadle.model.facts import Cells, Key, Range, Row, RowRef, UniqueRef, Verdict
from treadle.model.packing import pack, unpack
from treadle.ports.store import IndexSpec, Table
from treadle.store.sqlite.shelf import PAGE, Coding, Scratch, Shelf


def _same(value: Any) -> Any:
    return value


def _row_ref(data: bytes) -> RowRef:
    entity, *key = unpack(data)
    return entity, tuple(key)


def _unique_ref(data: bytes) -> UniqueRef:
    entity, name, *values = unpack(data)
    return entity, name, tuple(values)


ROWS: Final = Coding[RowRef, Row](lambda ref: pack((ref[0], *ref[1])), _row_ref, tuple, Row._make)
REVISIONS: Final = Coding[RowRef, int](ROWS.pack, _row_ref, _same, _same)
UNIQUES: Final = Coding[UniqueRef, Key](
    lambda unique: pack((*unique[:2], *unique[2])), _unique_ref, _same, _same
)
_PROBES: Final = (
    "CREATE TABLE probes (which BLOB, entry BLOB, key BLOB, PRIMARY KEY (which, entry, key)) WITHOUT ROWID"
)
_PROBE: Final = (
    "SELECT key FROM probes WHERE which = ? AND entry >= ? AND entry < ? ORDER BY entry, key LIMIT ?"
)


class Replay:
    """A `View` over a replayed history. Indexes are built when a probe first asks for one, then kept."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self.rows = Shelf(self.scratch, "rows", ROWS)
        self.revisions = Shelf(self.scratch, "revisions", REVISIONS)
        self.uniques = Shelf(self.scratch, "uniques", UNIQUES)
        self.tables: Mapping[str, Table] = {}
        self._indexes: dict[tuple[str, str], IndexSpec] = {}

    def rows_of(self, entity: str) -> Iterator[tuple[RowRef, Row]]:
        """The rows of an entity; meanwhile rows may be replaced."""
        return self.rows.pairs(pack((entity,)))

    def use(
        self, tables: Mapping[str, Table], uniques: Iterable[tuple[str, str]], migrated: Container[str] = ()
    ) -> None:
        """Go on under another contract's tables and uniques, each by its entity and name.

        Rows gain the columns that are new, but those of `migrated` entities, which have them; entries of
        uniques that are gone are forgotten.
        """
        known = set(uniques)
        for unique in self.uniques:
            if unique[:2] not in known:
                del self.uniques[unique]
        for entity, table in tables.items():
            if entity not in migrated and self.tables.get(entity, table).columns != table.columns:
                self._bring(entity, self.tables[entity], table)
        self.tables = tables
        if self._indexes:
            self.scratch.say("DELETE FROM probes")
            self._indexes.clear()

    def _bring(self, entity: str, before: Table, after: Table) -> None:
        """Give the rows of an entity their cells in the order of another table's columns."""
        places = {column.field: place for place, column in enumerate(before.columns)}
        order = [places.get(column.field, -1) for column in after.columns]
        for ref, row in self.rows_of(entity):
            cells = (*row.cells, None)
            self.rows[ref] = row._replace(cells=tuple(cells[place] for place in order))

    def row(self, entity: str, key: Key) -> Row | None:
        found: Row | None = self.rows.get((entity, key))
        return found

    def last_revision(self, entity: str, key: Key) -> int:
        found: int = self.revisions.get((entity, key), 0)
        return found

    def holder(self, unique: UniqueRef) -> Key | None:
        found: Key | None = self.uniques.get(unique)
        return found

    def probe(self, range_: Range) -> Sequence[Key]:
        self._index(range_.entity, range_.index)
        which, prefix = pack((range_.entity, range_.index)), pack(range_.values)
        found = self.scratch.say(_PROBE, (which, prefix, prefix + b"\xff", range_.limit))
        return [unpack(key) for (key,) in found]

    def _index(self, entity: str, name: str) -> None:
        if (entity, name) in self._indexes:
            return
        if not self.scratch.say("SELECT 1 FROM sqlite_schema WHERE name = 'probes'"):
            self.scratch.say(_PROBES)
        spec = next(spec for spec in self.tables[entity].indexes if spec.name == name)
        which = pack((entity, name))
        entries = (
            (which, pack(_values(spec, row.cells)), pack(key))
            for (_, key), row in self.rows_of(entity)
            if _present(spec, row.cells)
        )
        while page := list(islice(entries, PAGE)):
            self.scratch.each("INSERT INTO probes VALUES (?, ?, ?)", page)
        self._indexes[entity, name] = spec

    def apply(self, verdict: Verdict, number: int) -> None:
        """Take over what a command decided, as log record `number`."""
        for change in verdict.changes:
            ref = (change.entity, change.key)
            before = self.row(*ref)
            after = None if change.cells is None else Row(change.revision, change.cells, number)
            if after is None:
                self.rows.pop(ref, None)
                if self.tables[change.entity].tombstones:
                    self.revisions[ref] = change.revision
            else:
                self.rows[ref] = after
                self.revisions.pop(ref, None)
            self._reindex(change.entity, change.key, before, after)
        for unique in verdict.released:
            self.uniques.pop(unique, None)
        for unique, key in verdict.taken:
            self.uniques[unique] = key

    def _reindex(self, entity: str, key: Key, before: Row | None, after: Row | None) -> None:
        for (owner, name), spec in self._indexes.items():
            if owner != entity:
                continue
            which = pack((entity, name))
            if before is not None and _present(spec, before.cells):
                entry = (which, pack(_values(spec, before.cells)), pack(key))
                self.scratch.say("DELETE FROM probes WHERE which = ? AND entry = ? AND key = ?", entry)
            if after is not None and _present(spec, after.cells):
                entry = (which, pack(_values(spec, after.cells)), pack(key))
                self.scratch.say("INSERT OR IGNORE INTO probes VALUES (?, ?, ?)", entry)

    def close(self) -> None:
        """Give back what did not fit in memory."""
        self.scratch.close()


def _values(spec: IndexSpec, cells: Cells) -> Cells:
    return tuple(cells[position] for position in spec.positions)


def _present(spec: IndexSpec, cells: Cells) -> bool:
    return all(cells[position] is not None for position in spec.presence)
