"""Deploying a successor: looked at beforehand, migrated in steps where rows must change, put into force.

Nothing here holds the write lock for long but the deployment itself. Before it, a last look in a snapshot
compares every row that was built with what that row becomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from treadle.access.caller import Caller
from treadle.engine import migration as migrating
from treadle.engine import state as states
from treadle.engine.core import Engine
from treadle.engine.deployment import NOT_YET, DeployJob, Proposal
from treadle.engine.filling import PAGE, Site, walked
from treadle.engine.job import Job
from treadle.engine.migration import (
    AbandonMigration,
    BeginMigration,
    Progress,
    Standing,
    StepMigration,
    Stepped,
    Wanted,
    refusal,
    site_of,
    written,
)
from treadle.engine.succession import Successor, check, check_covered, judged
from treadle.engine.usage import Looked
from treadle.errors import ContractError, InvariantBroken
from treadle.model.contract import Contract
from treadle.model.facts import Key, Row, UniqueRef
from treadle.model.migration import Migration
from treadle.plan import evolution
from treadle.plan.migration import EntityWork
from treadle.ports.queries import Walk
from treadle.ports.store import ReadTx
from treadle.registry import load

ATTEMPTS: Final = 64
"""So often a deployment waits for one more step; then it follows what is left, however much it is."""


def compared(engine: Engine, wanted: Contract, caller: Caller) -> Successor:
    """What deploying `wanted` now would change, and what depends on it; writes nothing. Raises `Denied`."""
    with engine.store.read() as tx:
        state = states.load(tx, engine.state)
        state.roles.check_permission(caller, "admin")
        return judged(tx, state.deployed, wanted, engine.clock.now())


def deploy(
    engine: Engine, proposal: Proposal, migration: str | Path | None = None, progress: Progress | None = None
) -> int:
    """Deploy what is proposed, through `migration` (text or the path of a file) if one is given; the version.

    Raises `ContractError`, `ContractMismatch` and `Denied`.
    """
    state = engine.refresh()
    state.roles.check_permission(proposal.caller, "admin")  # a refusal names rows
    active = state.deployed
    wanted = proposal.contract
    if wanted is None or active is None or active.identity == wanted.identity:
        return _version(_done(engine, DeployJob(proposal)))
    proposal.check_version(active)
    if migration is None:
        return _version(_done(engine, DeployJob(looked_at(engine, proposal))))
    compiled = compiled_migration(migration, active.contract, wanted)
    migrator = Migrator(engine, proposal.caller, Wanted(wanted, proposal.source, compiled), progress)
    migrator.carry()
    for attempt in range(ATTEMPTS):
        now = proposal._replace(migration=compiled, looked=migrator.look())
        version = _version(_done(engine, DeployJob(now, force=attempt + 1 == ATTEMPTS)))
        if version != NOT_YET:
            return version
        migrator.step()
    raise InvariantBroken("a deployment that is forced says what came of it")


def looked_at(engine: Engine, proposal: Proposal) -> Proposal:
    """The proposal after a look in a snapshot, so that the deployment reads only what is written from now on.

    Raises `ContractError` for what stands in the way.
    """
    if proposal.contract is None:
        return proposal
    with engine.store.read() as tx:
        active = states.load(tx, engine.state).deployed
        if active is None:
            return proposal
        check(judged(tx, active, proposal.contract, engine.clock.now()))
        return proposal._replace(looked=Looked(active.identity, tx.head().number))


def _done(engine: Engine, job: Job) -> Any:
    answer = engine.submit([job])[0]
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _version(answer: Any) -> int:
    version: int = answer
    return version


def compiled_migration(source: str | Path, before: Contract, after: Contract) -> Migration:
    """A migration from text or a file; raises `ContractError` with diagnostics."""
    reader = load("riff.migrating")
    change = reader.Change(before, after, evolution.needs(before, after))
    data, name = (source.read_bytes(), str(source)) if isinstance(source, Path) else (source, "<migration>")
    compiled = reader.compile_migration(data, change, name)
    if compiled.migration is None:
        raise ContractError(compiled.render(), diagnostics=compiled.diagnostics)
    found: Migration = compiled.migration
    return found


def abandon(engine: Engine, caller: Caller) -> int:
    """Give up the migration under way; the version that it led to, 0 where there was none."""
    return _version(_done(engine, AbandonMigration(caller)))


class Migrator:
    """Carries a migration to the point where the contract can be deployed. Any number may, at once."""

    def __init__(self, engine: Engine, caller: Caller, wanted: Wanted, progress: Progress | None) -> None:
        self._engine = engine
        self._caller = caller
        self._wanted = wanted
        self._progress = progress
        self._looked: Looked | None = None

    def look(self) -> Looked:
        """Judge the successor as of a snapshot; raises `ContractError`. Later looks read what is new only."""
        with self._engine.store.read() as tx:
            active = states.load(tx, self._engine.state).require()
            found = judged(tx, active, self._wanted.contract, self._engine.clock.now(), self._looked)
            check(found)
            check_covered(found, self._wanted.migration)
            self._looked = Looked(active.identity, tx.head().number)
        return self._looked

    def carry(self) -> None:
        """Begin or go on, until nothing but the deployment is left; raises `ContractError` for unfit rows."""
        self.look()
        standing: Standing = _done(self._engine, BeginMigration(self._caller, self._wanted, self._count()))
        active = self._engine.refresh().require()
        site = site_of(standing, active, self._wanted.contract, self._wanted.migration)
        self._steps(site, standing)
        compare_built(self._engine, site, self._tell)

    def step(self) -> None:
        """One more step, for a deployment that found too much left to follow."""
        with self._engine.store.read() as tx:
            standing = migrating.load(tx)
            active = states.load(tx, self._engine.state).require()
        if standing is not None:
            site = site_of(standing, active, self._wanted.contract, self._wanted.migration)
            _done(self._engine, StepMigration(self._caller, self._wanted, site))

    def _steps(self, site: Site, standing: Standing) -> None:
        while True:
            stepped: Stepped = _done(self._engine, StepMigration(self._caller, self._wanted, site))
            standing = stepped.standing
            self._tell(standing.done, standing.total)
            unfit = len(standing.problems)
            following = standing.phase == "following"
            if unfit >= migrating.MOST_PROBLEMS or (unfit and following and not stepped.left):
                raise refusal(site, standing.problems)
            if following and stepped.left <= migrating.FEW and not unfit:
                return

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(min(done, total), total)

    def _count(self) -> int:
        """How many rows there are to bring."""
        owners = {need[1] for need in self._wanted.migration.needs}
        with self._engine.store.read() as tx:
            active = states.load(tx, self._engine.state).require()
            children = {
                name
                for aggregate in self._wanted.contract.aggregates
                if aggregate.name in owners
                for name in (aggregate.root, *aggregate.children)
            }
            tables = [active.tables[name] for name in owners | children if name in active.tables]
            return sum(migrating.count(tx, table) for table in tables)


def compare_built(engine: Engine, site: Site, tell: Progress) -> None:
    """Compare what was built with what each row becomes, in one snapshot; raises `InvariantBroken`.

    Rows that were written since they were brought are left out: the deployment brings those.
    """
    with engine.store.read() as tx:
        standing = migrating.load(tx)
        if standing is None:
            return
        head = tx.head().number
        late = {row for found in written(tx, site, standing.seen + 1, head) for row in found.rows}
        for entity, work in site.plan.works.items():
            if entity in site.built:
                _compare_table(tx, site, work, late)
    tell(standing.total, standing.total)


def _compare_table(tx: ReadTx, site: Site, work: EntityWork, late: set[tuple[str, Key]]) -> None:
    table, built = site.active.tables[work.entity], site.built[work.entity]
    kept = 0
    for page in _pages(walked(tx, Walk(table, None))):
        rows = {key: row for row in page if (work.entity, key := row.cells[: table.key_count]) not in late}
        kept += len(rows)
        _compare_rows(tx, site, work, rows)
    theirs = [key for entity, key in late if entity == work.entity]
    extra = sum(row is not None for row in tx.rows(built, theirs))
    if migrating.count(tx, built) != kept + extra:
        raise InvariantBroken(f"rows were built of {work.entity} that are not there")


def _compare_rows(tx: ReadTx, site: Site, work: EntityWork, rows: dict[Key, Row]) -> None:
    refs: list[UniqueRef] = []
    holders: list[Key] = []
    for key, made in zip(rows, tx.rows(site.built[work.entity], list(rows)), strict=True):
        row = rows[key]
        if made is None or (made.revision, made.cells) != (row.revision, work.image(row.cells)):
            raise InvariantBroken(f"{site.row_name(work.entity, key)} was not brought to what it becomes")
        entries = work.entries(made.cells)
        refs += [(work.entity, name, values) for name, values in entries]
        holders += [key] * len(entries)
    if tx.holders(refs) != holders:
        raise InvariantBroken(f"rows of {work.entity} do not hold their unique entries")


def _pages(rows: Iterator[Row]) -> Iterator[list[Row]]:
    page: list[Row] = []
    for row in rows:
        page.append(row)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page
