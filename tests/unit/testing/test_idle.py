"""Workers run until idle: what one makes for another, what waits for its time, what never ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

import treadle
from tests.support import jobs
from tests.support.engines import START
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock, run_until_idle


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with jobs.jobs(MemoryStore(), clock) as made:
        yield made


def test_everything_is_done_and_counted(db: Database) -> None:
    jobs.queue(db, [1, 2, 3])
    worker = treadle.Worker(lambda job, turn: None, name="all", **jobs.FULL)
    counts = run_until_idle(db, worker)
    assert (counts["finished"], counts["claims_won"], counts["failed"]) == (3, 3, 0)
    assert jobs.states(db, [1, 2, 3]) == {"Done": 3}
    assert run_until_idle(jobs.service(db), worker)["finished"] == 0, "counts are of this call alone"


def test_what_one_worker_makes_another_does(db: Database) -> None:
    jobs.queue(db, [1], shop="Bonn")

    def pass_on(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        jobs.queue(db, [job["number"] + 10])

    first = treadle.Worker(pass_on, name="first", **{**jobs.FULL, "parameters": {"shop": "Bonn"}})
    second = treadle.Worker(lambda job, turn: None, name="second", **jobs.FULL)
    run_until_idle(db, second, first)
    assert jobs.job(db, 11)["state"] == "Done"


def test_what_is_not_due_waits_for_the_clock(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1], due_at=START + timedelta(hours=1))
    worker = treadle.Worker(lambda job, turn: None, name="due", **{**jobs.FULL, "query": "DueJobs"})
    assert run_until_idle(db, worker)["finished"] == 0
    clock.advance(timedelta(hours=1))
    assert run_until_idle(db, worker)["finished"] == 1


def test_a_handler_that_fails_is_not_tried_for_ever(db: Database) -> None:
    jobs.queue(db, [1])

    def fail(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        raise ValueError("no paper")

    worker = treadle.Worker(fail, name="poor", **{**jobs.FULL, "backoff": 60.0})
    assert run_until_idle(db, worker)["failed"] == 1
    assert jobs.job(db, 1)["state"] != "Done"


def test_workers_that_never_come_to_an_end_are_stopped(db: Database) -> None:
    jobs.queue(db, [1])

    def more(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        jobs.queue(db, [job["number"] + 1])

    worker = treadle.Worker(more, name="endless", **jobs.FULL)
    with pytest.raises(AssertionError, match=r"endless still had something to do after 0\.3 seconds"):
        run_until_idle(db, worker, seconds=0.3)
