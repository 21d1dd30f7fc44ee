"""Leases: renewed while a handler runs, and a handler that is told when its lease is lost."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.support.jobs import (
    EVENTS,
    FULL,
    OPEN,
    TURN,
    WORKER_ROLE,
    deploy,
    fast_jobs,
    job,
    outcomes,
    queue,
    run,
    service,
    states,
    stop_when,
)
from tests.support.pace import FastTime
from treadle.access.roles import Role
from treadle.errors import LeaseLost
from treadle.workers import Hooks, Turn, Worker
from treadle.workers.patience import Pace
from treadle.workers.renewal import Renewer


def test_the_lease_is_renewed_while_the_handler_runs() -> None:
    pace = FastTime(60)  # a lease of half a second: a busy machine must not end it
    db = fast_jobs(pace)
    queue(db, [0])

    def work(row: Any, turn: Turn) -> None:
        first = turn.revision
        pace.sleep(120)
        assert not turn.lost.is_set() and turn.revision > first
        turn.check()

    made = Worker(work, name="w", **{**FULL, "lease": 30}, pace=pace)
    run(made, db)
    assert states(db, [0]) == {"Done": 1}
    assert made.counters["renewed"] >= 5 and made.counters["lost"] == 0
    assert job(db, 0)["tries"] == 1
    assert db.verify().ok


def test_a_stream_holds_the_event_as_long_as_the_row() -> None:
    pace = FastTime(60)
    db = fast_jobs(pace)
    queue(db, [0])
    made = Worker(lambda row, turn: pace.sleep(120), name="w", **EVENTS, lease=30, pace=pace)
    run(made, db)
    assert states(db, [0]) == {"Done": 1}
    consumer = db.streams().consumers()[0]
    assert (consumer.open, consumer.dead) == (0, 0)
    assert job(db, 0)["tries"] == 1


def test_a_handler_is_told_that_its_lease_is_lost() -> None:
    """The contract's only renewal is refused, since the role does not allow it: the lease runs out."""
    pace = FastTime(100)
    db = fast_jobs(pace)
    queue(db, [0])
    allowed = [one for one in WORKER_ROLE.commands if one != "Renew"]
    deploy(db, [Role("worker", commands=tuple(allowed), queries=WORKER_ROLE.queries)])
    told: list[bool] = []

    def work(row: Any, turn: Turn) -> None:
        told.append(turn.lost.wait(10))
        with pytest.raises(LeaseLost):
            turn.check()
        with pytest.raises(LeaseLost):
            turn.run("Start")
        if len(told) == 2:
            deploy(db, [WORKER_ROLE])

    made = Worker(work, name="w", **{**OPEN, **TURN}, lease=5, pace=pace)
    stopper = stop_when(made, lambda: len(told) >= 2)
    made.run(service(db, "worker"))
    stopper.join(10)
    assert told[:2] == [True, True]
    assert made.counters["lost"] >= 2 and made.counters["finished"] == 0
    assert db.verify().ok


def test_an_async_handler_is_stopped_when_its_lease_is_lost() -> None:
    pace = FastTime(100)
    db = fast_jobs(pace)
    queue(db, [0])
    allowed = [one for one in WORKER_ROLE.commands if one != "Renew"]
    deploy(db, [Role("worker", commands=tuple(allowed), queries=WORKER_ROLE.queries)])
    ended: list[str] = []

    async def work(row: Any, turn: Turn) -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    made = Worker(work, name="w", **{**OPEN, **TURN}, lease=5, pace=pace)
    stopper = stop_when(made, lambda: bool(ended))
    made.run(service(db, "worker"))
    stopper.join(10)
    assert "cancelled" in ended
    assert states(db, [0]) == {"Waiting": 1}


class Halted(Pace):
    """A process that stands still until a test moves it on: its clock, and its threads that wait."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.seconds

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        return event.wait(10)


def test_a_handler_that_asks_late_is_told_though_no_renewal_has_noticed(db) -> None:
    pace = Halted()
    queue(db, [0])
    told: list[str] = []

    def work(row: Any, turn: Turn) -> None:
        pace.seconds += 61  # the process stood still, and the thread of the renewals with it
        try:
            turn.check()
        except LeaseLost:
            told.append("lost")
            raise

    made = run(Worker(work, name="w", **{**FULL, "lease": 60}, pace=pace), db)
    assert told == ["lost"] and made.counters["lost"] == 1
    assert outcomes(db, "Finish") == {}


def test_a_handler_is_not_called_once_the_lease_is_over(db) -> None:
    pace = Halted()
    queue(db, [0])
    called: list[Any] = []

    class Standing(Hooks):
        def at(self, boundary: str, item: Any) -> None:
            if boundary == "claimed":
                pace.seconds += 61

    options = {**OPEN, **TURN, "lease": 60, "hooks": Standing(), "pace": pace}
    made = run(Worker(lambda row, turn: called.append(row), name="w", **options), db)
    assert called == [] and made.counters["lost"] == 1


class Released:
    """A turn whose row was released, and whose stream does not answer that its event is settled."""

    released = True
    deadline = 60.0

    def __init__(self, renewer: Renewer, pace: Halted) -> None:
        self.lost = threading.Event()
        self._renewer = renewer
        self._pace = pace

    def watch(self) -> None:
        self._renewer._ended = len(self._pace.waits) >= 3
        self._renewer._wake.set()

    def renew(self) -> bool:
        return True


def test_renewals_do_not_spin_over_a_row_that_was_released_long_ago() -> None:
    pace = Halted()
    renewer = Renewer(pace, 60, 1, lambda turn: None, lambda: None)
    turn: Any = Released(renewer, pace)
    renewer.add(turn)
    pace.seconds = 61.0
    renewer._put_off(turn, 20.0)
    renewer._loop()
    assert pace.waits and min(pace.waits) > 1, pace.waits
