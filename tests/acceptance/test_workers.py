"""Workers as real processes: crashed, expired, overtaken, revoked, woken twice at every boundary of a turn.

A process stops at a boundary and is told what happens to it there. Time is the test's: each process has a
clock that it is told to set, and the database's time is never before its last commit.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support import turns
from tests.support.engines import START
from tests.support.jobs import WORKER_ROLE, deploy, job, outcomes, queue, remind, service, states
from tests.support.processes import context, start
from treadle.access.roles import Role
from treadle.database import Database
from treadle.testing import ManualClock
from treadle.workers import Worker

BOUNDARIES = ("selected", "claimed", "started", "handled", "finished", "released", "acknowledged")
SOURCES = tuple(turns.SOURCES)
CONCLUDED = ("finished", "released", "acknowledged")
"""Boundaries at which the business command has been carried out."""


class Process:
    """A second process at work, and everything that it said."""

    def __init__(self, path: str, source: str, boundary: str, role: str | None = None) -> None:
        self.pipe, theirs = context().Pipe()
        self.process = start(turns.work, path, theirs, source, boundary, role)
        theirs.close()
        self.handled: list[int] = []
        self.ended: tuple[Any, ...] | None = None
        self.listen("at")

    def listen(self, until: str) -> None:
        """Hear what the process says, until it says this, or is gone."""
        try:
            while True:
                assert self.pipe.poll(30), "the process says nothing"
                what, *said = self.pipe.recv()
                if what == "handled":
                    self.handled.append(said[0])
                if what == "ended":
                    self.ended = tuple(said)
                if what == until:
                    return
        except EOFError:
            assert until == "the end"

    def crash(self) -> None:
        self.pipe.send("die")
        self.listen("the end")
        self.process.join(30)
        assert self.process.exitcode == -signal.SIGKILL

    def go_on(self, clock: float | None = None) -> dict[str, int]:
        """Let it go on, with its clock set to so many seconds after the start; its counts in the end."""
        if clock is not None:
            self.pipe.send(clock)
        self.pipe.send("go")
        self.listen("ended")
        self.process.join(30)
        assert self.process.exitcode == 0 and self.ended is not None
        counts: dict[str, int] = self.ended[1]
        return counts


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A database with one job that waits."""
    name = str(tmp_path / "jobs.db")
    with opened(name) as db:
        deploy(db)
        queue(db, [0])
    return name


@contextmanager
def opened(path: str, seconds: float = 0) -> Iterator[Database]:
    """The database in this process, so many seconds after the start."""
    with treadle.open(path, clock=ManualClock(START + timedelta(seconds=seconds))) as db:
        yield db


def finish(path: str, source: str, seconds: float) -> list[int]:
    """Another worker does what is left, as time goes on; what its handler was called with."""
    handled: list[int] = []
    with opened(path, seconds) as db:
        worker = Worker(lambda row, turn: handled.append(row["number"]), **turns.SOURCES[source])
        for step in range(6):
            clock: Any = db._engine.clock
            clock.set(START + timedelta(seconds=seconds + 61 * step))
            worker.run(service(db), until_idle=True)
    return handled


def check(path: str, source: str) -> None:
    """The job is done, was concluded once, is held by nobody, and everything agrees."""
    with opened(path, 10_000) as db:
        assert states(db, [0]) == {"Done": 1}
        assert job(db, 0)["runs"] == 1
        assert outcomes(db, "Finish")["Finished"] == 1
        if source == "stream":
            status = db.streams().consumers()[0]
            assert (status.open, status.dead, status.behind) == (0, 0, 0)
        report = db.verify()
        assert report.ok, report.problems


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_crash(path: str, source: str, boundary: str) -> None:
    process = Process(path, source, boundary)
    process.crash()
    again = finish(path, source, 61)
    times = len(process.handled) + len(again)
    assert times == 1 or (times == 2 and boundary == "handled"), "handled again only if nothing said it was"
    check(path, source)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_lease_that_ends_while_nobody_else_is_there(path: str, source: str, boundary: str) -> None:
    process = Process(path, source, boundary)
    counts = process.go_on(clock=100)
    again = finish(path, source, 200)
    assert counts["finished"] + len(again) >= 1
    if boundary in ("claimed", "started", "handled"):
        assert counts["lost"] == 1 and counts["finished"] == 0
        assert again == [0]
    check(path, source)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_stale_worker_changes_nothing_more(path: str, source: str, boundary: str) -> None:
    """It stops, its lease and its event's end, another one does the work; then it goes on."""
    process = Process(path, source, boundary)
    again = finish(path, source, 61)
    with opened(path, 500) as db:
        before = essence(db)
        assert before["state"] == "Done"
    counts = process.go_on(clock=600)
    assert counts["finished"] == (boundary in CONCLUDED)
    with opened(path, 700) as db:
        assert essence(db) == before
    assert len(again) == (0 if boundary in CONCLUDED else 1)
    check(path, source)


