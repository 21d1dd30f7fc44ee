"""What becomes of an item whose handler fails, whose result is refused, or that kills its workers."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from tests.support.engines import START, open_on
from tests.support.jobs import (
    FULL,
    OPEN,
    QUERIES,
    SHOP,
    SOURCE,
    TURN,
    fails,
    job,
    later,
    outcomes,
    queue,
    run,
    service,
    states,
)
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.workers import Turn, Worker


def test_what_failed_rests_before_it_is_tried_again(db, clock) -> None:
    queue(db, [0])
    tries: list[int] = []

    def work(row: Any, turn: Turn) -> None:
        tries.append(turn.tries or 0)
        raise ValueError("no paper")

    made = Worker(work, name="w", **{**FULL, "backoff": 2.0})
    for wait in (0, 2, 3.9):
        clock.advance(later(wait))
        run(made, db)
    assert tries == [1, 2, 3]
    assert job(db, 0)["owner"] is not None, "a rest of eight seconds is a lease of its own"
    clock.advance(later(5))
    run(made, db)
    assert len(tries) == 3
    clock.advance(later(3))
    run(made, db)
    assert len(tries) == 4
    assert made.counters["retried"] == 4
    assert outcomes(db, "Release") == {"Released": 2}


def test_an_item_that_fails_too_often_is_given_up_by_the_contract(db) -> None:
    queue(db, range(2))
    seen: list[int] = []

    def work(row: Any, turn: Turn) -> None:
        seen.append(row["number"])
        if row["number"] == 0:
            raise ValueError("no paper\0 in it")

    made = run(Worker(work, name="w", **FULL, attempts=3), db)
    assert sorted(seen) == [0, 0, 0, 1]
    assert states(db, range(2)) == {"Dead": 1, "Done": 1}
    dead = job(db, 0)
    assert (dead["error"], dead["failures"], dead["owner"]) == ("ValueError: no paper in it", 3, None)
    assert made.counters["dead_letters"] == 1


def test_an_item_that_kills_its_workers_is_given_up_without_another_try(db, clock) -> None:
    queue(db, [0])
    for _ in range(3):  # three processes claim it and are never heard of again
        row = job(db, 0)
        body = {
            "key": f"x{row['revision']}",
            "shop": SHOP,
            "number": 0,
            "worker": uuid.UUID(int=9),
            "seconds": 5,
        }
        assert db.run("Claim", body | {"expected_revision": row["revision"]}, principal="job-service").ok
        clock.advance(later(5))
    made = run(Worker(lambda row, turn: pytest.fail("not again"), name="w", **FULL, attempts=3), db)
    assert states(db, [0]) == {"Dead": 1}
    assert made.counters["dead_letters"] == 1


def test_a_retry_command_is_told_why_and_until_when(db, clock) -> None:
    queue(db, [0])

    def work(row: Any, turn: Turn) -> None:
        raise ValueError("no paper")

    options = {**TURN, "query": "DueJobs", "parameters": {"shop": SHOP}, "retry": "Postpone", "backoff": 30.0}
    made = run(Worker(work, name="w", **options), db)
    row = job(db, 0)
    assert (row["error"], row["failures"], row["owner"]) == ("ValueError: no paper", 1, None)
    assert START + timedelta(seconds=22) < row["due_at"] <= START + timedelta(seconds=30)
    clock.advance(later(10))
    assert run(made, db).counters["failed"] == 1
    clock.advance(later(20))
    assert run(made, db).counters["failed"] == 2


def test_a_result_that_is_refused_counts_as_a_failure(db) -> None:
    queue(db, [0])
    results = iter(["too long", "x" * 201, 7, ["no mapping"], {"token": 1}, "fine"])

    def work(row: Any, turn: Turn) -> Any:
        result = next(results)
        return result if isinstance(result, list | dict) else {"result": result}

    made = run(Worker(work, name="w", **OPEN, **TURN | {"finish": "Complete"}), db)
    assert job(db, 0)["result"] == "fine"
    assert made.counters["failed"] == 5
    assert outcomes(db, "Complete") == {"Refused": 1, "Completed": 1}, "each under a key of its own"


def test_without_a_counter_in_the_row_failures_are_counted_here() -> None:
    contract = SOURCE.replace(" attempts tries", "").replace("contract Jobs", "contract Bare")
    other = jobs_of(contract, QUERIES)
    queue(other, [0])
    made = Worker(fails, name="w", **FULL, attempts=2)
    made.run(service(other), until_idle=True)
    assert states(other, [0]) == {"Dead": 1}
    assert job(other, 0)["failures"] == 2


def jobs_of(contract: str, queries: str) -> Database:
    made = open_on(MemoryStore())
    made.deploy(contract, queries=queries)
    return made
