"""Workers run until idle: what one makes for another, what waits for its time, what never ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import treadle
from tests.support import jobs
from tests.support.engines import START
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import Crashed, ManualClock, run_until_idle


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


# With a clock that goes by itself from one due moment to the next.

HOUR = timedelta(hours=1)


def test_a_schedule_fires_each_time_on_the_way(db: Database, clock: ManualClock) -> None:
    hourly = treadle.Schedule(
        "hourly",
        command="Queue",
        cron="0 * * * *",
        input=lambda due: {
            "shop": jobs.SHOP, "number": due.hour, "title": "t", "priority": 1, "due_at": due + HOUR / 2,
        },
    )  # fmt: skip
    done: list[tuple[int, datetime]] = []
    worker = treadle.Worker(
        lambda job, turn: done.append((job["number"], turn.now())),
        name="due",
        **{**jobs.FULL, "query": "DueJobs"},
    )
    counts = run_until_idle(db, hourly, worker, until=timedelta(hours=3, minutes=10))
    assert clock.time == START + timedelta(hours=3, minutes=10)
    assert (counts["fired"], counts["finished"]) == (3, 2)
    first = START.replace(minute=0) + HOUR
    assert done == [(first.hour, first + HOUR / 2), (first.hour + 1, first + HOUR * 3 / 2)]
    assert run_until_idle(db, hourly, worker, until=clock.time + HOUR)["finished"] == 1
    assert run_until_idle(db, hourly, until=clock.time)["fired"] == 0
    clock.advance(HOUR)
    assert run_until_idle(db, hourly)["fired"] == 1, "it applies since it was first run, without a start too"


def test_what_failed_is_tried_again_in_its_time(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1, 2])
    tried: list[datetime] = []

    def fail(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        if job["number"] == 1:
            tried.append(turn.now())
            raise ValueError("no paper")

    worker = treadle.Worker(fail, name="poor", **{**jobs.FULL, "backoff": 60.0, "attempts": 3})
    assert run_until_idle(db, worker)["failed"] == 1, "a round more for the other job does not try it sooner"
    counts = run_until_idle(db, worker, until=HOUR)
    assert (counts["failed"], counts["dead_letters"]) == (2, 1)
    assert 45 <= (tried[1] - tried[0]).total_seconds() <= 60 <= (tried[2] - tried[1]).total_seconds() + 31
    assert jobs.job(db, 1)["state"] == "Dead" and clock.time == START + HOUR


def test_a_lease_that_nobody_ends_runs_out_on_the_way(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1])

    def die(job: Mapping[str, Any], turn: treadle.workers.Turn) -> None:
        if turn.fence == 1:
            raise Crashed

    worker = treadle.Worker(die, name="mortal", **jobs.FULL)
    with pytest.raises(Crashed):
        run_until_idle(db, worker)
    assert jobs.job(db, 1)["held_until"] is not None
    assert run_until_idle(db, worker)["finished"] == 0, "it is held by somebody who is dead"
    assert run_until_idle(db, worker, until=timedelta(minutes=2))["finished"] == 1
    assert jobs.job(db, 1)["token"] == 2 and db.verify().ok


def test_a_consumer_of_ones_own_gets_its_events_again(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1])
    seen: list[tuple[int, datetime]] = []
    consumer = db.acting_as("mailer").consumer("JobQueued", "mailer")

    def mail() -> bool:
        events = consumer.pull(10)
        for event in events:
            seen.append((event.attempt, event.time))
            consumer.nack(event, delay=600) if event.attempt < 3 else consumer.ack(event)
        return bool(events)

    run_until_idle(db, mail)
    assert len(seen) == 1, "given back, and to be given again in ten minutes"
    run_until_idle(db, mail, until=START + HOUR)
    assert [attempt for attempt, _ in seen] == [1, 2, 3]


@pytest.mark.parametrize("until", [-HOUR, datetime(2020, 1, 1, tzinfo=UTC)])
def test_an_end_that_lies_behind(until: Any, db: Database) -> None:
    with pytest.raises(ValueError, match="lies behind: the clock stands at"):
        run_until_idle(db, until=until)


def test_what_cannot_be_run_and_what_cannot_be_moved(db: Database) -> None:
    with pytest.raises(TypeError, match="is no worker, no schedule and no function"):
        run_until_idle(db, "worker")  # type: ignore[arg-type]
    with treadle.open(":memory:") as real, pytest.raises(ValueError, match="clock=ManualClock"):
        run_until_idle(real, until=HOUR)