def essence(db: Database) -> dict[str, Any]:
    """The job without its lease, which its last holder may still give up."""
    row = job(db, 0)
    return {name: row[name] for name in ("state", "runs", "result", "token", "tries")}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_right_that_is_taken_away(path: str, source: str, boundary: str) -> None:
    """Whatever it does next is denied; when the right is given back, the work is done, once."""
    with opened(path) as db:
        deploy(db, [WORKER_ROLE])
    process = Process(path, source, boundary, role="worker")
    with opened(path) as db:
        deploy(db, [Role("worker")])
        before = db.head[0]
    counts = process.go_on()
    assert process.ended is not None
    assert (
        process.ended[0] == "denied" or counts["errors"] + counts["lost"] >= 1 or boundary == "acknowledged"
    )
    with opened(path) as db:
        assert db.head[0] == before, "nothing was recorded without the right"
        deploy(db, [WORKER_ROLE])
    again = finish(path, source, 61)
    assert len(process.handled) + len(again) == 1 + (boundary in ("started", "handled"))
    check(path, source)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_second_event_about_the_same_occasion(path: str, boundary: str) -> None:
    """The job is announced again while it is being worked on: whoever is woken finds it in hand, or done."""
    process = Process(path, "stream", boundary)
    with opened(path) as db:
        remind(db, 0, "again")
    first = finish(path, "stream", 1)
    assert len(first) <= 1
    process.go_on(clock=500)
    finish(path, "stream", 600)
    with opened(path, 10_000) as db:
        assert outcomes(db, "Finish")["Finished"] == 1
        assert db.streams().consumers()[0].open == 0
        assert db.verify().ok


def test_no_job_is_done_twice_by_four_processes(tmp_path: Path) -> None:
    path, jobs = str(tmp_path / "jobs.db"), 60
    with treadle.open(path) as db:
        deploy(db)
        queue(db, range(jobs))
    pipes, processes = [], []
    for _ in range(4):
        pipe, theirs = context().Pipe()
        pipes.append(pipe)
        processes.append(start(turns.work_off, path, theirs, 2))
    done = [number for pipe in pipes for number in pipe.recv()]
    for process in processes:
        process.join(30)
    assert sorted(done) == list(range(jobs))
    with treadle.open(path) as db:
        assert outcomes(db, "Finish") == {"Finished": jobs}
        assert db.verify().ok


# Signals.


def serving(path: str) -> tuple[Any, Connection]:
    pipe, theirs = context().Pipe()
    process = start(turns.serve_until_told, path, theirs)
    theirs.close()
    assert pipe.poll(30)
    assert pipe.recv() == ("began", 0)
    return process, pipe


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_turns_end(path: str, number: int) -> None:
    with opened(path) as db:
        queue(db, [1, 2])
    process, pipe = serving(path)
    os.kill(process.pid, number)
    assert not pipe.poll(0.1), "it waits for the turn that began"
    pipe.send("end")
    assert pipe.poll(30)
    what, counts = pipe.recv()
    process.join(30)
    assert process.exitcode == 0
    assert (what, counts["finished"], counts["claims_won"]) == ("ended", 1, 1)
    with opened(path, 1) as db:
        assert states(db, range(3)) == {"Done": 1, "Waiting": 2}
        assert job(db, 0)["owner"] is None


def test_the_second_signal_ends_the_process(path: str) -> None:
    process, pipe = serving(path)
    os.kill(process.pid, signal.SIGTERM)
    assert not pipe.poll(0.1)
    os.kill(process.pid, signal.SIGTERM)
    process.join(30)
    assert process.exitcode == 128 + signal.SIGTERM
    with opened(path, 1) as db:
        assert job(db, 0)["owner"] is not None, "what it held is left to its lease"
    assert finish(path, "query", 61) == [0]
    check(path, "query")
