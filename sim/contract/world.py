"""The world of a run: one file on a disk that can fail, several handles on it, and a clock."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from sim.jobs.asking import QUERIES, SOURCE, Reply, failure, serve
from sim.jobs.clients import Ask, Clients, Talk
from sim.jobs.script import HANDLES
from tests.faults.vfs import Fault, FaultyDisk, Keep, Kind
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.errors import TreadleError
from treadle.store.ids import SystemIds
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """Everything that a step can touch."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.disk = FaultyDisk()
        self.path = folder / f"{seed}.db"
        self.clock = ManualClock(START)
        self.clients = Clients()
        self.faults: Counter[str] = Counter()
        self._ids = SystemIds(random.Random(seed).randbytes)
        self._handles: list[Database | None] = [None] * HANDLES
        self.handle(0).deploy(SOURCE, queries=QUERIES)

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

    def converse(self, talk: Talk) -> None:
        """Let a client talk to its end."""
        reply = None
        try:
            while True:
                reply = self._reply(talk.send(reply))
        except StopIteration:
            pass

    def _reply(self, ask: Ask) -> Reply:
        try:
            db = self.handle(ask.handle)
        except TreadleError as error:
            return failure(error)  # it could not be opened: the client comes back later
        return serve(db, ask.request)

    def drop(self, number: int) -> None:
        """A process ends without a word."""
        place = number % HANDLES
        found, self._handles[place] = self._handles[place], None
        if found is not None:
            found.close()

    def fail(self, at: int, kind: Kind) -> None:
        """The disk will fail at its operation number `at` from now."""
        self.disk.arm(Fault(at, kind))

    def mend(self, kind: Kind) -> None:
        """The disk is well again; handles that it confused are opened anew."""
        if self.disk.fired:
            self.faults[f"disk {kind}"] += 1
            for number in range(HANDLES):
                self.drop(number)
        self.disk.repair()
        self.disk.arm(None)

    def cut(self, keep: Keep) -> None:
        """The power goes: all processes end, and what was not flushed survives as `keep` says."""
        self.faults["power"] += 1
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

    def advance(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def back(self, seconds: int) -> None:
        self.faults["clock back"] += 1
        self.advance(-seconds)
