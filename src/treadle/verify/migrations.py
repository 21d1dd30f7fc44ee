"""Migrations in a history: what they made of each row, computed again, and what must hold of it.

The images that a migration recorded become rows with the deployment that ends it, or never. What follows
from them (new unique entries) is not recorded and is made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from treadle.engine.migration import load_migration
from treadle.engine.state import Deployed
from treadle.model import canonical
from treadle.model.facts import Row, RowRef
from treadle.model.record import LogRecord
from treadle.plan.migration import EntityWork, MigrationPlan, Unfit
from treadle.ports.store import ReadTx
from treadle.verify.replay import Replay

MOST: Final = 10


class _UnderWay(NamedTuple):
    """A migration that was begun: its identity, its plan, and the images it recorded, with the record that
    each was made of."""

    identity: str
    deployed: Deployed
    plan: MigrationPlan
    images: dict[RowRef, tuple[int, Row]]


class Migrations:
    """Follows the migrations of a history. Each method gives what does not agree, as sentences."""

    def __init__(self, tx: ReadTx, contract: Callable[[str], Deployed], replay: Replay) -> None:
        self._tx = tx
        self._contract = contract
        self._replay = replay
        self._now: _UnderWay | None = None
        self.brought: tuple[str, ...] = ()
        """The entities whose rows the last deployment brought."""

    @property
    def under_way(self) -> bool:
        """Whether a migration was begun and has not ended."""
        return self._now is not None

    def record(self, stored: LogRecord, active: Deployed | None) -> Iterator[str]:
        """A record of kind `migrate`."""
        if stored.name == "begin" and active is not None:
            body: Any = canonical.decode(stored.body or b"")
            migration = load_migration(self._tx, body["migration"])
            deployed = self._contract((stored.contract or b"").hex())
            plan = MigrationPlan(active.contract, deployed.contract, migration, stored.time)
            self._now = _UnderWay(migration.identity, deployed, plan, {})
        elif self._now is None:
            yield "it belongs to a migration that was not begun"
        elif stored.name == "abandon":
            self._now = None
        else:
            yield from self._rows(self._now, stored)

    def _rows(self, now: _UnderWay, stored: LogRecord) -> Iterator[str]:
        codec = now.deployed.codec
        for image in stored.changes:
            key = codec.key_decoder(image.entity)(image.key)
            row = self._replay.row(image.entity, key)
            if row is None or (row.commit, row.revision) != (image.before, image.revision):
                yield f"a row of {image.entity} was not as it says before"
                continue
            made = codec.row_decoder(image.entity)(image.image or b"")
            try:
                again = now.plan.image(image.entity, row.cells)
            except Unfit as error:
                yield f"computed again, a row of {image.entity} does not fit: {error}"
                continue
            if again != made:
                yield f"computed again, a row of {image.entity} becomes another one"
            now.images[image.entity, key] = (row.commit, Row(row.revision, made, stored.number))

    def deployed(self, stored: LogRecord) -> Iterator[str]:
        """A record of kind `deploy`: with a migration, its rows take the place of those before."""
        self.brought = ()
        body: Any = canonical.decode(stored.body or b"")
        named = body.get("migration") if isinstance(body, Mapping) else None
        if named is None:
            return
        now, self._now = self._now, None
        if now is None or now.identity != named:
            yield "it ends a migration that was not begun"
            return
        for entity, work in now.plan.works.items():
            if work.writes:
                yield from self._take(now, entity)
                self.brought += (entity,)
        for entity, work in now.plan.works.items():
            yield from self._check(now, entity, work)

    def _take(self, now: _UnderWay, entity: str) -> Iterator[str]:
        rows = self._replay.rows
        left = 0
        for ref, row in self._replay.rows_of(entity):
            base, image = now.images.get(ref, (None, row))
            left += base != row.commit
            rows[ref] = image
        if left:
            yield f"{left} rows of {entity} were not brought to what they become"

    def _check(self, now: _UnderWay, entity: str, work: EntityWork) -> Iterator[str]:
        """What the successor newly demands, asked of each row; new unique entries are taken."""
        found = 0
        for (_, key), row in self._replay.rows_of(entity):
            if found < MOST:
                for what in self._unfit(now, work, key, row):
                    found += 1
                    yield f"a row of {entity} does not fit: {what}"

    def _unfit(self, now: _UnderWay, work: EntityWork, key: Any, row: Row) -> Iterator[str]:
        entity = work.entity
        image = row.cells if work.writes else now.plan.image(entity, row.cells)
        try:
            work.check(image)
            for shared in work.shared:
                root = self._replay.row(shared.root, key[: shared.root_key_count])
                if root is not None:
                    shared.check(self._root(now, shared.root, root), image)
        except Unfit as error:
            yield str(error)
        for reference in work.references:
            if self._replay.row(reference.target, reference.key_of(image)) is None:
                yield f"reference {reference.name} names a {reference.target} that is not there"
        for name, values in work.entries(image):
            if self._replay.uniques.setdefault((entity, name, values), key) != key:
                yield f"unique {name} is taken twice"

    def _root(self, now: _UnderWay, entity: str, row: Row) -> Any:
        """The root's image: as it stands if it was taken over already, else computed."""
        work = now.plan.works.get(entity)
        return row.cells if work is not None and work.writes else now.plan.image(entity, row.cells)
