"""The world of a run: one file on a disk that can fail, handles on it, what clients sent and saw."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import treadle
from sim.graph import updates
from sim.graph.desks import SOURCE
from sim.graph.names import AGENTS, IDENTITY, PLACES, PLANS, RUNS, TWIN, Quad, Run, registration
from sim.graph.script import HANDLES
from sim.graph.updates import Load, Update
from sim.scenario import folder
from tests.faults.vfs import Fault, FaultyDisk, Keep, Kind
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.engine.receipt import Receipt
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.graph.client import Pending
from treadle.graph.live.attempts import Attempts, Text
from treadle.graph.live.attempts import Load as LoadAttempts
from treadle.graph.live.changes import Changed
from treadle.graph.load import Loaded
from treadle.graph.terms import IRI
from treadle.store.ids import SystemIds
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
PLAIN: Final = "plain"
"""The role of who may write to the graph, but neither plans nor registrations."""
SECONDS: Final = 60.0
_OPTIONS: Final = treadle.GraphOptions(identity_graphs=[IDENTITY[1:-1]])
"""What most processes say of the graph; one says nothing, and enrolls with keys of every graph."""


@dataclass
class Sent:
    """A request to the graph. Its principal is its own, so every record in the log names its request.

    `updates` is what it does, None where only its text is known (it came from the workflow client).
    `certain` are the records that were acknowledged, `unknown` counts answers that say neither yes nor no.
    """

    principal: str
    text: str
    updates: Sequence[Update] | None
    role: str | None = None
    certain: list[int] = field(default_factory=list)
    unknown: int = 0
    refused: int = 0


class Answer(NamedTuple):
    """What a request was answered, with the log's head just after; None where that is not known."""

    at: int | None
    sent: Sent
    answer: Changed | TreadleError


class Look(NamedTuple):
    """What a query found: the pattern, the variables, and the rows."""

    at: int
    where: tuple[Quad, ...]
    variables: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Told(NamedTuple):
    """What a client told its caller of a signed step."""

    at: int
    how: str
    pending: Pending


class There(NamedTuple):
    """Statements that a client said are there, or (`whole` false) are not all there."""

    at: int
    quads: frozenset[Quad]
    whole: bool


class Verified(NamedTuple):
    """What a client found when it replayed a run; `problem` where that does not come out right."""

    at: int
    run: Run
    found: tuple[str | None, str, int] | None
    problem: str


class Capable(NamedTuple):
    """What a handle said of processing."""

    at: int
    enabled: bool


Seen = Answer | Look | Told | There | Verified | Capable


@dataclass
class Asked:
    """A command of the contract, and every receipt that anyone heard."""

    name: str
    input: dict[str, Any]
    receipts: list[Receipt] = field(default_factory=list)


