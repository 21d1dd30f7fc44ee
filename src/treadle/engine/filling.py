"""Bringing rows under a successor, inside one transaction: their images, new unique entries, references.

The rows of the contract in force stay as they are. What becomes of them is written to hidden tables; new
unique entries stand among the others under names that nobody asks for yet. Each row is brought as it is
now, whenever it is looked at, so the last look counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

from treadle.engine.state import Deployed
from treadle.model.contract import Contract
from treadle.model.facts import Cells, Key, Range, Row, RowChange, UniqueRef
from treadle.model.migration import Migration
from treadle.model.record import RowImage
from treadle.plan.migration import EntityWork, MigrationPlan, SharedWork, Unfit, hidden
from treadle.ports.queries import QueryTx, Walk
from treadle.ports.store import ReadTx, Table, WriteTx

PAGE: Final = 64
Problems = dict[tuple[str, Key], str | None]
"""Why a row does not fit, None for one that does (again)."""


class Site:
    """What a migration works with: both contracts ready to run, the work, and the tables being built."""

    def __init__(self, active: Deployed, deployed: Deployed, migration: Migration, time: int) -> None:
        self.active = active
        self.deployed = deployed
        self.plan = MigrationPlan(active.contract, deployed.contract, migration, time)
        self.built: dict[str, Table] = {
            table.entity: hidden(table, place, self.plan.works[table.entity])
            for place, table in enumerate(deployed.plan.tables, start=1)
            if table.entity in self.plan.anew
        }

    @property
    def contract(self) -> Contract:
        return self.deployed.contract

    def key_count(self, entity: str) -> int:
        return self.active.tables[entity].key_count

    def row_name(self, entity: str, key: Key) -> str:
        """A row as a message calls it: its entity and its key."""
        fields = self.active.plan.entities[entity].members
        show = self.active.codec.format_cell
        return (
            f"{entity}({', '.join(show(field.type, cell) for field, cell in zip(fields, key, strict=False))})"
        )


class Filler:
    """Brings rows in a transaction whose record will have the number `number`."""

    def __init__(self, tx: WriteTx, site: Site, number: int) -> None:
        self._tx = tx
        self._site = site
        self._number = number
        self.problems: Problems = {}
        self.images: list[RowImage] = []
        self.rows = 0

    def bring(self, entity: str, rows: Sequence[tuple[Key, Row | None]]) -> None:
        """Bring these rows of one entity as they are now, None for one that is gone."""
        work = self._site.plan.works[entity]
        images: dict[Key, Cells | None] = {}
        for key, row in rows:
            self.problems[entity, key] = None
            images[key] = None if row is None else self._image(work, key, row)
        self._check_references(work, images)
        self._check_shared(work, images)
        old = self._old(entity, list(images))
        self._take_entries(work, images, old)
        self._write(work, dict(rows), images, old)
        self.rows += len(rows)

    def bring_keys(self, entity: str, keys: Iterable[Key]) -> None:
        """Bring the rows of these keys as they are now."""
        listed = list(dict.fromkeys(keys))
        for start in range(0, len(listed), PAGE):
            page = listed[start : start + PAGE]
            found = self._tx.rows(self._site.active.tables[entity], page)
            self.bring(entity, list(zip(page, found, strict=True)))

    def follow(self, entity: str, keys: Iterable[Key]) -> None:
        """Bring what a change of these rows may have affected: the rows themselves, and others that look at
        them, which name a row that is gone, or share an invariant with a root."""
        listed = list(dict.fromkeys(keys))
        plan = self._site.plan
        if entity in plan.works:
            self.bring_keys(entity, listed)
        table = self._site.active.tables[entity]
        gone = [key for key, row in zip(listed, self._tx.rows(table, listed), strict=True) if row is None]
        for work, reference in plan.targets(entity):
            for key in gone:
                self.bring_keys(work.entity, self._naming(work, reference.lookup.name, key))
        for work in plan.children(entity):
            for key in listed:
                for page in self._below(work.entity, key):
                    self.bring(work.entity, page)

    def _naming(self, work: EntityWork, index: str, key: Key) -> list[Key]:
        """The rows that were brought and name this key by a new reference."""
        return self._tx.probe(self._site.built[work.entity], Range(work.entity, index, key, 1 << 31))

    def _below(self, entity: str, root: Key) -> Iterator[list[tuple[Key, Row | None]]]:
        """The rows of a child under one root, a page at a time."""
        table = self._site.active.tables[entity]
        page: list[tuple[Key, Row | None]] = []
        for row in walked(self._tx, Walk(table, None, root)):
            page.append((row.cells[: table.key_count], row))
            if len(page) == PAGE:
                yield page
                page = []
        if page:
            yield page

    # What a row becomes, and what must hold of it.

    def _unfit(self, work: EntityWork, key: Key, why: str) -> None:
        self.problems[work.entity, key] = why

    def _image(self, work: EntityWork, key: Key, row: Row) -> Cells | None:
        try:
            image = work.image(row.cells)
            work.check(image)
        except Unfit as error:
            self._unfit(work, key, str(error))
            return None
        return image

    def _check_references(self, work: EntityWork, images: dict[Key, Cells | None]) -> None:
        for reference in work.references:
            wanted = {key: reference.key_of(image) for key, image in images.items() if image is not None}
            missing = self._missing(reference.target, list(dict.fromkeys(wanted.values())))
            for key, target in wanted.items():
                if target in missing:
                    self._unfit(
                        work, key, f"reference {reference.name} names a {reference.target} that is not there"
                    )
                    images[key] = None

    def _missing(self, entity: str, keys: list[Key]) -> set[Key]:
        """Those of the keys that no row has; an entity that the successor only brings has no rows at all."""
        table = self._site.active.tables.get(entity)
        if table is None:
            return set(keys)
        return {key for key, row in zip(keys, self._tx.rows(table, keys), strict=True) if row is None}

    def _check_shared(self, work: EntityWork, images: dict[Key, Cells | None]) -> None:
        for shared in work.shared:
            roots = self._roots(shared, images)
            for key, image in images.items():
                root = roots.get(key[: shared.root_key_count])
                if image is not None and root is not None:
                    try:
                        shared.check(root, image)
                    except Unfit as error:
                        self._unfit(work, key, str(error))
                        images[key] = None

    def _roots(self, shared: SharedWork, images: dict[Key, Cells | None]) -> dict[Key, Cells]:
        """The images of the roots of these rows; one that does not fit is a problem of its own."""
        keys = list(dict.fromkeys(key[: shared.root_key_count] for key in images))
        found = {}
        for key, row in zip(keys, self._tx.rows(self._site.active.tables[shared.root], keys), strict=True):
            if row is not None:
                try:
                    found[key] = self._site.plan.image(shared.root, row.cells)
                except Unfit:
                    continue
        return found

    # Unique entries.

    def _take_entries(
        self, work: EntityWork, images: dict[Key, Cells | None], old: dict[Key, Row | None]
    ) -> None:
        """Release what these rows held, then let them take what they need; who comes second does not fit."""
        if not work.uniques:
            return
        held = {key: self._refs(work, row.cells) for key, row in old.items() if row is not None}
        wanted = {key: self._refs(work, image) for key, image in images.items() if image is not None}
        refs = list(
            dict.fromkeys(ref for each in (held, wanted) for listed in each.values() for ref in listed)
        )
        before = dict(zip(refs, self._tx.holders(refs), strict=True))
        now = dict(before)
        for key, listed in held.items():
            now.update({ref: None for ref in listed if now[ref] == key})
        for key, listed in wanted.items():
            taken = [ref for ref in listed if self._taken(work, ref, key, now[ref], images)]
            if taken:
                self._unfit(work, key, f"unique {taken[0][1]} is taken by another row")
                images[key] = None
            else:
                now.update(dict.fromkeys(listed, key))
        released = [ref for ref in refs if before[ref] is not None and before[ref] != now[ref]]
        changed = [
            (ref, holder) for ref in refs if (holder := now[ref]) is not None and holder != before[ref]
        ]
        self._tx.write_uniques(released, changed)

    def _refs(self, work: EntityWork, image: Cells) -> list[UniqueRef]:
        return [(work.entity, name, values) for name, values in work.entries(image)]

    def _taken(
        self, work: EntityWork, ref: UniqueRef, key: Key, holder: Key | None, images: dict[Key, Cells | None]
    ) -> bool:
        """Whether another row holds the entry, as it is now; what it left behind since counts for nothing."""
        if holder is None or holder == key:
            return False
        if holder in images:
            image = images[holder]
        else:
            row = self._tx.rows(self._site.active.tables[work.entity], [holder])[0]
            image = None if row is None else self._quiet_image(work, row.cells)
        return image is not None and ref in self._refs(work, image)

    @staticmethod
    def _quiet_image(work: EntityWork, cells: Cells) -> Cells | None:
        try:
            return work.image(cells)
        except Unfit:
            return None

    # The tables being built.

    def _old(self, entity: str, keys: list[Key]) -> dict[Key, Row | None]:
        """What was built of these rows before."""
        built = self._site.built.get(entity)
        if built is None:
            return dict.fromkeys(keys)
        return dict(zip(keys, self._tx.rows(built, keys), strict=True))

    def _write(
        self,
        work: EntityWork,
        rows: dict[Key, Row | None],
        images: dict[Key, Cells | None],
        old: dict[Key, Row | None],
    ) -> None:
        built = self._site.built.get(work.entity)
        if built is None:
            return
        changes, numbers = [], []
        for key, image in images.items():
            row, before = rows[key], old[key]
            if row is None or image is None:
                if before is not None:
                    changes.append(RowChange(work.entity, key, before, before.revision, None))
                    numbers.append(0)
                continue
            changes.append(RowChange(work.entity, key, before, row.revision, image))
            numbers.append(self._number if work.writes else row.commit)
            if work.writes:
                self.images.append(self._row_image(work.entity, key, row, image))
        self._tx.write_rows(built, changes, numbers)

    def _row_image(self, entity: str, key: Key, row: Row, image: Cells) -> RowImage:
        codec = self._site.deployed.codec
        written = codec.row_encoder(entity)(image)
        return RowImage(entity, codec.key_encoder(entity)(key), row.commit, row.revision, written)


def walked(tx: ReadTx, walk: Walk) -> Iterator[Row]:
    """All rows of a range, which every store's transactions can walk."""
    for passes, row in cast(QueryTx, tx).walk(walk, 1 << 60, 1 << 60):
        if passes:
            yield row
