"""Items from queries and from streams, and who gets which."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest

from tests.support.engines import START
from tests.support.jobs import (
    EVENTS,
    FULL,
    OPEN,
    QUERIES,
    SHOP,
    SOURCE,
    TURN,
    advance,
    hold,
    job,
    later,
    outcomes,
    queue,
    remind,
    run,
    service,
    states,
)
from treadle.errors import InvalidInput
from treadle.workers import Turn, Worker
from treadle.workers.client import Embedded
from treadle.workers.query_source import QuerySource
from treadle.workers.steps import leased_by


def test_events_name_rows_and_are_acknowledged(db) -> None:
    queue(db, range(5))
    done: list[int] = []
    made = run(Worker(lambda row, turn: done.append(row["number"]), name="w", **EVENTS, concurrency=3), db)
    assert sorted(done) == list(range(5))
    status = db.streams().consumers()[0]
    assert (status.consumer, status.open, status.behind) == ("workers", 0, 0)
    assert made.counters["finished"] == 5


def test_an_event_about_a_job_that_is_done_is_acknowledged(db) -> None:
    queue(db, [0])
    remind(db, 0, "again")
    remind(db, 0, "and again")
    done: list[int] = []
    options = {**EVENTS, "due": "due_at"}
    made = Worker(lambda row, turn: done.append(1), name="w", **options)
    run(made, db)
    for _ in range(3):
        advance(db, 2)
        run(made, db)
    assert done == [1]
    assert db.streams().consumers()[0].open == 0


def test_an_event_whose_row_is_gone_is_acknowledged(db) -> None:
    queue(db, [0])
    body = {"key": "k", "shop": SHOP, "number": 0, "due_at": START}
    assert db.run("Remind", body, principal="desk").ok
    options = {**EVENTS, "lookup": "ShowJob"}

    class Missing(Embedded):
        def __init__(self, acting: Any) -> None:
            super().__init__(acting)
            real = self.query

            def query(name: str, parameters: Any, **more: Any) -> Any:
                return real(name, {**parameters, "number": 99}, **more)

            self.query = query

    made = Worker(lambda row, turn: pytest.fail("there is no row"), name="w", **options)
    made.run(Missing(service(db)), until_idle=True)
    assert db.streams().consumers()[0].open == 0


def test_a_failed_event_comes_again_and_becomes_a_dead_letter_in_the_end(db, clock) -> None:
    queue(db, [0])
    tries: list[int] = []

    def work(row: Any, turn: Turn) -> None:
        tries.append(turn.tries or 0)
        raise ValueError("no paper")

    made = Worker(work, name="w", **{**EVENTS, "backoff": 1.0})
    for _ in range(30):
        run(made, db)
        clock.advance(later(600))
    assert tries == list(range(1, 11))
    letters = db.streams().dead_letters("JobQueued", "workers")
    assert [(letter.attempts, letter.reason) for letter in letters] == [(10, "ValueError: no paper")]
    assert job(db, 0)["owner"] is None
    db.streams().replay("JobQueued", "workers")
    run(Worker(lambda row, turn: None, name="w", **EVENTS), db)
    assert states(db, [0]) == {"Done": 1}


def test_a_row_that_somebody_holds_waits_and_does_not_count_as_failed(db, clock) -> None:
    queue(db, [0])
    hold(db, 0, 100)
    made = Worker(lambda row, turn: None, name="w", **EVENTS)
    for _ in range(3):
        run(made, db)
        clock.advance(later(30))
    assert made.counters["claims_tried"] == 0, "its row says how long it is held"
    clock.advance(later(11))
    run(made, db)
    assert states(db, [0]) == {"Done": 1}


def test_a_held_row_of_a_query_that_does_not_say_so_is_tried_under_fresh_keys(db, clock) -> None:
    """A refused claim keeps its answer for ever, and time passing does not change the row's revision."""
    queue(db, [0])
    hold(db, 0, 20)
    options = {**TURN, "query": "WaitingJobs", "parameters": {"shop": SHOP}}
    made, other = (Worker(lambda row, turn: None, name="w", **options) for _ in range(2))
    for _ in range(3):
        run(made, db)
        run(other, db)
        clock.advance(later(5))
    assert outcomes(db, "Claim")["Taken"] >= 2
    clock.advance(later(60))
    run(made, db)
    for _ in range(3):
        clock.advance(later(60))
        run(made, db)
    assert states(db, [0]) == {"Done": 1}


def test_pages_are_turned_where_the_first_has_nothing_to_try(db, clock) -> None:
    queue(db, range(30))
    for number in range(25):
        body = {
            "key": f"x{number}",
            "shop": SHOP,
            "number": number,
            "worker": uuid.UUID(int=9),
            "seconds": 900,
        }
        assert db.run("Claim", body | {"expected_revision": 1}, principal="other").ok
    done: list[int] = []
    options = {**TURN, "query": "WaitingJobs", "parameters": {"shop": SHOP}}
    run(Worker(lambda row, turn: done.append(row["number"]), name="w", **options, concurrency=8), db)
    assert sorted(done) == list(range(25, 30))


