"""The walk: from the first record to the head, then the stored rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from treadle.engine import parts, retained
from treadle.engine import state as states
from treadle.engine.acts import scan
from treadle.engine.command import event_images, outcome_bytes, row_images
from treadle.engine.core import Engine
from treadle.engine.state import Deployed
from treadle.errors import DatabaseCorrupt, TreadleError
from treadle.model import canonical, record
from treadle.model.facts import RowChange, Sealed, Verdict
from treadle.model.record import LogRecord
from treadle.plan import SEMANTICS_VERSION
from treadle.ports.store import Head, LogEntry, ReadTx
from treadle.registry import load
from treadle.streams import checking
from treadle.streams.checking import EventCheck
from treadle.verify import snapshot
from treadle.verify.migrations import Migrations
from treadle.verify.receipts import ReceiptCheck
from treadle.verify.replay import Replay
from treadle.verify.report import MOST, Problem, Report

if TYPE_CHECKING:
    from treadle.graph.live.audit import GraphCheck

Progress = Callable[[int, int], None]
GRAPH_KINDS: Final = frozenset(("update", "graph", "enroll", "disenroll"))
PAGE: Final = 1_000


def verify(
    engine: Engine, *, head: tuple[int, str] | None = None, progress: Progress | None = None
) -> Report:
    """Walk the whole history of `engine`'s database; see `treadle.Database.verify`."""
    with engine.store.read() as tx:
        walk = Walk(tx, head, progress)
        with closing(walk):
            for part in (
                walk.structure,
                walk.records,
                walk.receipts,
                walk.stored_rows,
                walk.streams,
                walk.graph,
            ):
                walk.attempt(part)
            return walk.report()


class Reached(NamedTuple):
    """The state after the last record of a walk: whether a migration is under way there; `graph` is None
    where no record was about the graph."""

    replay: Replay
    receipts: ReceiptCheck
    deployed: Deployed | None
    migrating: bool
    graph: GraphCheck | None


