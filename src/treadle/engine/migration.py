"""A migration under way: begun by one record, carried on in bounded steps, ended by the deployment.

While it runs the contract in force serves. `Standing` is what the database knows of it, so that any process
goes on where another stopped: first what an earlier attempt left is cleared, then each row is brought under
the successor (`filling`), then what was written meanwhile is followed along the log until nothing is left.
The deployment follows the last of it in its own transaction and puts the built tables in place: all rows
become visible at once, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from treadle.access.caller import Caller
from treadle.engine import state as states
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.filling import Filler, Site
from treadle.engine.state import Deployed
from treadle.engine.tables import successor
from treadle.errors import ContractError, ContractMismatch, DatabaseCorrupt
from treadle.limits import BATCH_COMMANDS
from treadle.model import contract as contracts
from treadle.model import migration as migrations
from treadle.model import record
from treadle.model.contract import Contract
from treadle.model.facts import Key, Row
from treadle.model.migration import Migration
from treadle.model.packing import pack, unpack
from treadle.model.ranges import Fold
from treadle.plan.migration import MigrationPlan
from treadle.ports.queries import QueryTx, Walk
from treadle.ports.store import ReadTx, Table

STANDING: Final = "migration.standing"
COMPILED: Final = "migration.compiled."
"""A migration is the setting of this prefix and its identity."""

OWN: Final = "migration"
"""The space of entries that are the numbers of a migration's own records: nobody has to read those again."""

STEP_ROWS: Final = 512
STEP_BYTES: Final = 4 << 20
PART: Final = 16
"""So many rows are read before their bytes are counted."""
STEP_RECORDS: Final = 4 * BATCH_COMMANDS
"""More than others may write between two steps, so that following comes to an end."""
STEP_ENTRIES: Final = 4_096
FEW: Final = 64
"""So many records may be left for the deployment to follow."""
MOST_PROBLEMS: Final = 100

Phase: TypeAlias = Literal["clearing", "bringing", "following"]
Progress: TypeAlias = Callable[[int, int], None]


class Problem(msgspec.Struct, frozen=True):
    """A row that does not fit, by its packed key."""

    entity: str
    key: bytes
    why: str


class Standing(msgspec.Struct, frozen=True):
    """How far a migration has come.

    `before`, `after` and `migration` are identities; `begun` the number of its first record and `time` that
    record's; `names` the successor's fixed table names. Entity number `place` of the work is being brought,
    its rows after the packed key `last`; records up to `seen` have been followed. `done` of `total` rows
    have been brought.
    """

    before: str
    after: str
    version: int
    migration: str
    begun: int
    time: int
    names: dict[str, str]
    phase: Phase = "clearing"
    place: int = 0
    last: bytes | None = None
    seen: int = 0
    done: int = 0
    total: int = 0
    problems: tuple[Problem, ...] = ()

    def with_problems(self, found: dict[tuple[str, Key], str | None]) -> Standing:
        """The standing after these rows were looked at again."""
        kept = {(one.entity, one.key): one for one in self.problems}
        for (entity, key), why in found.items():
            packed = pack(key)
            kept.pop((entity, packed), None)
            if why is not None:
                kept[entity, packed] = Problem(entity, packed, why)
        return self._with(problems=tuple(kept.values()))

    def _with(self, **changed: Any) -> Standing:
        return msgspec.structs.replace(self, **changed)


def load(tx: ReadTx) -> Standing | None:
    """The migration under way; None where there is none."""
    data = tx.setting(STANDING)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Standing)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt(f"the state of the migration cannot be read: {error}") from error


def load_migration(tx: ReadTx, identity: str) -> Migration:
    """A migration that was begun; raises `DatabaseCorrupt` if the database does not hold it."""
    data = tx.setting(COMPILED + identity)
    if data is None:
        raise DatabaseCorrupt(f"the database does not hold migration {identity[:12]}… that its log names")
    try:
        return migrations.decode(data)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt(f"the migration {identity[:12]}… cannot be read: {error}") from error


