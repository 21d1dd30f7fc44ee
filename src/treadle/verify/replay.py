"""The state that the log alone gives: rows, tombstones and unique entries, in memory."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Mapping, Sequence

from treadle.model.canonical import pack
from treadle.model.facts import Cells, Key, Range, Row, RowRef, UniqueRef, Verdict
from treadle.ports.store import IndexSpec, Table


class Replay:
    """A `View` over a replayed history. Indexes are built when a probe first asks for one, then kept."""

    def __init__(self) -> None:
        self.rows: dict[RowRef, Row] = {}
        self.revisions: dict[RowRef, int] = {}
        self.uniques: dict[UniqueRef, Key] = {}
        self.tables: Mapping[str, Table] = {}
        self._indexes: dict[tuple[str, str], list[tuple[bytes, Key]]] = {}

    def use(
        self, tables: Mapping[str, Table], uniques: Iterable[tuple[str, str]], migrated: Container[str] = ()
    ) -> None:
        """Go on under another contract's tables and uniques, each by its entity and name.

        Rows gain the columns that are new, but those of `migrated` entities, which have them; entries of
        uniques that are gone are forgotten.
        """
        known = set(uniques)
        self.uniques = {unique: key for unique, key in self.uniques.items() if unique[:2] in known}
        for entity, table in tables.items():
            if entity not in migrated and self.tables.get(entity, table).columns != table.columns:
                self._bring(entity, self.tables[entity], table)
        self.tables = tables
        self._indexes.clear()

    def _bring(self, entity: str, before: Table, after: Table) -> None:
        """Give the rows of an entity their cells in the order of another table's columns."""
        places = {column.field: place for place, column in enumerate(before.columns)}
        order = [places.get(column.field, -1) for column in after.columns]
        for ref, row in self.rows.items():
            if ref[0] == entity:
                cells = (*row.cells, None)
                self.rows[ref] = row._replace(cells=tuple(cells[place] for place in order))

    def row(self, entity: str, key: Key) -> Row | None:
        return self.rows.get((entity, key))

    def last_revision(self, entity: str, key: Key) -> int:
        return self.revisions.get((entity, key), 0)

    def holder(self, unique: UniqueRef) -> Key | None:
        return self.uniques.get(unique)

    def probe(self, range_: Range) -> Sequence[Key]:
        entries = self._index(range_.entity, range_.index)
        prefix = pack(range_.values)
        found: list[Key] = []
        for place in range(bisect_left(entries, (prefix,)), len(entries)):
            packed, key = entries[place]
            if not packed.startswith(prefix) or len(found) == range_.limit:
                break
            found.append(key)
        return found

    def _index(self, entity: str, name: str) -> list[tuple[bytes, Key]]:
        known = self._indexes.get((entity, name))
        if known is None:
            spec = self._spec(entity, name)
            known = sorted(
                (pack(_values(spec, row.cells)), key)
                for (owner, key), row in self.rows.items()
                if owner == entity and _present(spec, row.cells)
            )
            self._indexes[entity, name] = known
        return known

    def _spec(self, entity: str, name: str) -> IndexSpec:
        return next(spec for spec in self.tables[entity].indexes if spec.name == name)

    def apply(self, verdict: Verdict, number: int) -> None:
        """Take over what a command decided, as log record `number`."""
        for change in verdict.changes:
            ref = (change.entity, change.key)
            before = self.rows.get(ref)
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
        for (owner, name), entries in self._indexes.items():
            if owner != entity:
                continue
            spec = self._spec(entity, name)
            if before is not None and _present(spec, before.cells):
                entry = (pack(_values(spec, before.cells)), key)
                entries.pop(bisect_left(entries, entry))
            if after is not None and _present(spec, after.cells):
                insort(entries, (pack(_values(spec, after.cells)), key))


def _values(spec: IndexSpec, cells: Cells) -> Cells:
    return tuple(cells[position] for position in spec.positions)


def _present(spec: IndexSpec, cells: Cells) -> bool:
    return all(cells[position] is not None for position in spec.presence)