class World:
    """Everything that a step can touch."""

    def __init__(self, place: Path, seed: int) -> None:
        self.disk = FaultyDisk()
        self.place = place
        self.path = place / "0.db"
        self.path.write_bytes(_beginning())
        self.clock = ManualClock(START + timedelta(hours=1))
        self.ids = SystemIds(random.Random(seed).randbytes)
        self.sent: dict[str, Sent] = {}
        self.unheard: list[Sent] = []
        self.late: list[Sent] = []
        self.seen: list[Seen] = []
        self.pendings: list[Pending] = []
        self.asked: dict[str, Asked] = {}
        self.keys = dict.fromkeys(AGENTS, 0)
        self.states: dict[int, str] = {}
        self.backups: list[tuple[Path, int]] = []
        self.histories: list[str] = []
        self.faults: dict[str, int] = {}
        self.broken: list[str] = []
        self.verdict: Callable[[], object] = int
        """Has the checkers look at the database as it is; whoever runs the script says how."""
        self._texts: dict[tuple[str, str], Sent] = {}
        self._handles: list[Database | None] = [None] * HANDLES
        self._count = 0
        self.histories.append(self.handle(0).history)

    # Handles and the disk.

    def handle(self, number: int) -> Database:
        """An open handle; it is opened again if a crash took it."""
        place = number % HANDLES
        found = self._handles[place]
        if found is None:
            store = open_database(str(self.path), vfs=self.disk.name)
            try:
                engine = Engine(store, self.clock, self.ids, maximum_jump=None)
                found = Database(engine, str(self.path), _OPTIONS if place else None)
            except BaseException:
                store.close()
                raise
            self._handles[place] = found
        return found

    def drop(self, number: int) -> None:
        """A process ends without a word."""
        place = number % HANDLES
        found, self._handles[place] = self._handles[place], None
        if found is not None:
            found.close()

    def drop_all(self) -> None:
        for number in range(HANDLES):
            self.drop(number)

    def count(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def fail(self, at: int, kind: Kind) -> None:
        """The disk will fail at its operation number `at` from now."""
        self.disk.arm(Fault(at, kind))

    def mend(self) -> None:
        """The disk is well again; handles that it confused are opened anew."""
        if self.disk.fired:
            self.count("disk")
            self.drop_all()
        self.disk.repair()
        self.disk.arm(None)

    def cut(self, keep: Keep) -> None:
        """The power goes: all processes end, and what was not flushed survives as `keep` says."""
        self.count("power")
        self.disk.break_now()
        self.drop_all()
        self.disk.power_cut(keep)
        self.disk.repair()
        self.disk.arm(None)

    def move_clock(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def close(self) -> None:
        self.disk.repair()
        self.drop_all()

    def restore(self) -> None:
        """The latest backup becomes the database; what came after it is forgotten by everybody who counts."""
        backup, number = self.backups[-1]
        self.drop_all()
        path = self.place / f"{len(self.histories)}.db"
        treadle.restore(backup, path, clock=self.clock)
        self.path = path
        self.histories.append(self.handle(0).history)
        self.count("restore")
        self.seen = [seen for seen in self.seen if seen.at is not None and seen.at <= number]
        for sent in self.sent.values():
            sent.certain = [tx for tx in sent.certain if tx <= number]
            sent.refused = 0
        for asked in self.asked.values():
            asked.receipts = [receipt for receipt in asked.receipts if receipt.commit <= number]

    # Requests to the graph.

    def request(self, who: str, wanted: str | Sequence[Update], role: str | None = None) -> Sent:
        """A request to be sent, with a principal of its own; the same text of the same sender is the same."""
        text = wanted if isinstance(wanted, str) else ""
        known = self._texts.get((who, text)) if text else None
        if known is not None:
            return known
        self._count += 1
        principal = f"{who}-{self._count}"
        if isinstance(wanted, str):
            sent = self._texts[who, text] = Sent(principal, text, None, role)
        else:
            load = isinstance(wanted[0], Load)
            sent = Sent(principal, "" if load else updates.text_of(wanted), tuple(wanted), role)
        self.sent[principal] = sent
        return sent

    def carry_out(self, sent: Sent, handle: int, between: Callable[[], object] | None = None) -> Changed:
        """Bring a request to a handle, and note what it answers.

        `between` happens after the request was worked out and before it is committed. Raises the answer where
        that is an error.
        """
        db = self.handle(handle)
        try:
            done = _settled(db, sent, between) if between is not None else _asked(db, sent)
        except OutcomeUnknown:
            sent.unknown += 1
            raise
        except TreadleError as error:
            sent.refused += error.code == "refused"
            self.seen.append(Answer(self.head(db), sent, error))
            raise
        self.note(sent, done, self.head(db))
        return done

    def note(self, sent: Sent, done: Changed, at: int | None) -> None:
        """A request was acknowledged."""
        if done.tx is not None:
            sent.certain.append(done.tx)
        self.seen.append(Answer(at, sent, done))

    def head(self, db: Database) -> int | None:
        """The number of the last record; None where the disk does not let it be read."""
        try:
            return db.head[0]
        except TreadleError:
            return None

    def see(self, handle: int, make: Callable[[int], Seen]) -> None:
        """Note something as of now."""
        at = self.head(self.handle(handle))
        if at is not None:
            self.seen.append(make(at))


def _asked(db: Database, sent: Sent) -> Changed:
    """The request through `db.graph`, as programs send it."""
    graph = db.graph
    load = sent.updates[0] if sent.updates else None
    if isinstance(load, Load):
        return graph.load(
            updates.document(load),
            "ntriples",
            load.graph[1:-1] or None,
            replace=load.replace,
            principal=sent.principal,
            role=sent.role,
            timeout=SECONDS,
        )
    return graph.update(sent.text, principal=sent.principal, role=sent.role, timeout=SECONDS)


def attempts(db: Database, sent: Sent) -> Attempts:
    """The request taken apart, to be put into a batch by hand."""
    core, caller = db.graph.core, Caller(sent.principal, sent.role)
    load = sent.updates[0] if sent.updates else None
    if isinstance(load, Load):
        place = IRI(load.graph[1:-1]) if load.graph else None
        loaded = Loaded.read(
            updates.document(load), "ntriples", labels=core.labels(), graph=place, replace=load.replace
        )
        return LoadAttempts(core.site, caller, loaded, via="load")
    return core.update(caller, Text(sent.text, via="python"))


def _settled(db: Database, sent: Sent, between: Callable[[], object]) -> Changed:
    """The request as `db.graph` settles it, with something that happens in the middle."""
    tries, core, waiting = attempts(db, sent), db.graph.core, True
    while True:
        job = tries.job(SECONDS)
        if waiting:
            waiting = False
            between()
        done = tries.take(core.engine.submit([job], SECONDS)[0])
        if done is not None:
            return done


@lru_cache
def _beginning() -> bytes:
    """A database with the contract, enrolled, with agents and some of the plans and runs."""
    with tempfile.TemporaryDirectory(prefix="treadle-sim-", dir=folder()) as place:
        path = Path(place) / "beginning.db"
        store, clock = open_database(str(path)), ManualClock(START)
        ids = SystemIds(random.Random(0).randbytes)
        db = Database(Engine(store, clock, ids, maximum_jump=None), str(path), _OPTIONS)
        roles = [Role(PLAIN, graph=("read", "update"))]
        db.deploy(SOURCE, roles=roles)
        db.graph.enroll()
        for quads in (
            registration("alice", 0),
            registration("bob", 0, bind=False),
            registration("carol", 0),
            PLANS[0].quads(""),
            PLANS[2].quads(""),
            PLANS[0].quads(PLACES[1]),
            *(run.start() for run in (*RUNS[:3], TWIN)),
        ):
            db.graph.update(updates.text_of([updates.Change(insert=tuple(quads))]), principal="beginning")
        db.close()
        return path.read_bytes()
