"""What the metrics say of the database itself, whoever changed it: read from the store at each sample.

Rows are counted by state and lease; what commands answered is read from the log, from where the last
sample ended.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from time import monotonic
from typing import Any, Final, NamedTuple

from treadle.engine import state as states
from treadle.engine.core import Engine
from treadle.engine.state import Deployed
from treadle.model import canonical, record
from treadle.model import contract as c
from treadle.model.record import LogRecord, RowImage
from treadle.model.types import Enum
from treadle.ports.store import ReadTx
from treadle.ports.tallies import FREE, HELD, LAPSED, Places, Tally, counted
from treadle.server.performing import effects_of
from treadle.store import split_url

PAGE: Final = 512
MOST: Final = 100_000
"""Log records of one sample; what is left over belongs to the next one."""
FRESH: Final = 2.0
"""Seconds for which a sample is good, so that many who ask cost one."""


class Clause(NamedTuple):
    """What an outcome of a command means for a lease: the operation and the clause that names the outcome."""

    workflow: str
    operation: str
    clause: str


class Items(NamedTuple):
    """A workflow's rows now. `oldest` is the age in seconds of what waits longest, or None."""

    workflow: str
    states: dict[str, int]
    held: int
    lapsed: int
    oldest: float | None


class Sample(NamedTuple):
    """What the store says. `lag` counts log records that the counters do not hold yet."""

    counters: dict[str, Counter[tuple[str, ...]]]
    items: list[Items]
    head: int
    lag: int
    floor: float
    wal: int | None


COUNTERS: Final = {
    "commands": ("command", "outcome"),
    "claims": ("workflow", "result"),
    "retries": ("workflow",),
    "leases_lost": ("workflow",),
    "leases_expired": ("workflow",),
    "fenced_writes": ("workflow",),
    "records": ("kind",),
}
"""Counters from the log and their labels: names that the contract declares, so there are few."""


class Sampler:
    """Samples a database; one for each process. `wal` is the path of the write-ahead log, if there is one."""

    def __init__(self, engine: Engine, wal: str | None = None) -> None:
        self._engine = engine
        self._wal = wal
        self._lock = threading.Lock()
        self._counters: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in COUNTERS}
        self._last: tuple[float, Sample] | None = None
        self._contracts: dict[bytes, Meanings] = {}
        with engine.store.read() as tx:
            self._position = tx.head().number

    def sample(self) -> Sample:
        """A sample, at most `FRESH` seconds old."""
        with self._lock:
            if self._last is None or monotonic() - self._last[0] > FRESH:
                self._last = (monotonic(), self._sample())
            return self._last[1]

    def _sample(self) -> Sample:
        engine = self._engine
        state = engine.refresh()
        with engine.store.read() as tx:
            head = tx.head()
            self._follow(tx, min(head.number, self._position + MOST))
            now = max(engine.clock.now(), head.time)
            items = [] if state.deployed is None else list(_items(tx, state.deployed, now))
        return Sample(
            {name: Counter(counts) for name, counts in self._counters.items()},
            items,
            head.number,
            head.number - self._position,
            (head.time - engine.clock.now()) / 1e6 if head.number else 0.0,
            _size(self._wal),
        )

    def _follow(self, tx: ReadTx, last: int) -> None:
        while self._position < last:
            end = min(last, self._position + PAGE)
            for entry in tx.log(self._position + 1, end):
                self._count(tx, record.decode(entry.data))
            self._position = end

    def _count(self, tx: ReadTx, stored: LogRecord) -> None:
        counters = self._counters
        counters["records"][stored.kind,] += 1
        if stored.kind != "command" or stored.contract is None:
            return
        counters["commands"][stored.name, stored.outcome or stored.failure or ""] += 1
        meanings = self._meanings(tx, stored.contract)
        if stored.success:
            for done in meanings.successes.get(stored.name, ()):
                self._succeeded(tx, done, [each for each in stored.changes if each.entity == done.entity])
            return
        answered = meanings.clauses.get((stored.name, stored.outcome or ""))
        claimed = meanings.claims.get(stored.name)
        if claimed is not None:
            same = answered is not None and answered.operation == "claim"
            counters["claims"][claimed, answered.clause if answered is not None and same else "other"] += 1
        elif answered is not None and answered.clause in ("invalid", "expired"):
            counters["fenced_writes"][answered.workflow,] += 1

    def _succeeded(self, tx: ReadTx, done: Success, changes: list[RowImage]) -> None:
        workflow = (done.workflow,)
        if done.operation == "expire":
            self._counters["leases_expired"][workflow] += len(changes)
        if done.operation != "claim":
            return
        for change in changes:
            self._counters["claims"][done.workflow, "won"] += 1
            if change.image is not None and _field(change.image, done.token) not in (None, 1):
                self._counters["retries"][workflow] += 1
            if _owner_before(tx, change, done.owner) is not None:
                self._counters["leases_lost"][workflow] += 1

    def _meanings(self, tx: ReadTx, identity: bytes) -> Meanings:
        found = self._contracts.get(identity)
        if found is None:
            found = meanings_of(states.load_contract(tx, identity.hex()))
            self._contracts[identity] = found
        return found


