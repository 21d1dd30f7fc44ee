"""What a process does: it carries out what comes through its pipe, or dies on the way."""

from __future__ import annotations

import importlib
import os
import random
import signal
import threading
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Final, Literal, NamedTuple, NoReturn

from sim.jobs.asking import Reply, Request, failure, serve
from tests.faults.vfs import Fault, FaultyDisk, Kind, Operation
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.errors import TreadleError
from treadle.registry import load
from treadle.store.ids import SystemIds
from treadle.store.sqlite import checkpoint, open_database
from treadle.testing import ManualClock

for _part in ("queries", "queries.deploying", "evolving", "riff"):
    load(_part)  # once, in the server that processes are forked from

EPOCH: Final = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
TICK: Final = 0.0001

How = Literal["before", "during", "after", "soon", "disk"]
"""Killed before the request, at an operation of the disk while it runs, after it was carried out and before
the answer leaves, or from outside after a while; or the disk fails at an operation, and the process lives."""


class Doom(NamedTuple):
    """What befalls a process while it has a request: the number of an operation of the disk, or of 100 µs."""

    how: How
    number: int = 0
    kind: Kind = "error"


class Order(NamedTuple):
    """A request with the time that the process's clock is put to."""

    now: datetime
    request: Request
    doom: Doom | None = None


class Served(NamedTuple):
    """A reply, and whether the disk failed meanwhile."""

    reply: Reply
    failed: bool = False


class DeadlyDisk(FaultyDisk):
    """A disk that can also take its process with it."""

    deadly_at = 0

    def allows(self, operation: Operation, grows: bool = False) -> Kind | None:
        if self.deadly_at:
            self.deadly_at -= 1
            if not self.deadly_at:
                _die()
        return super().allows(operation, grows)


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit  # never reached


SHORT: Final = {"PAGES": 40, "LONG_LOG": 80, "BUSY_PAGES": 20}
"""Of how many pages some processes think much: so checkpoints come in a short life too."""


class Server:
    """One process: its disk, its clock and, once it was asked something, its open database.

    Some processes have a disk that can fail, the others the system's own; some checkpoint early.
    """

    def __init__(self, path: str, seed: int) -> None:
        dice = random.Random(seed)
        self._path = path
        self._disk = DeadlyDisk()
        self._vfs = self._disk.name if dice.random() < 0.6 else None
        self._clock = ManualClock(EPOCH)
        self._ids = SystemIds(dice.randbytes)
        if dice.random() < 0.5:
            for name, pages in SHORT.items():
                setattr(checkpoint, name, pages)
        self._db: Database | None = None

    def carry_out(self, order: Order) -> Served:
        """Carry out a request, and meet its doom."""
        self._clock.set(order.now)
        doom = order.doom
        if doom is None or doom.how == "soon":
            return Served(self._reply(order.request))
        if doom.how == "before":
            _die()
        watch = threading.Timer(doom.number * TICK, _die)
        if doom.how == "disk":
            self._disk.arm(Fault(doom.number, doom.kind))
        elif doom.how == "during" and self._vfs:
            self._disk.deadly_at = doom.number
        elif doom.how == "during":
            watch.start()
        reply = self._reply(order.request)
        watch.cancel()
        if doom.how == "after":
            _die()
        return self._recovered(reply)

    def _recovered(self, reply: Reply) -> Served:
        """The disk is well again; after a failure the database is opened anew."""
        failed, self._disk.deadly_at = self._disk.fired, 0
        if failed:
            self.close()
        self._disk.repair()
        self._disk.arm(None)
        return Served(reply, failed)

    def _reply(self, request: Request) -> Reply:
        try:
            return serve(self._open(), request)
        except TreadleError as error:
            return failure(error)

    def _open(self) -> Database:
        if self._db is None:
            store = open_database(self._path, vfs=self._vfs)
            try:
                self._db = Database(Engine(store, self._clock, self._ids, maximum_jump=None), self._path)
            except BaseException:
                store.close()
                raise
        return self._db

    def close(self) -> None:
        """Close the database, if it is open."""
        found, self._db = self._db, None
        if found is not None:
            found.close()


def main(pipe: Connection, path: str, seed: int, defect: str | None) -> None:
    """The process: serve until the pipe ends. `defect`, as module:name, is a function that breaks Treadle."""
    if defect:
        module, _, name = defect.partition(":")
        getattr(importlib.import_module(module), name)()
    server = Server(path, seed)
    try:
        while True:
            order = pipe.recv()
            if order is None:
                break
            pipe.send(server.carry_out(order))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the simulator is gone
    server.close()