class Wanted(NamedTuple):
    """A successor's contract, with its text, and the migration that leads to it."""

    contract: Contract
    source: str
    migration: Migration


def site_of(standing: Standing, active: Deployed, wanted: Contract, migration: Migration) -> Site:
    """What a migration under way works with."""
    return Site(active, Deployed(wanted, standing.names), migration, standing.time)


def check_standing(standing: Standing, active: Deployed, wanted: Wanted) -> None:
    """Raise `ContractMismatch` unless the migration under way is the wanted one."""
    same = (standing.after, standing.migration) == (wanted.contract.identity, wanted.migration.identity)
    if not same or standing.before != active.identity:
        raise under_way(standing)


def under_way(standing: Standing) -> ContractMismatch:
    return ContractMismatch(
        f"a migration to version {standing.version} is under way; deploy that version with the same "
        "migration to go on with it, or give it up with `treadle deploy --abandon`",
        code="version_conflict",
    )


class _MigrationJob(ActJob):
    """A step of a migration: a bounded transaction with one record of kind `migrate`."""

    any_clock = False

    def note(self, batch: Batch, name: str, body: Any, wanted: Contract, **pieces: Any) -> int:
        """Append the record of this step, which belongs to the successor, and note that it is ours."""
        entry = self.entry(batch, "migrate", name, body)
        number = batch.append(
            entry._replace(contract=bytes.fromhex(wanted.identity), contract_version=wanted.version, **pieces)
        )
        batch.tx.write_entries(OWN, [(number.to_bytes(8, "big"), b"")])
        return number

    def note_rows(self, batch: Batch, standing: Standing, filler: Filler, wanted: Contract) -> None:
        """Append the record of rows that were brought, with the images of those that get fields."""
        body = {"begun": standing.begun, "rows": filler.rows}
        self.note(batch, "rows", body, wanted, changes=tuple(filler.images))


class BeginMigration(_MigrationJob):
    """Begin the migration, or find it under way; its result is the `Standing`.

    `total` is how many rows there are to bring. What the successor changes was judged before.
    """

    def __init__(self, caller: Caller, wanted: Wanted, total: int) -> None:
        super().__init__(caller)
        self._wanted = wanted
        self._total = total

    def act(self, batch: Batch) -> None:
        active = batch.state.require()
        standing = load(batch.tx)
        if standing is None:
            standing = self._begin(batch, active)
        else:
            check_standing(standing, active, self._wanted)
        self.result = standing

    def _begin(self, batch: Batch, active: Deployed) -> Standing:
        contract, source, migration = self._wanted
        if migration.before != active.version:
            raise ContractMismatch(
                f"the migration begins at version {migration.before}, and {active.version} is active",
                code="version_conflict",
            )
        plan = MigrationPlan(active.contract, contract, migration, batch.time)
        deployed = successor(batch.tx, active, contract, plan.anew)
        body = {"migration": migration.identity, "text": migration.text}
        number = self.note(batch, "begin", body, contract)
        standing = Standing(
            before=active.identity,
            after=contract.identity,
            version=contract.version,
            migration=migration.identity,
            begun=number,
            time=batch.time,
            names=dict(deployed.names),
            seen=number,
            total=self._total,
        )
        for table in site_of(standing, active, contract, migration).built.values():
            batch.tx.create_table(table, hidden=True)
        tx = batch.tx
        tx.put_setting(states.CONTRACT + contract.identity, contracts.encode(contract))
        tx.put_setting(states.SOURCE + contract.identity, source.encode())
        tx.put_setting(COMPILED + migration.identity, migrations.encode(migration))
        _save(batch, standing)
        return standing


def _save(batch: Batch, standing: Standing) -> None:
    batch.tx.put_setting(STANDING, msgspec.json.encode(standing))


class Stepped(NamedTuple):
    """What a step came to; `left` is how many records it leaves to be followed."""

    standing: Standing
    left: int


