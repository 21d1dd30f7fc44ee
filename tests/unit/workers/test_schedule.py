"""A schedule fires each due time once, and makes up for what was missed as it was told."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.support.engines import START
from tests.support.jobs import SHOP, deploy, outcomes, service, wait_for
from tests.support.pace import FastTime
from treadle.access.roles import Role
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.errors import ConfigError, InvalidInput
from treadle.store.ids import SystemIds
from treadle.store.memory import MemoryStore
from treadle.workers import Schedule

NIGHT: dict[str, Any] = {"command": "Nightly", "cron": "0 2 * * *"}


def nightly(due: datetime) -> dict[str, Any]:
    return {"shop": SHOP, "number": int(due.timestamp())}


def made(**options: Any) -> Schedule:
    return Schedule("nightly", **{**NIGHT, "input": nightly, **options})


def fired(db: Database) -> list[datetime]:
    return [entry.input["due"] for entry in db.log() if entry.name == "Nightly"]


def days(*numbers: int) -> list[datetime]:
    return [datetime(2026, 3, number, 2, tzinfo=UTC) for number in numbers]


def run(schedule: Schedule, db: Database) -> Schedule:
    schedule.run(service(db), until_idle=True)
    return schedule


def test_it_fires_when_it_is_due_and_once(db, clock) -> None:
    schedule = made()
    run(schedule, db)
    assert fired(db) == [], "a new schedule has nothing to make up for"
    clock.set(datetime(2026, 3, 2, 1, 59, tzinfo=UTC))
    run(made(start=START, missed="latest"), db)
    assert fired(db) == days(1)
    for _ in range(3):
        clock.set(datetime(2026, 3, 2, 2, 0, 1, tzinfo=UTC))
        run(made(), db)
    assert fired(db) == days(1, 2)
    assert outcomes(db, "Nightly") == {"Queued": 2}
    assert {entry.principal for entry in db.log() if entry.name == "Nightly"} == {"job-service"}


@pytest.mark.parametrize("missed, expected", [("all", days(2, 3, 4, 5)), ("latest", days(5)), ("none", [])])
def test_what_was_missed(db, clock, missed, expected) -> None:
    clock.set(datetime(2026, 3, 1, 2, 0, 30, tzinfo=UTC))
    run(made(start=START), db)
    assert fired(db) == days(1)
    clock.set(datetime(2026, 3, 5, 12, tzinfo=UTC))
    schedule = run(made(missed=missed, horizon=timedelta(days=7)), db)
    assert fired(db) == days(1) + expected
    assert schedule.counters["fired"] == len(expected)
    assert schedule.counters["missed"] == 4 - len(expected)
    run(made(missed=missed, horizon=timedelta(days=7)), db)
    assert fired(db) == days(1) + (expected or []), "nothing is made up for twice"


def test_what_is_only_a_little_late_is_in_time(db, clock) -> None:
    clock.set(datetime(2026, 3, 1, 2, 0, 59, tzinfo=UTC))
    run(made(start=START, missed="none"), db)
    assert fired(db) == days(1)


def test_nothing_is_looked_for_beyond_the_horizon(db, clock) -> None:
    clock.set(datetime(2026, 3, 20, 12, tzinfo=UTC))
    run(made(start=START, missed="all", horizon=timedelta(days=2)), db)
    assert fired(db) == days(19, 20)


def test_a_rare_schedule_knows_its_last_fire_though_it_was_long_ago(db, clock) -> None:
    def yearly() -> Schedule:
        return made(cron="0 2 1 3 *")

    clock.set(datetime(2027, 3, 1, 1, tzinfo=UTC))
    run(made(cron="0 2 1 3 *", start=START, horizon=timedelta(days=400)), db)
    assert len(fired(db)) == 1
    clock.set(datetime(2027, 3, 1, 2, 0, 1, tzinfo=UTC))
    run(yearly(), db)
    assert len(fired(db)) == 2


def test_any_number_of_processes_fire_once(db, clock) -> None:
    clock.set(datetime(2026, 3, 4, 12, tzinfo=UTC))
    schedules = [made(start=START, missed="all", horizon=timedelta(days=5)) for _ in range(6)]
    threads = [threading.Thread(target=run, args=(schedule, db)) for schedule in schedules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert fired(db) == days(1, 2, 3, 4)
    assert sum(schedule.counters["fired"] for schedule in schedules) == 4


def test_the_key_is_the_time_and_not_the_rule(db) -> None:
    due = datetime(2026, 3, 1, 2, tzinfo=UTC)
    assert made().key(due) == made(cron="@daily").key(due)
    assert made().key(due) != Schedule("other", **NIGHT, input=nightly).key(due)
    assert made().key(due) != made().key(due + timedelta(microseconds=1))


def test_another_input_for_the_same_time_fires_nothing_more(db, clock) -> None:
    clock.set(datetime(2026, 3, 1, 2, tzinfo=UTC))
    run(made(start=START), db)
    run(made(start=START, input=lambda due: {"shop": "Bonn", "number": 1}), db)
    run(Schedule("nightly", **NIGHT, start=START, input={"shop": SHOP, "number": 5}), db)
    assert len(fired(db)) == 1


def test_it_runs_until_it_is_stopped() -> None:
    pace = FastTime(2_000)
    db = Database(Engine(MemoryStore(), pace.clock, SystemIds(), maximum_jump=None), "test")
    deploy(db)
    schedule = Schedule(
        "often", command="Nightly", every=timedelta(seconds=30), input=nightly, missed="all", pace=pace
    )
    thread = threading.Thread(target=schedule.run, args=(service(db),))
    thread.start()
    wait_for(lambda: schedule.counters["fired"] >= 4)
    schedule.stop()
    thread.join(10)
    assert not thread.is_alive()
    found = fired(db)
    assert all(one.second in (0, 30) for one in found) and len(set(found)) == len(found)
    assert all(b - a == timedelta(seconds=30) for a, b in pairwise(found))


def test_a_refusal_passes_when_its_cause_does(db, clock) -> None:
    deploy(db, [Role("night", commands=("Nightly",))])
    clock.set(datetime(2026, 3, 1, 2, tzinfo=UTC))
    schedule = Schedule("nightly", **NIGHT, input=nightly, start=START, pace=FastTime(200))
    acting = db.acting_as("job-service", role="night")
    deploy(db, [Role("night", commands=("Queue",))])
    with pytest.raises(Exception, match="does not allow"):
        schedule.run(acting, until_idle=True)
    deploy(db, [Role("night", commands=("Nightly",))])
    schedule.run(acting, until_idle=True)
    assert fired(db) == days(1)


def test_a_declared_failure_is_a_fire_too(db, clock) -> None:
    clock.set(datetime(2026, 3, 1, 2, tzinfo=UTC))
    run(Schedule("a", **NIGHT, start=START, input={"shop": SHOP, "number": 1}), db)
    schedule = run(Schedule("b", **NIGHT, start=START, input={"shop": SHOP, "number": 1}), db)
    assert outcomes(db, "Nightly") == {"Queued": 1, "JobExists": 1}
    assert schedule.counters["fired"] == 1


@pytest.mark.parametrize(
    "options",
    [
        {"cron": None},
        {"every": timedelta(hours=1)},
        {"cron": "x"},
        {"zone": "Nowhere"},
        {"missed": "some"},
        {"start": datetime(2026, 1, 1)},
    ],
)
def test_what_contradicts_itself(options) -> None:
    with pytest.raises(ConfigError):
        made(**options)
    with pytest.raises(ConfigError):
        Schedule("", **NIGHT)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"command": "Nihgtly"}, "Nightly"),
        ({"input": {"shop": SHOP}}, "needs number"),
        ({"input": {"shop": SHOP, "number": "x"}}, "number"),
        ({"input": {"shop": SHOP, "number": 1, "town": 2}}, "no input town"),
        ({"input": lambda due: {"shop": 7, "number": 1}}, "shop"),
    ],
)
def test_what_does_not_fit_is_said_at_the_beginning(db, options, words) -> None:
    with pytest.raises(ConfigError, match=words):
        made(**options).check(service(db))
    made().check(service(db))


def misspelt(due: datetime) -> dict[str, Any]:
    return {"number": nightly(due)["nubmer"]}


@pytest.mark.parametrize("wrong", [misspelt, lambda due: None])
def test_inputs_that_cannot_be_had_are_named(db, wrong) -> None:
    schedule = Schedule("hourly", command="Nightly", every=timedelta(hours=1), input=wrong)
    with pytest.raises(InvalidInput) as caught:
        schedule.check(service(db))
    assert caught.value.path == "input"
