"""The world of a run: one file on a disk that can fail, several handles on it, and what clients know."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sim.contract.script import HANDLES, WORKERS
from tests.faults.vfs import Fault, FaultyDisk, Keep, Kind
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.engine.receipt import Receipt
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.store.ids import SystemIds
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
YARD: Final = uuid.UUID(int=0xCAFE)
SOURCE: Final = Path(__file__).with_name("jobs.riff").read_text()


@dataclass
class Sent:
    """A request as a client sent it, and every answer that anyone heard to it."""

    command: str
    input: Mapping[str, Any]
    answers: list[Receipt | TreadleError] = field(default_factory=list)


@dataclass
class Known:
    """What a worker knows of a job: the revision and token that it saw last."""

    seen: int = 1
    token: int = 1


@dataclass
class Look:
    """A row as it was read, and the last commit that had been acknowledged before."""

    job: int
    revision: int | None
    commit: int | None
    acknowledged: int


class World:
    """Everything that a step can touch. Clients remember what they sent until they hear an answer."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.disk = FaultyDisk()
        self.path = folder / f"{seed}.db"
        self.clock = ManualClock(START)
        self.sent: dict[str, Sent] = {}
        self.unheard: list[str] = []
        self.known: dict[tuple[int, int], Known] = {}
        self.looks: list[Look] = []
        self.holders: dict[int, int] = {}
        self.acknowledged: dict[int, int] = {}
        self.version = 1
        self.faults: dict[str, int] = {}
        self._ids = SystemIds(random.Random(seed).randbytes)
        self._handles: list[Database | None] = [None] * HANDLES
        self._count = 0
        self.handle(0).deploy(SOURCE)

    def owner(self, worker: int) -> uuid.UUID:
        return uuid.UUID(int=0xA0 + worker % WORKERS)

    def handle(self, number: int) -> Database:
        """An open handle; it is opened again if a crash took it."""
        place = number % HANDLES
        found = self._handles[place]
        if found is None:
            store = open_database(str(self.path), vfs=self.disk.name)
            try:
                found = Database(Engine(store, self.clock, self._ids, maximum_jump=None), str(self.path))
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

    def fail(self, at: int, kind: Kind) -> None:
        """The disk will fail at its operation number `at` from now."""
        self.disk.arm(Fault(at, kind))

    def mend(self) -> None:
        """The disk is well again; handles that it confused are opened anew."""
        if self.disk.fired:
            self.faults["disk"] = self.faults.get("disk", 0) + 1
            for number in range(HANDLES):
                self.drop(number)
        self.disk.repair()
        self.disk.arm(None)

    def cut(self, keep: Keep) -> None:
        """The power goes: all processes end, and what was not flushed survives as `keep` says."""
        self.disk.break_now()
        for number in range(HANDLES):
            self.drop(number)
        self.disk.power_cut(keep)
        self.disk.repair()
        self.disk.arm(None)

    def close(self) -> None:
        self.disk.repair()
        for number in range(HANDLES):
            self.drop(number)
        for leftover in self.path.parent.glob(self.path.name + "*"):
            leftover.unlink()

    def new_key(self) -> str:
        self._count += 1
        return f"key-{self._count}"

    def send(self, key: str, handle: int, *, heard: bool = True) -> Receipt | TreadleError | None:
        """Send a request that is in `sent`; None if its answer was lost."""
        sent = self.sent[key]
        try:
            answer: Receipt | TreadleError = self.handle(handle).run(
                sent.command, sent.input, principal="sim"
            )
        except TreadleError as error:
            answer = error
        return self.hear(key, answer, heard=heard)

    def hear(self, key: str, answer: Receipt | TreadleError, *, heard: bool) -> Receipt | TreadleError | None:
        """A client hears an answer, or it is lost on the way."""
        settled = isinstance(answer, Receipt) or not isinstance(answer, OutcomeUnknown)
        if not heard or not settled:
            if key not in self.unheard:
                self.unheard.append(key)
            return None
        self.sent[key].answers.append(answer)
        if isinstance(answer, Receipt):
            if key in self.unheard:
                self.unheard.remove(key)
            if answer.workflow_revisions:
                job = self.sent[key].input["job"]
                self.acknowledged[job] = max(self.acknowledged.get(job, 0), answer.commit)
        return answer

    def advance(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def back(self, seconds: int) -> None:
        self.clock.set(self.clock_now() - timedelta(seconds=seconds))

    def clock_now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now() / 1_000_000, UTC)