class Walk:
    """One verification: of a whole history, or of its beginning up to record `last`."""

    def __init__(
        self,
        tx: ReadTx,
        kept: tuple[int, str] | None,
        progress: Progress | None,
        last: LogEntry | None = None,
    ) -> None:
        self._tx = tx
        self._kept = kept
        self._progress = progress
        self._head = tx.head() if last is None else Head(last.number, last.time, last.hash)
        self._start = retained.snapshot(tx)
        self._said: object = None
        self._replay = Replay()
        self._deployed: dict[str, Deployed] = {}
        self._names = states.table_names(tx)
        self._events = EventCheck(tx)
        self._receipts = ReceiptCheck(tx)
        self._graph: GraphCheck | None = None
        self._current: Deployed | None = None
        self._migrations = Migrations(tx, self._contract, self._replay)
        self._problems: list[Problem] = []
        self._records = self._evaluated = self._skipped = self._rows = 0

    def report(self) -> Report:
        return Report(
            records=self._records,
            evaluated=self._evaluated,
            not_evaluated=self._skipped,
            rows=self._rows,
            head=(self._head.number, self._head.hash.hex()),
            problems=tuple(self._problems),
            pruned=self._start.number if self._start else 0,
            signatures=self._graph.signatures if self._graph else 0,
        )

    @property
    def reached(self) -> Reached:
        """What is known after `records`."""
        return Reached(
            self._replay,
            self._receipts,
            self._current,
            self._migrations.under_way,
            self._graph,
        )

    def close(self) -> None:
        """Give back what did not fit in memory."""
        self._replay.close()

    def _problem(self, number: int | None, what: str) -> None:
        if len(self._problems) < MOST:
            self._problems.append(Problem(number, what))

    def attempt(self, part: Callable[[], None]) -> None:
        """Do a part of the work; what cannot be read there is a problem, and the other parts go on."""
        try:
            part()
        except TreadleError as error:
            self._problem(None, error.message)
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            self._problem(None, f"{part.__name__.replace('_', ' ')} cannot be read: {type(error).__name__}")

    def structure(self) -> None:
        """Ask the store what is wrong with its own structure."""
        for what in self._tx.integrity():
            self._problem(None, f"the file: {what}")

    def records(self) -> None:
        """Check number, chain and content of every record."""
        previous, expected, time = self._begin()
        for entry in self._tx.log(expected, self._head.number):
            if entry.number != expected:
                self._problem(expected, "the record is missing")
            expected = entry.number + 1
            stored = self._chained(entry, previous)
            previous = entry.hash
            self._records += 1
            if stored is None:
                continue
            reset = (stored.kind, stored.name) == ("clock", "reset")
            if (stored.time < time and not reset) or stored.time != entry.time:
                self._problem(entry.number, "its time is before the record before it, or not the stored time")
            time = stored.time
            self._judge(stored)
            if self._progress is not None and self._records % PAGE == 0:
                self._progress(self._records, self._head.number)
        if expected != self._head.number + 1:
            self._problem(expected, "the log ends before its head")
        if self._kept is not None:
            self._check_kept()

    def _begin(self) -> tuple[bytes, int, int]:
        """Hash, number and time that the first record goes on from."""
        start = self._start
        if start is None:
            return record.GENESIS, 1, 0
        try:
            if start.contract:
                self._current = self._contract(start.contract)
                self._replay.use(self._current.tables, _uniques(self._current))
            snapshot.load(parts.stored(self._tx, start), self._replay, self._receipts, self._current)
            if start.graph:
                self._graph_check().begin()
        except TreadleError as error:
            self._problem(start.number, error.message)
        return start.hash_bytes, start.number + 1, start.time

    def _chained(self, entry: LogEntry, previous: bytes) -> LogRecord | None:
        if record.chain(previous, entry.data) != entry.hash:
            self._problem(entry.number, "its bytes do not give its hash")
        try:
            stored = record.decode(entry.data)
        except DatabaseCorrupt as error:
            self._problem(entry.number, f"it cannot be read: {error.message}")
            return None
        if stored.previous != previous or stored.number != entry.number:
            self._problem(entry.number, "it does not follow the record before it")
        return stored

    def _check_kept(self) -> None:
        number, digest = self._kept or (0, "")
        if self._start is not None and number <= self._start.number:
            if number != self._start.number or self._start.hash != digest.lower():
                self._problem(number, "it was pruned from the log, so its hash cannot be compared")
            return
        entry = next(self._tx.log(number, number), None)
        if entry is None or entry.hash.hex() != digest.lower():
            self._problem(number, "its hash is not the one that was kept elsewhere")

    def _judge(self, stored: LogRecord) -> None:
        for what in self._events.judge(stored):
            self._problem(stored.number, what)
        try:
            for what in self._receipts.judge(stored):
                self._problem(stored.number, what)
            if (stored.kind, stored.name) == (retained.KIND, "log"):
                self._said = canonical.decode(stored.body or b"")
            if stored.kind in GRAPH_KINDS:
                for what in self._graph_check().record(stored):
                    self._problem(stored.number, what)
            if stored.kind == "deploy" and stored.contract is not None:
                self._deploy(stored, self._contract(stored.contract.hex()))
            elif stored.kind == "migrate":
                for what in self._migrations.record(stored, self._current):
                    self._problem(stored.number, what)
            elif stored.kind in ("command", "reimport"):
                self._command(stored)
            elif stored.changes:
                self._operate(stored)
        except TreadleError as error:
            self._problem(stored.number, error.message)
        except Exception as error:  # a damaged record must be named, whatever it breaks
            self._problem(stored.number, f"it cannot be evaluated: {type(error).__name__}")

    def _contract(self, identity: str) -> Deployed:
        known = self._deployed.get(identity)
        if known is None:
            contract = states.load_contract(self._tx, identity)
            if contract.identity != identity:
                raise DatabaseCorrupt(f"contract {identity[:12]}… is stored under another contract's name")
            known = self._deployed[identity] = Deployed(contract, self._names)
        return known

    def _deploy(self, stored: LogRecord, deployed: Deployed) -> None:
        for what in self._migrations.deployed(stored):
            self._problem(stored.number, what)
        self._current = deployed
        self._replay.use(deployed.tables, _uniques(deployed), self._migrations.brought)

    def _command(self, stored: LogRecord) -> None:
        if stored.semantics != SEMANTICS_VERSION:
            self._skipped += 1
            return
        deployed = self._contract((stored.contract or b"").hex())
        verdict = self._evaluate(deployed, stored)
        self._evaluated += 1
        self._compare(deployed, stored, verdict)
        self._replay.apply(verdict, stored.number)

    def _operate(self, stored: LogRecord) -> None:
        """An operator's act: there is nothing to evaluate again; the rows it wrote are taken as written."""
        codec = self._contract((stored.contract or b"").hex()).codec
        changes = []
        for image in stored.changes:
            key = codec.key_decoder(image.entity)(image.key)
            before = self._replay.row(image.entity, key)
            if (before.commit if before else 0) != image.before:
                self._problem(stored.number, f"a row of {image.entity} it wrote was not as it says before")
            cells = None if image.image is None else codec.row_decoder(image.entity)(image.image)
            changes.append(RowChange(image.entity, key, before, image.revision, cells))
        self._replay.apply(Verdict("", (), False, changes=changes), stored.number)

    def _evaluate(self, deployed: Deployed, stored: LogRecord) -> Verdict:
        codec = deployed.codec
        if stored.kind == "reimport":
            (records,) = codec.input_reader(stored.name).decode(stored.input or b"")
            body = canonical.decode(stored.body or b"")
            revisions = body["revisions"] if isinstance(body, dict) else ()
            return deployed.plan.reimports[stored.name].evaluate(records, revisions, self._replay)
        plan = deployed.plan.commands[stored.name]
        cells = codec.input_reader(stored.name).decode(stored.input or b"")
        services = codec.services_decoder(stored.name)(stored.services) if stored.services else ()
        facts = codec.facts_decoder(stored.facts) if stored.facts else {}
        sealed = Sealed(stored.time, services, facts, bool(stored.policy_set))
        return plan.evaluate(cells, sealed, self._replay)

    def _compare(self, deployed: Deployed, stored: LogRecord, verdict: Verdict) -> None:
        if (verdict.failure, verdict.constraint) != (stored.failure, stored.constraint):
            self._problem(stored.number, "evaluated again, the command ends in another failure")
        elif verdict.failure is None and verdict.outcome != stored.outcome:
            self._problem(
                stored.number, f"evaluated again, the command answers {verdict.outcome}, not {stored.outcome}"
            )
        elif outcome_bytes(deployed, stored.name, verdict) != stored.fields:
            self._problem(stored.number, "evaluated again, the outcome's fields differ")
        elif row_images(deployed, verdict) != stored.changes:
            self._problem(stored.number, "evaluated again, the written rows differ")
        elif event_images(deployed, verdict) != stored.events:
            self._problem(stored.number, "evaluated again, the events differ")
        elif tuple(verdict.revisions) != stored.revisions:
            self._problem(stored.number, "evaluated again, the revisions differ")

    def receipts(self) -> None:
        """Compare the stored receipts, and where the log begins, with what the log gives in all."""
        start = self._start
        said = None if start is None else retained.said(start)
        if said != self._said:
            self._problem(None, "the log begins at another place, or state, than its last pruning says")
        for what in self._receipts.rest():
            self._problem(None, what)

    def stored_rows(self) -> None:
        """Compare every stored row and unique entry with what the log gives."""
        if self._current is None:
            return
        found = 0
        for table in self._current.tables.values():
            for row in scan(self._tx, table):
                self._rows += 1
                given = self._replay.row(table.entity, row.cells[: table.key_count])
                found += given is not None
                if given != row:
                    self._problem(
                        None,
                        f"a stored row of {table.entity} is not what the log gives (commit {row.commit})",
                    )
        if found < len(self._replay.rows):
            self._missing_rows(self._current)
        self._stored_uniques()
        self._stored_revisions()

    def _missing_rows(self, deployed: Deployed) -> None:
        rows = iter(self._replay.rows)
        while page := list(islice(rows, PAGE)):
            for entity, refs in groupby(page, key=itemgetter(0)):
                table = deployed.tables.get(entity)
                keys = [key for _, key in refs]
                stored = [None] * len(keys) if table is None else self._tx.rows(table, keys)
                for _ in range(stored.count(None)):
                    self._problem(None, f"a row of {entity} that the log gives is not stored")

    def _stored_revisions(self) -> None:
        """The last revisions of deleted rows, by which an old revision never fits a new row."""
        given = self._replay.revisions.pairs()
        while page := list(islice(given, PAGE)):
            for entity, found in groupby(page, key=lambda pair: pair[0][0]):
                table = self._current.tables.get(entity) if self._current else None
                revisions = {key: revision for (_, key), revision in found}
                if table is not None and (
                    self._tx.last_revisions(table, list(revisions)) != list(revisions.values())
                ):
                    self._problem(None, f"the last revisions of deleted rows of {entity} are not the log's")

    def _stored_uniques(self) -> None:
        given = self._replay.uniques.pairs()
        while page := list(islice(given, PAGE)):
            holders = self._tx.holders([unique for unique, _ in page])
            for (unique, wanted), holder in zip(page, holders, strict=True):
                if holder != wanted:
                    self._problem(
                        None, f"the unique entries of {unique[0]}.{unique[1]} are not what the log gives"
                    )

    def streams(self) -> None:
        """Compare the stored events with the log's, and look at the consumers."""
        names = (event.name for event in (self._current.contract.events if self._current else ()))
        for what in self._events.rest(names):
            self._problem(None, what)
        incarnation = states.read_number(self._tx.setting(states.HISTORY))
        try:
            for what in checking.problems(self._tx, incarnation):
                self._problem(None, what)
        except DatabaseCorrupt as error:
            self._problem(None, error.message)

    def place(self) -> None:
        """After `records` up to the last one that is to go: the graph's runs, as they stood there.

        Raises `InvalidInput` where the log cannot begin there.
        """
        if self._graph is not None:
            for what in self._graph.place(self._head.number):
                self._problem(self._head.number, what)

    def graph(self) -> None:
        """Compare the stored statements with the log's, and fold the runs of an enrolled database."""
        if self._graph is None and next(self._tx.quads(), None) is None and not self._tx.graphs():
            return
        try:
            for what in self._graph_check().rest():
                self._problem(None, what)
        except TreadleError as error:
            self._problem(None, error.message)

    def _graph_check(self) -> GraphCheck:
        if self._graph is None:
            self._graph = load("graph.audit").GraphCheck(self._tx)
        return self._graph


def _uniques(deployed: Deployed) -> Iterator[tuple[str, str]]:
    """Every unique of a contract, by its entity and name."""
    return ((entity.name, one.name) for entity in deployed.contract.entities for one in entity.uniques)