def _field(image: bytes, name: str) -> Any:
    fields: Any = canonical.decode(image)
    return fields.get(name)


def _owner_before(tx: ReadTx, change: RowImage, owner: str) -> Any:
    """Who held the row before a change: a claim that finds somebody takes a lease that was lost."""
    for entry in tx.log(change.before, change.before) if change.before else ():
        for earlier in record.decode(entry.data).changes:
            if (earlier.entity, earlier.key) == (change.entity, change.key) and earlier.image is not None:
                return _field(earlier.image, owner)
    return None


class Success(NamedTuple):
    """What the success of a command means for one workflow."""

    workflow: str
    entity: str
    operation: str
    owner: str
    token: str


class Meanings(NamedTuple):
    """What outcomes of a contract's commands mean: of failures by command and outcome, of successes, and
    which commands claim (in which workflow)."""

    clauses: dict[tuple[str, str], Clause]
    successes: dict[str, list[Success]]
    claims: dict[str, str]


CLAUSES: Final = ("stale", "unavailable", "invalid", "expired", "exhausted", "active")


def meanings_of(contract: c.Contract) -> Meanings:
    """What the outcomes of a contract's commands mean for its leases."""
    found = Meanings({}, {}, {})
    workflows = {workflow.name: workflow for workflow in contract.workflows}
    for command in contract.commands:
        for effect in lease_effects(command):
            workflow = workflows[effect.workflow]
            if workflow.lease is None:
                continue
            for clause in CLAUSES:
                outcome: c.Outcome | None = getattr(effect, clause)
                if outcome is not None:
                    meant = Clause(effect.workflow, effect.op, clause)
                    found.clauses.setdefault((command.name, outcome.name), meant)
            lease = workflow.lease
            success = Success(effect.workflow, workflow.entity, effect.op, lease.owner, lease.fencing_token)
            found.successes.setdefault(command.name, []).append(success)
            if effect.op == "claim":
                found.claims[command.name] = effect.workflow
    return found


def lease_effects(command: c.Command) -> Iterator[c.LeaseEffect]:
    """The lease operations of a command."""
    yield from (effect for effect in effects_of(command) if isinstance(effect, c.LeaseEffect))


def _items(tx: ReadTx, deployed: Deployed, now: int) -> Iterator[Items]:
    variants = {enum.name: enum.variants for enum in deployed.contract.enums}
    for workflow in deployed.contract.workflows:
        table = deployed.tables[workflow.entity]
        names = [column.field for column in table.columns]
        lease = workflow.lease
        places = Places(names.index(workflow.state))
        if lease is not None:
            places = Places(places.state, names.index(lease.owner), names.index(lease.expires_at))
        tallies = counted(tx, table, places, now)
        kind = table.columns[places.state].type
        counts = dict.fromkeys(variants[kind.name] if isinstance(kind, Enum) else (), 0)
        for each in tallies:
            counts[each.state] = counts.get(each.state, 0) + each.rows
        open_ = [each for each in tallies if each.state not in final_states(workflow)]
        yield Items(
            workflow.name,
            counts,
            sum(each.rows for each in open_ if each.hold == HELD),
            sum(each.rows for each in open_ if each.hold == LAPSED),
            _oldest(tx, open_, now),
        )


def final_states(workflow: c.Workflow) -> frozenset[str]:
    """States that no transition leaves: an item in one of them waits for nobody."""
    left = {source for each in workflow.transitions for source in each.sources if source != each.destination}
    reached = {each.destination for each in workflow.transitions}
    return frozenset(reached - left)


def _oldest(tx: ReadTx, tallies: list[Tally], now: int) -> float | None:
    """The age of what has waited longest: since it was last written, or since its lease ended."""
    times = [each.until for each in tallies if each.hold == LAPSED and each.until is not None]
    commits = [each.commit for each in tallies if each.hold == FREE]
    if commits:
        times += [entry.time for entry in tx.log(min(commits), min(commits))]
    return max(0.0, (now - min(times)) / 1e6) if times else None


def wal_path(url: str) -> str | None:
    """The path of a database's write-ahead log; None for a database that has none in the file system."""
    scheme, where = split_url(url)
    return f"{where}-wal" if scheme == "sqlite" else None


def _size(path: str | None) -> int | None:
    if path is None:
        return None
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
