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
    """A request by its number, with the time that the process's clock is put to."""

    number: int
    now: datetime
    request: Request
    doom: Doom | None = None


class Served(NamedTuple):
    """The reply to an order, and whether the disk failed meanwhile."""

    number: int
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
        self._opening = threading.Lock()

    def carry_out(self, order: Order) -> Served:
        """Carry out a request, and meet its doom. A failing disk (`doom.how`) is for one request alone."""
        self._clock.set(order.now)
        doom = order.doom
        if doom is None or doom.how == "soon":
            return Served(order.number, self._reply(order.request))
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
        self._disk.deadly_at = 0
        return Served(order.number, reply, doom.how == "disk" and self._recovers())

    def _recovers(self) -> bool:
        """The disk is well again; after a failure the database is opened anew."""
        failed = self._disk.fired
        if failed:
            self.close()
        self._disk.repair()
        self._disk.arm(None)
        return failed

    def _reply(self, request: Request) -> Reply:
        try:
            return serve(self._open(), request)
        except TreadleError as error:
            return failure(error)

    def _open(self) -> Database:
        with self._opening:
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
    desk = Desk(pipe, server)
    try:
        while (order := pipe.recv()) is not None:
            desk.take(order)
    except (EOFError, ConnectionResetError):
        pass  # the simulator is gone
    desk.wait()
    server.close()


class Desk:
    """Carries out orders on a thread each, so that those that come together share a batch."""

    def __init__(self, pipe: Connection, server: Server) -> None:
        self._pipe = pipe
        self._server = server
        self._sending = threading.Lock()
        self._running: list[threading.Thread] = []

    def take(self, order: Order) -> None:
        """Begin an order. One whose disk fails is alone: what fails is then its own."""
        alone = order.doom is not None and order.doom.how == "disk"
        if alone:
            self.wait()
        thread = threading.Thread(target=self._carry_out, args=(order,))
        thread.start()
        self._running = [thread, *filter(threading.Thread.is_alive, self._running)]
        if alone:
            self.wait()

    def wait(self) -> None:
        """Wait for everything that was begun."""
        for thread in self._running:
            thread.join()
        self._running.clear()

    def _carry_out(self, order: Order) -> None:
        served = self._server.carry_out(order)
        with self._sending:
            try:
                self._pipe.send(served)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the simulator is gone
