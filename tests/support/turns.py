"""Second processes that work off jobs, and stop at a boundary of a turn until they are told how to go on."""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any, Final

import treadle
from tests.support.engines import START
from tests.support.jobs import EVENTS, FULL, service
from treadle.errors import TreadleError
from treadle.testing import ManualClock
from treadle.workers import Hooks, Turn, Worker
from treadle.workers.service import serve

QUERY: Final = {**FULL, "name": "turns", "attempts": 10}
STREAM: Final = {**EVENTS, "name": "turns", "consumer": "turns", "start": "Start", "lookup": "ShowJob"}
SOURCES: Final = {"query": QUERY, "stream": STREAM}


class Stopping(Hooks):
    """Stops once at a boundary and does what it is told: go on, die, or set the clock first."""

    def __init__(self, boundary: str, pipe: Connection, clock: ManualClock) -> None:
        self._boundary = boundary
        self._pipe = pipe
        self._clock = clock
        self._lock = threading.Lock()
        self._stopped = False

    def at(self, boundary: str, item: Any) -> None:
        with self._lock:
            if boundary != self._boundary or self._stopped:
                return
            self._stopped = True
            self._pipe.send(("at", boundary))
            while (told := self._pipe.recv()) != "go":
                if told == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                self._clock.set(START + timedelta(seconds=told))


def work(path: str, pipe: Connection, source: str, boundary: str, role: str | None) -> None:
    """Work until idle, stopping at a boundary; say what was handled, and how it ended."""
    clock = ManualClock(START)
    with treadle.open(path, clock=clock) as db:
        hooks = Stopping(boundary, pipe, clock)

        def handle(row: Any, turn: Turn) -> dict[str, Any]:
            pipe.send(("handled", row["number"], turn.fence))
            return {"result": f"by fence {turn.fence}"}

        worker = Worker(handle, **SOURCES[source], hooks=hooks)
        try:
            worker.run(service(db, role), until_idle=True)
        except TreadleError as error:
            pipe.send(("ended", error.code, dict(worker.counters.snapshot())))
        else:
            pipe.send(("ended", None, dict(worker.counters.snapshot())))


def serve_until_told(path: str, pipe: Connection) -> None:
    """Serve a worker whose handler says that it began, and ends when it is told; then say what was done."""
    clock = ManualClock(START)
    with treadle.open(path, clock=clock) as db:

        def handle(row: Any, turn: Turn) -> None:
            pipe.send(("began", row["number"]))
            pipe.recv()

        worker = Worker(handle, **QUERY)
        serve([worker], service(db))
        pipe.send(("ended", dict(worker.counters.snapshot())))


def work_off(path: str, pipe: Connection, count: int) -> None:
    """Several workers in one process, with the real clock, until there is nothing left."""
    with treadle.open(path) as db:
        done: list[int] = []
        workers = [
            Worker(lambda row, turn: done.append(row["number"]), **QUERY, concurrency=4) for _ in range(count)
        ]
        threads = [
            threading.Thread(target=worker.run, args=(service(db),), kwargs={"until_idle": True})
            for worker in workers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send(done)


def work_for_ever(path: str, pipe: Connection) -> None:
    """A worker with the real clock and short leases, until it is killed; it says what it handled."""
    with treadle.open(path) as db:
        options = {**QUERY, "lease": 5, "poll": 0.02}
        worker = Worker(lambda row, turn: pipe.send(row["number"]), **options, concurrency=2)
        pipe.send("ready")
        worker.run(service(db))


class Dying(Hooks):
    """Ends its process at a boundary, without a word."""

    def __init__(self, boundary: str) -> None:
        self._boundary = boundary

    def at(self, boundary: str, item: Any) -> None:
        if boundary == self._boundary:
            os.kill(os.getpid(), signal.SIGKILL)


def die_over_http(url: str, token: str, shop: str, boundary: str) -> None:
    """Work on one shop's jobs over HTTP, with short leases, and die at a boundary."""
    options: dict[str, Any] = {**QUERY, "parameters": {"shop": shop}, "lease": 5, "hooks": Dying(boundary)}
    with treadle.connect(url, token=token, instance=f"dead/{boundary}") as remote:
        Worker(lambda row, turn: {"result": f"by fence {turn.fence}"}, **options).run(remote)
