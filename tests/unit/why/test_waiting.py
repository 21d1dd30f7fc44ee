"""What a row waits for: caps with their limits, and schedules, as they said of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.support import jobs
from tests.support.engines import START
from treadle.access.roles import Role
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock
from treadle.why import Reason, Why
from treadle.workers import Cap, Schedule, Turn, Worker

ROLES = [
    jobs.WORKER_ROLE,
    Role("desk", commands=("Queue", "Nightly")),
    Role("claimer", commands=("Claim",)),
    Role("counter", commands=("Claim",), queries=("LiveJobs",)),
]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with jobs.jobs(MemoryStore(), clock, ROLES) as made:
        yield made


def why(db: Database, number: int, shop: str = jobs.SHOP, **who: Any) -> Why:
    return db.why("Job", (shop, number), **who)


def of(found: Why, code: str) -> list[Reason]:
    return [one for one in found.reasons if one.code == code]


def while_one_is_held(db: Database, ask: Callable[[], list[Reason]], **options: Any) -> list[Reason]:
    """What is told while a worker's handler has job 1."""
    told: list[Reason] = []

    def handler(row: Any, turn: Turn) -> None:
        if row["number"] == 1:
            told.extend(ask())

    jobs.run(Worker(handler, name="w", **{**jobs.FULL, **options}), db)
    return told


def test_a_cap_is_named_with_its_limit_and_what_it_counts(db: Database) -> None:
    jobs.queue(db, [1, 2])
    jobs.queue(db, [3], shop="Bonn")

    def ask() -> list[Reason]:
        assert of(why(db, 3, "Bonn"), "cap") == [], "no lease of that shop, and one of five of all"
        return of(why(db, 2), "cap")

    caps = [Cap(1, "LiveJobs"), Cap(5, "AllLiveJobs")]
    (reason,) = while_one_is_held(db, ask, caps=caps, concurrency=2)
    claim = next(entry.number for entry in db.log() if entry.name == "Claim" and entry.success)
    assert reason.text == (
        "LiveJobs counts 1 live lease of shop Ulm, and the cap is 1, as the claim of commit "
        f"{claim} says: it waits until one ends; held are Ulm/1"
    )
    assert reason.until == START + timedelta(seconds=60)
    instances = {entry.instance for entry in db.log() if entry.name in ("Claim", "Finish")}
    assert instances == {"caps=LiveJobs:1,AllLiveJobs:5"}
    assert db.verify().ok


def test_a_cap_with_room_is_no_reason_and_one_without_a_limit_says_so(db: Database) -> None:
    jobs.queue(db, [1, 2])
    (unknown,) = while_one_is_held(db, lambda: of(why(db, 2), "cap"), caps=[Cap(3, "LiveJobs")])
    assert unknown.text.startswith("AllLiveJobs counts 1 live lease; no claim in the last 512 records tells")
    assert unknown.until is None


def test_who_may_not_count_is_told_of_no_cap(db: Database) -> None:
    jobs.queue(db, [1, 2])
    who = {"principal": "c", "role": "claimer"}
    assert while_one_is_held(db, lambda: of(why(db, 2, **who), "cap"), caps=[Cap(1, "LiveJobs")]) == []


def test_who_may_not_list_rows_is_not_told_which_are_held(db: Database) -> None:
    jobs.queue(db, [1, 2])
    who = {"principal": "c", "role": "counter"}
    (reason,) = while_one_is_held(db, lambda: of(why(db, 2, **who), "cap"), caps=[Cap(1, "LiveJobs")])
    assert reason.text.endswith("it waits until one ends") and reason.until is not None


def test_a_schedule_is_named_with_its_next_time(db: Database, clock: ManualClock) -> None:
    schedule = Schedule(
        "nightly jobs",
        command="Nightly",
        cron="30 2 * * *",
        zone="Europe/Berlin",
        input=lambda due: {"shop": jobs.SHOP, "number": due.day},
        start=START - timedelta(days=1),
    )
    assert of(why(db, 99), "schedule") == []
    schedule.run(db.acting_as("clock-service", instance="host-7/1"), until_idle=True)
    fired = next(entry for entry in db.log() if entry.name == "Nightly")
    due = schedule.rule.after(fired.fields.get("due", START - timedelta(hours=12)))
    assert fired.instance == f"host-7/1 schedule=nightly%20jobs next={due:%Y-%m-%dT%H:%M:%S}Z"
    (reason,) = of(why(db, 99), "schedule")
    text = f"schedule nightly jobs runs Nightly, which writes a Job; it fired last in commit {fired.number}"
    assert (reason.text, reason.until) == (f"{text} and is due again", due)
    assert of(why(db, 99, principal="desk", role="desk"), "schedule") == [reason]
    assert of(why(db, 99, principal="c", role="claimer"), "schedule") == [], (
        "its command is not theirs to see"
    )
    clock.advance(timedelta(days=3))
    (late,) = of(why(db, 99), "schedule")
    assert late.text == f"{text}, and was due again since: nobody may be running it"


def test_no_worker_seen_says_what_is_not_known(db: Database) -> None:
    jobs.queue(db, [1])
    (reason,) = why(db, 1).reasons
    assert reason.code == "no_worker" and reason.text.endswith(
        "one that runs and claims nothing leaves no trace"
    )
