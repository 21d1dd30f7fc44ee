"""The handle an application holds: open a database, deploy a contract, run commands, read rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from treadle.access.caller import Caller, stated
from treadle.acting import Acting, Command
from treadle.engine.core import Engine
from treadle.engine.deployment import Proposal
from treadle.engine.job import Job
from treadle.engine.receipt import Receipt
from treadle.errors import ContractError, InvalidInput, TreadleError, UnknownName
from treadle.model.facts import NO_FACTS
from treadle.ports.clock import Clock
from treadle.registry import load
from treadle.rows import StoredRow, read_key

if TYPE_CHECKING:
    from treadle.access.roles import Role
    from treadle.doctor import Finding
    from treadle.engine.grants import Tokens
    from treadle.engine.succession import Successor
    from treadle.graph.live.core import Core
    from treadle.graph.live.surface import Graph
    from treadle.graph.options import GraphOptions
    from treadle.history import Entry
    from treadle.model.contract import Contract
    from treadle.portability import BackedUp, Exported, Imported, ImportPlan, Restored
    from treadle.queries import Page
    from treadle.retention import Retention
    from treadle.streams import Streams
    from treadle.verify import Report
    from treadle.why import Why, WhyRun

Progress = Callable[[int, int], None]
DEFAULT_JUMP: Final = timedelta(days=1)


def key() -> str:
    """A fresh idempotency key (22 characters). Keep it before the call if you mean to repeat the call."""
    fresh: str = load("ids").fresh_key()
    return fresh


def open(
    url: str | Path,
    *,
    create: bool = True,
    clock: Clock | None = None,
    max_clock_jump: timedelta | None = DEFAULT_JUMP,
    graph: GraphOptions | None = None,
) -> Database:
    """Open a database.

    `url` is a file name, `sqlite:///name`, `postgresql://host/name` (docs/howto/postgresql.md) or
    `:memory:`. A missing file, or an empty schema, is made a database unless `create` is false. `clock`
    takes a test clock of `treadle.testing`, and the log says so. `max_clock_jump` bounds how far the clock
    may be ahead of the last commit before commands are refused as `clock_jumped`; None for no bound, and a
    test clock has none. `graph` is what this process says of the graph: it may enroll the database in
    workflow processing (docs/howto/enroll.md).

    Raises `DatabaseMissing`, `DatabaseNewer`, `DatabaseCorrupt`, `ReadOnly`, `DiskFull`, `ConfigError` or
    `Refused` (`unmigrated`).
    """
    store_url = str(url)
    store = load("store").open_store(store_url, create=create)
    try:
        jump = None if max_clock_jump is None or (clock is not None and clock.manual) else max_clock_jump
        engine = Engine(
            store,
            clock or load("store").clock_of(store),
            load("ids").SystemIds(),
            maximum_jump=None if jump is None else jump // timedelta(microseconds=1),
        )
        database = Database(engine, load("store").shown_url(store_url), graph)
        if graph is not None and graph.speaks:
            database.graph_core().open()
    except BaseException:
        store.close()
        raise
    return database


def restore(
    backup: str | Path,
    target: str | Path,
    *,
    advance_fences: int = 0,
    principal: str = "owner",
    clock: Clock | None = None,
) -> Restored:
    """Make a backup a new database at the new file `target`, with a history incarnation of its own.

    `advance_fences` is added to the fence of every row that has a lease, for outside resources that know
    only the highest token they have seen. Both are in the log, with the point that was restored to. Cursors
    and expectations from before the restore are refused as `history_changed`.
    Raises `InvalidInput` if `backup` is missing or `target` exists, `DatabaseCorrupt`, `DiskFull`.
    """
    restored: Restored = load("portability").restore(
        Path(backup),
        Path(target),
        load("store").open_store,
        clock or load("clock").SystemClock(),
        load("ids").SystemIds(),
        advance_fences=advance_fences,
        caller=stated(principal),
    )
    return restored


def compiled(contract: str | Path) -> tuple[Contract, str]:
    """A contract from text or a file, with its text; raises `ContractError` with diagnostics."""
    try:
        source = contract.read_bytes() if isinstance(contract, Path) else contract
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInput(f"cannot read {contract}: {reason}", path="contract") from error
    name = str(contract) if isinstance(contract, Path) else "<contract>"
    made = load("riff").compile_contract(source, name)
    if made.contract is None:
        raise ContractError(made.render(), diagnostics=made.diagnostics)
    return made.contract, source.decode() if isinstance(source, bytes) else source


class Database:
    """An open database: any number of threads and event loops share one handle.

    After a fork, the child must open its own (`ForkedHandle`). Use as a context manager, or `close` it.
    """

    def __init__(self, engine: Engine, url: str, graph: GraphOptions | None = None) -> None:
        self._engine = engine
        self._graph_options = graph
        self._graph: Core | None = None
        self._opening = threading.Lock()
        self.url = url

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the handle; what is committed stays. Closing twice is fine."""
        if self._graph is not None:
            self._graph.close()
        self._engine.store.close()

    def __repr__(self) -> str:
        return f"<treadle.Database {self.url}>"

    @property
    def history(self) -> str:
        """The history incarnation: it changes with every restore."""
        return self._engine.refresh().history

    @property
    def version(self) -> int:
        """The version of the active contract; 0 where none is deployed."""
        deployed = self._engine.refresh().deployed
        return deployed.version if deployed else 0

    @property
    def head(self) -> tuple[int, str]:
        """The last record's number and its hash in hex, to keep elsewhere; number 0 in an empty log."""
        with self._engine.store.read() as tx:
            head = tx.head()
        return head.number, head.hash.hex()

    def deploy(
        self,
        contract: str | Path,
        *,
        expected_version: int | None = None,
        queries: Sequence[str | Path] | str | Path | None = None,
        roles: Sequence[Role] | None = None,
        migration: str | Path | None = None,
        progress: Progress | None = None,
        principal: str = "owner",
        role: str | None = None,
    ) -> int:
        """Compile and deploy a contract: source text, or the path of a file. Returns the active version.

        `expected_version` is the version that must be active (without it: the one this handle last saw);
        a lost race is refused as `version_conflict`. The contract that is active already is a no-op.
        `queries` (texts of named queries, or paths of files) replace the deployed named queries, and `roles`
        the database's roles, in the same transaction; without them they stay.

        `migration` (text, or the path of a file) brings live rows to what the contract newly demands of them
        (docs/howto/evolve.md). The contract in force serves meanwhile; all rows change at once with the
        deployment, or none. Called again after an interruption it goes on. `progress` is called with rows
        brought and in all.
        Raises `ContractError` with diagnostics, with what cannot follow the deployed contract, or with rows
        that do not fit.
        """
        wanted = None if roles is None else tuple(roles)
        proposal = self._proposal(contract, expected_version, queries, wanted, stated(principal, role))
        version: int = load("evolving").deploy(self._engine, proposal, migration, progress)
        self._engine.refresh()  # what this handle has done it has also seen
        return version

    def compare(
        self, contract: str | Path, *, principal: str = "owner", role: str | None = None
    ) -> Successor:
        """What deploying this contract now would change: compatible, in need of a migration, or refused.

        Names the rows, receipts, events and tokens that stand in the way. Writes nothing.
        Raises `ContractError` for a text that does not compile, `Denied` for a role without the `admin`
        permission.
        """
        caller = stated(principal, role)
        found: Successor = load("evolving").compared(self._engine, compiled(contract)[0], caller)
        return found

    def abandon_migration(self, *, principal: str = "owner", role: str | None = None) -> int:
        """Give up the migration that is under way; the rows are as they were.

        Returns the version that it led to, 0 where there was none. Raises `Denied` for a role without the
        `admin` permission.
        """
        version: int = load("evolving").abandon(self._engine, stated(principal, role))
        self._engine.refresh()
        return version

    def _proposal(
        self,
        contract: str | Path,
        expected_version: int | None,
        queries: Sequence[str | Path] | str | Path | None,
        roles: tuple[Role, ...] | None,
        caller: Caller,
    ) -> Proposal:
        """What `deploy` hands to the engine; raises `ContractError`."""
        checked, text = compiled(contract)
        state = self._engine.state
        seen = state.deployed
        expected = expected_version if expected_version is not None else seen.version if seen else 0
        named = None
        if queries is not None or len(state.queries):
            named = load("queries.deploying").proposed(queries, checked, state.queries)
        return Proposal(checked, text, expected, roles, caller, queries=named)

    def acting_as(
        self,
        principal: str,
        *,
        role: str | None = None,
        instance: str = "",
        tenant: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> Acting:
        """This database as one principal sees it.

        `principal` names the service, not the process: it is part of the idempotency identity, so a name
        that changes at a restart makes old keys execute again. Host and process id go into `instance`,
        which is recorded and not compared. `role` is a role of the database; `facts` are the principal's
        facts for row policies, by name.
        """
        return Acting(self, stated(principal, role, instance, tenant, self._facts(facts)))

    def _facts(self, facts: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if not facts:
            return NO_FACTS
        deployed = self._engine.refresh().require()
        return deployed.codec.facts_reader(facts)

    def run(
        self,
        command: str,
        input: Mapping[str, Any] | Any,
        *,
        principal: str | None = None,
        role: str | None = None,
        timeout: float | None = None,
        history: str | None = None,
    ) -> Receipt:
        """Run one command as `principal`; see `Acting.run`. Without a principal the call is an error."""
        return self._as(principal, role).run(command, input, timeout=timeout, history=history)

    def run_many(
        self,
        commands: Sequence[Command],
        *,
        principal: str | None = None,
        role: str | None = None,
        timeout: float | None = None,
    ) -> list[Receipt | TreadleError]:
        """Run many commands as `principal`; see `Acting.run_many`."""
        return self._as(principal, role).run_many(commands, timeout=timeout)

    def query(
        self,
        name: str,
        parameters: Mapping[str, Any] | Any = None,
        *,
        after: str | None = None,
        at_least: int | None = None,
        principal: str = "owner",
        role: str | None = None,
        history: str | None = None,
        timeout: float | None = None,
    ) -> Page:
        """Run a deployed named query and return its page; see `Acting.query`."""
        acting = self.acting_as(principal, role=role)
        return acting.query(
            name, parameters, after=after, at_least=at_least, history=history, timeout=timeout
        )

    def pages(
        self,
        name: str,
        parameters: Mapping[str, Any] | Any = None,
        *,
        at_least: int | None = None,
        principal: str = "owner",
        role: str | None = None,
    ) -> Iterator[Page]:
        """The pages of a deployed named query, one after another; see `Acting.pages`."""
        return self.acting_as(principal, role=role).pages(name, parameters, at_least=at_least)

    def _as(self, principal: str | None, role: str | None) -> Acting:
        if principal is None:
            raise InvalidInput(
                "say who acts: run(…, principal='printer-service'), or db.acting_as('printer-service')",
                path="principal",
            )
        return self.acting_as(principal, role=role)

    def row(self, entity: str, key: Sequence[Any] | Any) -> StoredRow | None:
        """One row by its complete key, with its revision; None where there is none.

        `key` holds the key's values in declared order (or the single value of a one-field key). Equal
        rows compare equal. Raises `UnknownName` and `InvalidInput`.
        """
        deployed = self._engine.refresh().require()
        if entity not in deployed.tables:
            raise UnknownName(f"no entity {entity} in contract {deployed.contract.name}")
        cells = read_key(deployed, entity, key)
        with self._engine.store.read() as tx:
            row = tx.rows(deployed.tables[entity], [cells])[0]
        return None if row is None else StoredRow(deployed, entity, row)

    def why(
        self,
        entity: str,
        key: Sequence[Any] | Any,
        *,
        unmasked: bool = False,
        principal: str = "owner",
        role: str | None = None,
    ) -> Why:
        """Say what stands in the way of one row; see `Acting.why`."""
        return self.acting_as(principal, role=role).why(entity, key, unmasked=unmasked)

    def why_run(
        self, run: str, graph: str | None = None, *, principal: str = "owner", role: str | None = None
    ) -> WhyRun:
        """Say where a signed run stands, and who may take which step; see `Acting.why_run`."""
        return self.acting_as(principal, role=role).why_run(run, graph)

    def log(
        self,
        first: int = 1,
        last: int | None = None,
        *,
        of: tuple[str, Sequence[Any]] | None = None,
        unmasked: bool = False,
    ) -> Iterator[Entry]:
        """Log records with first <= number <= last, oldest first; `of` keeps those that wrote one row.

        `of` names a row, such as `("Job", (shop_id, job_id))`; its records come newest first. Secret fields,
        lease owners and fencing tokens are masked; `unmasked` shows them, for an administrator.
        """
        found: Iterator[Entry] = load("history").entries(self._engine, first, last, of, unmasked=unmasked)
        return found

    def verify(
        self, *, head: tuple[int, str] | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Report:
        """Check the whole history: the chain of hashes, every command evaluated again, rows against log.

        `head` is a number and hash kept elsewhere, which the log must contain. `progress` is called with
        records done and in all. Returns a report with `.ok` and `.problems`, the first disagreement first.
        """
        report: Report = load("verify").verify(self._engine, head=head, progress=progress)
        return report

    @property
    def graph(self) -> Graph:
        """The RDF dataset: update, load, query, export, capabilities; see docs/explain/updates.md."""
        found: Graph = load("graph").Graph(self.graph_core())
        return found

    @property
    def graph_is_open(self) -> bool:
        """Whether the graph was asked for already, so that `graph_core` returns at once."""
        return self._graph is not None

    def graph_core(self) -> Core:
        """The graph as all its surfaces share it, opened when it is first asked for."""
        with self._opening:
            if self._graph is None:
                self._graph = load("graph").opened(self._engine, self._graph_options)
            return self._graph

    @property
    def tokens(self) -> Tokens:
        """The tokens that HTTP callers send: create, list, revoke, rotate."""
        found: Tokens = load("grants").Tokens(self._engine)
        return found

    def backup(self, target: str | Path, *, progress: Progress | None = None) -> BackedUp:
        """Copy the whole database into the new file `target` while others go on, and check the copy.

        The copy is one snapshot; `.number` and `.hash` name its last log record. `progress` is called with
        pages copied and in all. Raises `InvalidInput` if `target` exists, `DiskFull`, `StoreError`.
        """
        made: BackedUp = load("portability").backup(
            self._engine, Path(target), load("store").open_store, progress=progress
        )
        return made

    def backup_into(
        self, folder: str | Path, *, keep: int | None = None, progress: Progress | None = None
    ) -> tuple[BackedUp, list[Path]]:
        """A backup with a name of its own in `folder`, of which at most `keep` are left; for a timer to call.

        Returns the backup and the older ones that were removed, only ever files that this method named.
        """
        made: tuple[BackedUp, list[Path]] = load("portability").backup_into(
            self._engine, Path(folder), load("store").open_store, keep=keep, progress=progress
        )
        return made

    def export(
        self,
        target: str | Path,
        *,
        principal: str = "owner",
        role: str | None = None,
        progress: Progress | None = None,
    ) -> Exported:
        """Write all rows and events of one snapshot into the new folder `target`, as JSON Lines.

        It holds secrets and lease evidence, like the database. A manifest names and hashes each file.
        Raises `Denied` without the `restore` permission, `InvalidInput` if `target` exists, `DiskFull`.
        """
        made: Exported = load("portability").export(
            self._engine, Path(target), stated(principal, role), progress=progress
        )
        return made

    def import_archive(
        self,
        folder: str | Path,
        campaign: str,
        *,
        principal: str = "owner",
        role: str | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Import an export's rows through the contract's reimport commands, as part of `campaign`.

        Nothing is written unless all of it can be; an interrupted import is run again under the same name.
        Raises `Denied` without the `restore` permission, `InvalidInput` for an archive that was changed or
        holds what cannot be imported.
        """
        done: Imported = load("portability").import_archive(
            self._engine, Path(folder), campaign, stated(principal, role), progress=progress
        )
        return done

    def plan_import(
        self, folder: str | Path, campaign: str, *, principal: str = "owner", role: str | None = None
    ) -> ImportPlan:
        """Check an export and say what `import_archive` would do, without writing."""
        plan: ImportPlan = load("portability").plan_import(
            self._engine, Path(folder), campaign, stated(principal, role)
        )
        return plan

    def streams(self, *, principal: str = "owner", role: str | None = None) -> Streams:
        """The streams as an operator sees them: consumers, dead letters, how long events stay."""
        found: Streams = load("streams").Streams(self._engine, stated(principal, role))
        return found

    def retention(self, *, principal: str = "owner", role: str | None = None) -> Retention:
        """What an operator may let go of: receipts, their stubs; see docs/howto/retention.md."""
        found: Retention = load("retention").Retention(self._engine, stated(principal, role))
        return found

    def doctor(self) -> list[Finding]:
        """What an operator should know about clock, file, disk, tokens, principals and leases.

        Each finding has `.level` (error, warning, note), `.code`, `.what` and `.remedy`; the gravest first.
        """
        found: list[Finding] = load("doctor").examine(self._engine)
        return found

    def confirm_clock(self, *, principal: str = "owner", role: str | None = None) -> int:
        """Say that the clock is right although it is far ahead of the last commit (`clock_jumped`).

        An operator's act, recorded in the log; returns the record's number. Raises `Denied` for a role
        without the `admin` permission.
        """
        number: int = self._one(load("acts").ConfirmClock(stated(principal, role)), None)
        return number

    def reset_clock(self, *, principal: str = "owner", role: str | None = None) -> tuple[int, int]:
        """Recover from a commit that was stamped far in the future: time goes on from the clock's now.

        Leases that would be held until that far day lose owner and expiry (fences stay), and the history
        incarnation rises. Recorded in the log; returns the record's number and how many leases were
        cleared. Raises `Denied` for a role without the `admin` permission.
        """
        result: tuple[int, int] = self._one(
            load("acts").ResetClock(stated(principal, role), self._engine.ids.token(8)), None
        )
        return result

    def _one(self, job: Job, timeout: float | None) -> Any:
        answer = self._engine.submit([job], timeout)[0]
        if isinstance(answer, BaseException):
            raise answer
        if job.exclusive:
            self._engine.refresh()  # what this handle has done it has also seen
        return answer


__all__ = ["Acting", "Command", "Database", "key", "open", "restore"]