def test_many_workers_do_everything_once(db) -> None:
    queue(db, range(60))
    done: list[int] = []
    made = [
        Worker(lambda row, turn: done.append(row["number"]), name="w", **FULL, concurrency=4)
        for _ in range(6)
    ]
    threads = [threading.Thread(target=run, args=(one, db)) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    run(made[0], db)
    assert sorted(done) == list(range(60))
    assert outcomes(db, "Finish") == {"Finished": 60}


@pytest.mark.parametrize("name", ["w", "another"])
def test_a_page_whose_rows_somebody_else_did_is_read_again(db, name) -> None:
    """One claim at the most finds out: those who are late must not try row after row of an old page."""
    queue(db, range(50))
    other = Worker(lambda row, turn: None, name=name, **FULL, concurrency=8)
    made = Worker(lambda row, turn: other.run(service(db), until_idle=True), name="w", **FULL)
    run(made, db)
    assert made.counters["claims_won"] == 1 and other.counters["claims_won"] == 49
    assert made.counters["claims_tried"] == (1 if name == "w" else 2)
    assert outcomes(db, "Finish") == {"Finished": 50}


def test_rows_that_the_contract_refuses_are_told_from_those_that_changed(db) -> None:
    """They are refused once each, and the page is not read again for ever on their account."""
    done = QUERIES.replace("OpenJobs", "DoneJobs").replace(
        "in (JobState.Waiting, JobState.Running)", "== JobState.Done"
    )
    queue(db, range(40))
    run(Worker(lambda row, turn: None, name="first", **FULL, concurrency=8), db)
    db.deploy(SOURCE, queries=done)
    options = {**TURN, "query": "DoneJobs", "parameters": {"shop": SHOP}}
    made = run(Worker(lambda row, turn: pytest.fail("it is done"), name="second", **options), db)
    assert made.counters["claims_tried"] == 40 and made.counters["pages"] <= 42


@pytest.mark.parametrize("closed", [(), ("Closed",)])
def test_an_event_whose_row_cannot_be_claimed_any_more(db, clock, closed) -> None:
    queue(db, [0])
    run(Worker(lambda row, turn: None, name="first", **FULL), db)
    made = Worker(lambda row, turn: pytest.fail("it is done"), name="second", **EVENTS, closed=closed)
    for _ in range(12):
        run(made, db)
        clock.advance(later(3600))
    status = db.streams().consumers()[0]
    assert (status.open, status.dead) == (0, 0 if closed else 1)


def test_what_rests_does_not_wait_for_a_time_that_the_clock_was_set_back_from(db, clock) -> None:
    queue(db, [0, 1])
    source = QuerySource("OpenJobs", {"shop": SHOP})
    client = Embedded(service(db))
    source.bind(client, leased_by(client.contract(), "Claim"), "w")
    clock.advance(later(90_000))
    first, second = source.take(8, frozenset())
    source.back(first, 20, failed=True)
    source.lost([second], 2, 0)
    clock.advance(later(-90_000))
    assert source.take(8, frozenset()) == [] and source.pause() == 1
    clock.advance(later(1))
    assert [item.key for item in source.take(8, frozenset())] == [second.key]
    clock.advance(later(19))
    assert [item.key for item in source.take(8, frozenset())][:1] == [first.key]


def test_a_row_that_many_events_name_is_not_given_up_for_their_number(db, clock) -> None:
    """The row counts its claims for ever; what was tried too often is one occasion."""
    queue(db, [0])
    for number in range(4):
        remind(db, 0, f"again {number}")
    done: list[int] = []
    options = {**EVENTS, "finish": "Repeat", "dead_letter": "Bury", "attempts": 3}

    def work(row: Any, turn: Turn) -> dict[str, Any]:
        assert turn.item.delivery is not None
        done.append(turn.item.delivery.attempt)
        return {"next_at": START}

    made = run(Worker(work, name="w", **options), db)
    assert (done, made.counters["dead_letters"]) == ([1] * 5, 0)
    assert job(db, 0)["tries"] == 5


def test_a_row_that_comes_again_is_not_given_up_for_its_number_of_times(db, clock) -> None:
    queue(db, [0])
    done: list[int] = []
    options = {**OPEN, **TURN, "finish": "Repeat", "dead_letter": "Bury", "attempts": 3, "due": "due_at"}
    options |= {"query": "DueJobs"}

    def work(row: Any, turn: Turn) -> dict[str, Any]:
        done.append(1)
        return {"next_at": START + later(60 * len(done))}

    made = Worker(work, name="w", **options)
    for _ in range(6):
        run(made, db)
        advance(db, 60)
    assert (len(done), made.counters["dead_letters"]) == (6, 0)


@pytest.mark.parametrize("error", [KeyError("SHOP_ID"), OSError("no such host")], ids=repr)
def test_parameters_that_cannot_be_had_are_named(db, error: Exception) -> None:
    def parameters() -> dict[str, Any]:
        raise error

    made = Worker(lambda row, turn: None, name="w", **{**OPEN, **TURN, "parameters": parameters})
    with pytest.raises(InvalidInput, match=type(error).__name__) as caught:
        run(made, db)
    assert caught.value.path == "parameters" and caught.value.__cause__ is error
