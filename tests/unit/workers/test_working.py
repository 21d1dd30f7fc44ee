"""A turn: what a handler is given, what it may do, and what is concluded once."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.support.engines import START
from tests.support.jobs import (
    EVENTS,
    FULL,
    OPEN,
    SHOP,
    TURN,
    job,
    later,
    outcomes,
    queue,
    run,
    service,
    states,
)
from treadle.errors import Busy, KeyExpired, OutcomeUnknown, TreadleError, UnexpectedOutcome
from treadle.workers import Hooks, Turn, Worker, worker
from treadle.workers.attempts import Attempt, Due
from treadle.workers.client import Embedded
from treadle.workers.turn import business_key, look_up


def test_a_turn_from_end_to_end(db) -> None:
    queue(db, range(3))
    seen: list[Any] = []

    @worker(**FULL, name="worker")
    def work(row: Any, turn: Turn) -> dict[str, Any]:
        """Does it."""
        seen.append((row["number"], row["title"], turn.fence, turn.revision, turn.tries, turn.lost.is_set()))
        assert turn.now() == START and row["state"] == "Waiting"
        return {"result": f"done {row['number']}"}

    assert run(work, db).__doc__ == "Does it."
    assert seen == [(number, f"job {number}", 1, 3, 1, False) for number in range(3)]
    assert states(db, range(3)) == {"Done": 3}
    assert job(db, 1)["result"] == "done 1" and job(db, 1)["owner"] is None
    assert [entry.name for entry in db.log()][-12:] == ["Claim", "Start", "Finish", "Release"] * 3
    assert {entry.principal for entry in db.log() if entry.name == "Finish"} == {"job-service"}
    counted = work.counters.snapshot()
    assert (counted["claims_won"], counted["finished"], counted["turns"]) == (3, 3, 0)
    assert work.counters["claims_lost"] == counted["failed"] == 0


def test_the_function_can_be_called_by_itself() -> None:
    made = Worker(lambda row, turn: [row, turn], name="double", **OPEN, **TURN)
    assert made(4, None) == [4, None]
    assert repr(made) == "<treadle.Worker double>"


def test_a_turn_shows_no_evidence(db) -> None:
    queue(db, [0])
    shown: list[str] = []
    run(Worker(lambda row, turn: shown.append(repr(turn)), name="w", **FULL), db)
    assert shown == ["<Turn ('Ulm', 0)>"]


def test_priority_is_the_order_of_the_index(db) -> None:
    for number, priority in ((1, 5), (2, -3), (3, 0)):
        queue(db, [number], priority=priority)
    order: list[int] = []
    run(Worker(lambda row, turn: order.append(row["number"]), name="w", **FULL), db)
    assert order == [2, 3, 1]


def test_a_command_that_concludes_and_releases(db) -> None:
    queue(db, [0])
    run(Worker(lambda row, turn: {"result": "x"}, name="w", **OPEN, **TURN | {"finish": "Complete"}), db)
    assert states(db, [0]) == {"Done": 1}
    assert outcomes(db, "Release") == {}


def test_inputs_come_from_the_handler_the_worker_or_the_row(db) -> None:
    queue(db, range(2))
    plain = {**OPEN, **TURN, "finish": "Complete"}
    run(Worker(lambda row, turn: None, name="w", inputs={"result": "of the worker"}, **plain), db)
    assert job(db, 0)["result"] == "of the worker"
    queue(db, [2])
    run(
        Worker(
            lambda row, turn: {"result": "of the handler"},
            name="w",
            inputs={"result": "of the worker"},
            **plain,
        ),
        db,
    )
    assert job(db, 2)["result"] == "of the handler"


def test_a_turn_runs_other_commands_once_for_the_attempt(db) -> None:
    queue(db, [0])
    answers: list[Any] = []

    def work(row: Any, turn: Turn) -> None:
        turn.run("Start")
        answers.append(turn.run("AddShop", {"shop": "branch"}))
        if len(answers) == 1:
            raise ValueError("once")

    run(Worker(work, name="w", **OPEN, **TURN), db)
    assert states(db, [0]) == {"Done": 1}
    assert [answer.replayed for answer in answers] == [False, True]
    assert answers[0] == answers[1]
    assert outcomes(db, "AddShop") == {"Added": 1}
    assert outcomes(db, "Start") == {"Started": 1}, "found done by the second try"


def test_what_a_turn_cannot_run(db) -> None:
    queue(db, [0])
    errors: list[TreadleError] = []

    def work(row: Any, turn: Turn) -> None:
        for command, inputs in (("Strat", {}), ("Start", {"token": 7}), ("AddShop", {"x": 1}), ("Claim", {})):
            with pytest.raises(TreadleError) as caught:
                turn.run(command, inputs)
            errors.append(caught.value)
        with pytest.raises(UnexpectedOutcome) as refused:
            turn.run("Queue", {"shop": SHOP, "number": 0, "title": "x", "priority": 0, "due_at": START})
        errors.append(refused.value)

    run(Worker(work, name="w", **OPEN, **TURN), db)
    assert "Start" in errors[0].message
    assert "token" in errors[1].message
    assert errors[4].code == "unexpected_outcome"
    assert states(db, [0]) == {"Done": 1}


def test_async_handlers_run_at_once(db) -> None:
    queue(db, range(8))
    barrier = asyncio.Barrier(8)

    async def work(row: Any, turn: Turn) -> dict[str, Any]:
        await barrier.wait()
        await turn.run_async("Start")
        return {"result": "async"}

    run(Worker(work, name="w", **OPEN, **TURN, concurrency=8), db)
    assert states(db, range(8)) == {"Done": 8}


def test_an_async_handler_that_fails_is_tried_again(db) -> None:
    queue(db, [0])
    tries: list[int] = []

    async def work(row: Any, turn: Turn) -> None:
        tries.append(turn.tries or 0)
        await asyncio.sleep(0)
        if len(tries) == 1:
            raise asyncio.CancelledError  # of its own making: the lease is fine
        if len(tries) == 2:
            raise ValueError("again")

    run(Worker(work, name="w", **FULL), db)
    assert tries == [1, 2, 3]
    assert states(db, [0]) == {"Done": 1}


def test_an_attempt_that_is_concluded_is_not_worked_on_again(db, clock) -> None:
    """The release and everything after it is lost; the query gives finished jobs too."""
    queue(db, [0])
    handled: list[int] = []

    class Dying(Hooks):
        def at(self, boundary: str, item: Any) -> None:
            if boundary == "finished":
                raise SystemExit  # as if the process had ended here

    made = Worker(lambda row, turn: handled.append(1), name="w", **EVENTS, hooks=Dying())
    with pytest.raises(SystemExit):
        made.run(service(db), until_idle=True)
    assert states(db, [0]) == {"Done": 1} and job(db, 0)["owner"] is not None
    clock.advance(later(61))
    again = run(Worker(lambda row, turn: handled.append(2), name="w", **EVENTS), db)
    assert handled == [1]
    assert again.counters["settled"] + again.counters["finished"] <= 1
    assert db.streams().consumers()[0].open == 0


def test_a_row_that_comes_again_is_one_attempt_without_a_due_time(db) -> None:
    queue(db, [0])
    handled: list[Any] = []
    options = {**OPEN, **TURN, "finish": "Repeat"}

    def work(row: Any, turn: Turn) -> dict[str, Any]:
        handled.append(row["due_at"])
        return {"next_at": START + timedelta(hours=len(handled))}

    made = run(Worker(work, name="w", **options), db)
    assert len(handled) == 1
    assert made.counters["settled"] == 1, "it rests, instead of coming again at once"

    def again(row: Any, turn: Turn) -> dict[str, Any]:
        if len(handled) == 3:
            due.stop()
        return work(row, turn)

    due = Worker(again, name="w", due="due_at", **options)
    run(due, db)
    assert len(handled) == 4, "each due time is an occasion of its own"
    assert due.counters["settled"] == 0


def test_recurring_jobs_wait_for_their_time(db, clock) -> None:
    queue(db, [0])
    handled: list[datetime] = []
    options = {**TURN, "query": "DueJobs", "parameters": lambda: {"shop": SHOP}, "finish": "Repeat"}

    def work(row: Any, turn: Turn) -> dict[str, Any]:
        handled.append(row["due_at"])
        return {"next_at": row["due_at"] + timedelta(hours=1)}

    made = Worker(work, name="w", due="due_at", **options)
    for _ in range(4):
        run(made, db)
        clock.advance(timedelta(hours=1))
    assert handled == [START + timedelta(hours=hour) for hour in range(4)]
    assert job(db, 0)["runs"] == 4


def test_the_idempotency_key_is_the_same_in_every_try(db) -> None:
    queue(db, [0])
    keys: list[str] = []

    def work(row: Any, turn: Turn) -> None:
        keys.append(turn.idempotency_key)
        if len(keys) < 3:
            raise ValueError("again")

    run(Worker(work, name="w", **FULL), db)
    assert len(keys) == 3 and len(set(keys)) == 1


def test_answers_that_are_lost_are_asked_for_again(db) -> None:
    queue(db, range(4))

    class Losing(Embedded):
        """Loses every other answer, before or after the command was run."""

        def __init__(self, acting: Any) -> None:
            super().__init__(acting)
            self.calls = 0

        def run(self, command: str, input: Any, *, timeout: float | None = None) -> Any:
            self.calls += 1
            if self.calls % 4 == 1:
                raise Busy("busy")
            answer = self._acting.run(command, input, timeout=timeout)
            if self.calls % 4 == 2:
                raise OutcomeUnknown("lost")
            return answer

        def run_many(self, commands: Any, *, timeout: float | None = None) -> Any:
            answers = self._acting.run_many(commands, timeout=timeout)
            self.calls += 1
            return answers if self.calls % 2 else [OutcomeUnknown("lost") for _ in answers]

    made = Worker(lambda row, turn: {"result": "x"}, name="w", **FULL, concurrency=2)
    client = Losing(service(db))
    del client.__dict__["run"], client.__dict__["run_many"]
    made.run(client, until_idle=True)
    assert states(db, range(4)) == {"Done": 4}
    assert outcomes(db, "Finish") == {"Finished": 4}
    assert made.counters["repeated"] > 4


def test_a_receipt_that_was_pruned_concludes_its_attempt(db) -> None:
    class Pruned(Embedded):
        """The receipts of the first tries are gone; the one after them is what it is."""

        def __init__(self, acting: Any, gone: int) -> None:
            super().__init__(acting)
            self.gone = gone

        def recall(self, command: str, keys: Any) -> Any:
            gone = {business_key(attempt, "Finish", link) for link in range(1, self.gone + 1)}
            return [KeyExpired("gone") if key in gone else None for key in keys]

    attempt = Attempt("w", 1, bytes(32), "q", Due(), (SHOP, 0))
    done, link = look_up(Pruned(service(db), 0), attempt, "Finish")
    assert (done, link) == (None, 1)
    for gone in (1, 5):
        done, link = look_up(Pruned(service(db), gone), attempt, "Finish")
        assert done is not None and done.ok and link == gone + 1


def test_the_next_try_is_found_behind_many(db) -> None:
    queue(db, [0])
    attempt = Attempt("w", 1, bytes(32), "q", Due(), (SHOP, 0))
    acting = service(db)
    evidence = {"worker": UUID(int=1), "token": 9, "expected_revision": 9, "shop": SHOP, "number": 0}
    for tried in range(9):
        assert look_up(Embedded(acting), attempt, "Finish") == (None, tried + 1)
        key = business_key(attempt, "Finish", tried + 1)
        assert acting.run("Finish", evidence | {"key": key}).outcome == "Stale"
