"""The world of a run: one file on a disk that can fail, handles on it, two clocks, and what was seen."""

from __future__ import annotations

import random
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from sim.scenario import Broken
from sim.work.script import HANDLES
from sim.work.seen import Seen
from sim.work.stage import Stage
from tests.faults.vfs import Fault, FaultyDisk, Keep, Kind
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.engine.deployment import Proposal
from treadle.errors import TreadleError
from treadle.model.contract import Contract
from treadle.queries.deploying import proposed
from treadle.riff import compile_contract
from treadle.store.ids import SystemIds
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock
from treadle.workers.patience import Pace

START: Final = datetime(2026, 3, 27, tzinfo=UTC)
"""Two days before summer time begins in Berlin."""
SOURCE: Final = Path(__file__).with_name("work.riff").read_text()
QUERIES: Final = Path(__file__).with_name("work.riffq").read_text()
COMMANDS: Final = ("Claim", "Renew", "Release", "Note", "Finish", "Complete", "Retry", "Bury", "Ring")
CREW_ROLE: Final = Role(
    "crew", commands=COMMANDS, queries=("OpenJobs", "ShowJob"), streams=("Queued", "Ended")
)


@cache
def compiled(text: str) -> Contract:
    """A contract, compiled once in all worlds."""
    found = compile_contract(text).contract
    if found is None:
        raise Broken("the contract of this scenario does not compile")
    return found


class Quick(Database):
    """A database that is deployed many times a second."""

    def _proposal(
        self, contract: Any, expected_version: Any, queries: Any, roles: Any, caller: Caller
    ) -> Proposal:
        state = self._engine.state
        version = state.deployed.version if state.deployed else 0
        found = compiled(contract)
        named = proposed(queries, found, state.queries)
        return Proposal(found, contract, version, roles, caller, queries=named)


class World:
    """Everything that a step can touch. `passed` are the seconds that truly went by."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.disk = FaultyDisk()
        self.path = folder / f"{seed}.db"
        self.clock = ManualClock(START)
        self.passed = 0.0
        self.jumps = 0
        self.stage = Stage()
        self.pace = SimPace(self)
        self.seen = Seen()
        self.faults: Counter[str] = Counter()
        self.version = 1
        self.stops: list[threading.Event] = []
        self.bells: list[Any] = []
        self.gave_up: list[TreadleError] = []
        self._ids = SystemIds(random.Random(seed).randbytes)
        self._handles: list[Database | None] = [None] * HANDLES
        self._head = (0, 0)
        self.handle(0).deploy(SOURCE, queries=QUERIES, roles=[CREW_ROLE])

    # The file and its handles.

    def handle(self, number: int) -> Database:
        """An open handle; it is opened again if a crash took it."""
        place = number % HANDLES
        found = self._handles[place]
        if found is None:
            store = open_database(str(self.path), vfs=self.disk.name)
            try:
                found = Quick(Engine(store, self.clock, self._ids, maximum_jump=None), str(self.path))
            except BaseException:
                store.close()
                raise
            self._handles[place] = found
        return found

    def drop(self, number: int) -> None:
        """A handle is gone without a word."""
        place = number % HANDLES
        found, self._handles[place] = self._handles[place], None
        if found is not None:
            found.close()

    def drop_all(self) -> None:
        for number in range(HANDLES):
            self.drop(number)

    def fail(self, at: int, kind: Kind) -> None:
        """The disk will fail at its operation number `at` from now."""
        self.disk.arm(Fault(at, kind))

    def mend(self, kind: Kind) -> None:
        """The disk is well again; handles that it confused are opened anew."""
        if self.disk.fired:
            self.faults[f"disk {kind}"] += 1
            self.drop_all()
        self.disk.repair()
        self.disk.arm(None)

    def cut(self, keep: Keep) -> None:
        """The power goes: what was not flushed survives as `keep` says."""
        self.faults["power"] += 1
        self.disk.break_now()
        self.drop_all()
        self.disk.power_cut(keep)
        self.disk.repair()
        self.disk.arm(None)

    def close(self) -> None:
        self.disk.repair()
        self.drop_all()

    def deploy(self, version: int, roles: list[Role]) -> None:
        """Deploy a version of the contract: each has a command more than the one before."""
        touch = "input yard: u64 input job: u64 read Job(yard, job) as it else Missing {} return Seen {}"
        more = "".join(f" command Touch{number} {{ {touch} }}" for number in range(2, version + 1))
        text = SOURCE.replace("version 1", f"version {version}").rstrip().removesuffix("}") + more + "}"
        self.handle(0).deploy(text, queries=QUERIES, roles=roles)
        self.version = version

    # Time.

    def advance(self, seconds: float) -> None:
        """Time goes by, for the database's clock and for every process."""
        self.clock.advance(timedelta(seconds=seconds))
        self.passed += seconds

    def jump(self, seconds: int) -> None:
        """The database's clock is set; no time goes by."""
        self.faults["clock forward" if seconds > 0 else "clock back"] += 1
        self.jumps += 1
        self.clock.advance(timedelta(seconds=seconds))

    def head(self) -> int:
        """The last record's number, as far as it can be read."""
        return self._look()[0]

    def time(self) -> int:
        """The database's time in microseconds."""
        return max(self._look()[1], self.clock.now())

    def _look(self) -> tuple[int, int]:
        for db in self._handles:
            if db is not None:
                try:
                    with db._engine.store.read() as tx:
                        head = tx.head()
                except TreadleError:
                    continue
                self._head = (head.number, head.time)
                break
        return self._head

    def row(self, yard: int, job: int) -> Any:
        """A job's row as it is, or None where it cannot be read now."""
        for db in self._handles:
            if db is not None:
                try:
                    return db.row("Job", (yard, job))
                except TreadleError:
                    continue
        return None

    def settle(self) -> None:
        """Raise what was found wrong in the middle of something, where nobody would have let it through."""
        if self.seen.wrong:
            raise Broken(self.seen.wrong[0])


class SimPace(Pace):
    """Time as a simulated process sees it: nobody sets this clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> float:
        return self._world.passed

    def wait(self, event: threading.Event, seconds: float) -> bool:
        until = self._world.passed + seconds
        task = self._world.stage.current
        while not event.is_set() and self._world.passed < until:
            if task is None:
                self._world.advance(until - self._world.passed)
                break
            self._world.stage.wait(event, until)
        return event.is_set()