class StepMigration(_MigrationJob):
    """One bounded step; its result is a `Stepped`."""

    def __init__(self, caller: Caller, wanted: Wanted, site: Site) -> None:
        super().__init__(caller)
        self._wanted = wanted
        self._site = site

    def act(self, batch: Batch) -> None:
        standing = load(batch.tx)
        if standing is None:
            raise ContractMismatch(
                "the migration was ended meanwhile; look and deploy again", code="version_conflict"
            )
        check_standing(standing, batch.state.require(), self._wanted)
        filler = Filler(batch.tx, self._site, batch.number + 1)
        standing = _STEPS[standing.phase](batch.tx, self._site, filler, standing)
        standing = standing.with_problems(filler.problems)
        left = batch.number - standing.seen
        if filler.rows:
            self.note_rows(batch, standing, filler, self._site.contract)
        batch.touched = True
        _save(batch, standing)
        self.result = Stepped(standing, left)


def _clear(tx: Any, site: Site, filler: Filler, standing: Standing) -> Standing:
    """Remove what an earlier attempt left of the new unique entries."""
    left = STEP_ENTRIES
    for entity, work in site.plan.works.items():
        for unique in work.uniques:
            left -= tx.drop_uniques(entity, unique.name, left)
            if left <= 0:
                return standing
    return msgspec.structs.replace(standing, phase="bringing")


def _bring(tx: Any, site: Site, filler: Filler, standing: Standing) -> Standing:
    """Bring the next rows of the entity at hand, or go on to the next entity."""
    if len(standing.problems) >= MOST_PROBLEMS:
        look_again(filler, standing.problems)
        return standing
    works = list(site.plan.works)
    if standing.place >= len(works):
        return msgspec.structs.replace(standing, phase="following")
    entity = works[standing.place]
    count = site.active.tables[entity].key_count
    rows, ended = _page(tx, site, entity, None if standing.last is None else unpack(standing.last))
    keyed = [(row.cells[:count], row) for row in rows]
    filler.bring(entity, keyed)
    done = standing.done + len(keyed)
    if ended:  # rows that come after the end from now on are followed along the log
        return msgspec.structs.replace(standing, place=standing.place + 1, last=None, done=done)
    return msgspec.structs.replace(standing, last=pack(keyed[-1][0]), done=done)


def _page(tx: ReadTx, site: Site, entity: str, after: Key | None) -> tuple[list[Row], bool]:
    """Rows after a key, so many and so large as fit one step, and whether they are the last."""
    table, plan = site.active.tables[entity], site.active.plan.entities[entity]
    measure = plan.sizes.record_measure(plan.members)
    found: list[Row] = []
    size = 0
    while len(found) < STEP_ROWS and size < STEP_BYTES:
        wanted = min(PART, STEP_ROWS - len(found))
        rows = tx.scan(table, after, wanted)
        size += sum(measure(row.cells) for row in rows)
        found += rows
        if len(rows) < wanted:
            return found, True
        after = rows[-1].cells[: table.key_count]
    return found, False


def _follow(tx: Any, site: Site, filler: Filler, standing: Standing) -> Standing:
    """Bring again what was written since, then, at the end of the log, what did not fit."""
    seen = follow(tx, site, filler, standing.seen, STEP_RECORDS)
    if seen == tx.head().number:
        look_again(filler, standing.problems)
    return msgspec.structs.replace(standing, seen=seen)


_STEPS: Final = {"clearing": _clear, "bringing": _bring, "following": _follow}


def follow(tx: ReadTx, site: Site, filler: Filler, seen: int, most: int) -> int:
    """Bring what records after `seen` wrote, at most `most` records; how far that was."""
    keys: dict[str, dict[Key, None]] = {}
    last = min(tx.head().number, seen + most)
    rows = size = 0
    for found in written(tx, site, seen + 1, last):
        rows += len(found.rows)
        size += found.size
        if (rows > most or size > STEP_BYTES) and keys:
            last = found.number - 1
            break
        for entity, key in found.rows:
            keys.setdefault(entity, {})[key] = None
    for entity, listed in keys.items():
        filler.follow(entity, listed)
    return last


class Written(NamedTuple):
    """What a record wrote: rows by entity and key. `size` is the record's own, in bytes."""

    number: int
    size: int
    rows: list[tuple[str, Key]]


def written(tx: ReadTx, site: Site, first: int, last: int) -> Iterator[Written]:
    """The rows that records wrote, but for the migration's own, which are no rows yet."""
    before = (first - 1).to_bytes(8, "big")
    own = {key for key, _ in tx.entries(OWN, b"", before, last - first + 1)}
    codec = site.active.codec
    for entry in tx.log(first, last):
        if entry.number.to_bytes(8, "big") not in own:
            changes = record.decode(entry.data).changes
            known = [change for change in changes if change.entity in site.active.tables]
            rows = [(change.entity, codec.key_decoder(change.entity)(change.key)) for change in known]
            yield Written(entry.number, len(entry.data), rows)


def look_again(filler: Filler, problems: Iterable[Problem]) -> None:
    """Bring the rows that did not fit once more: another row may have made room."""
    keys: dict[str, list[Key]] = {}
    for problem in problems:
        keys.setdefault(problem.entity, []).append(unpack(problem.key))
    for entity, listed in keys.items():
        filler.bring_keys(entity, listed)


class AbandonMigration(_MigrationJob):
    """Give the migration under way up; its result is the version it led to, 0 where there was none.

    The rows stay as they are. Unique entries that were collected for it are cleared when the next one begins.
    """

    def act(self, batch: Batch) -> None:
        standing = load(batch.tx)
        self.result = 0
        if standing is None:
            return
        active = batch.state.require()
        wanted = states.load_contract(batch.tx, standing.after)
        site = site_of(standing, active, wanted, load_migration(batch.tx, standing.migration))
        for table in site.built.values():
            batch.tx.drop_table(table)
        self.note(batch, "abandon", {"begun": standing.begun}, wanted)
        _end(batch)
        self.result = standing.version


def finish(batch: Batch, caller: Caller, wanted: Wanted, *, force: bool) -> Site | None:
    """The last of a migration, in the deployment's transaction: what is left to follow, what did not fit.

    None where more is left than fits (unless `force`): another step has to come first. Raises
    `ContractError` that names rows that do not fit. What is returned says which tables to install.
    """
    standing = load(batch.tx)
    if standing is None:
        raise ContractMismatch("the migration was not begun; deploy again", code="version_conflict")
    active = batch.state.require()
    check_standing(standing, active, wanted)
    left = batch.number - standing.seen
    if standing.phase != "following" or (left > FEW and not force):
        return None
    site = site_of(standing, active, wanted.contract, wanted.migration)
    filler = Filler(batch.tx, site, batch.number + 1)
    seen = standing.seen
    while seen < batch.number:
        seen = follow(batch.tx, site, filler, seen, STEP_RECORDS)
    look_again(filler, standing.problems)
    unfit = standing.with_problems(filler.problems).problems
    if unfit:
        raise refusal(site, unfit)
    if filler.rows:
        _MigrationJob(caller).note_rows(batch, standing, filler, site.contract)
    _end(batch)
    return site


def _end(batch: Batch) -> None:
    """Nothing is under way any more."""
    batch.tx.put_setting(STANDING, None)
    while own := batch.tx.entries(OWN, b"", None, STEP_ENTRIES):
        batch.tx.write_entries(OWN, [(key, None) for key, _ in own])


def count(tx: ReadTx, table: Table) -> int:
    """How many rows a table has."""
    groups = cast(QueryTx, tx).summarise(Walk(table, None), (), (Fold("count"),), 1 << 60, 1)
    return int(cast(int, groups[0].values[0]))


def refusal(site: Site, problems: Sequence[Problem]) -> ContractError:
    """The error for rows that do not fit the successor."""
    shown = [f"{site.row_name(one.entity, unpack(one.key))}: {one.why}" for one in problems[:10]]
    more = f", and {len(problems) - 10} more" if len(problems) > 10 else ""
    return ContractError(
        f"rows do not fit version {site.contract.version}: {'; '.join(shown)}{more}. Change them by commands "
        "and deploy again, or give the migration up with `treadle deploy --abandon`",
        code="contract_incompatible",
    )
