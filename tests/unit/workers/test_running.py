"""Caps, roles, stopping, deployments, hooks."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.jobs import (
    EVENTS,
    FULL,
    QUERIES,
    SHOP,
    SOURCE,
    TURN,
    WORKER_ROLE,
    advance,
    deploy,
    job,
    jobs,
    outcomes,
    queue,
    run,
    service,
    states,
    wait_for,
)
from tests.support.pace import FastTime
from treadle.access.roles import Role
from treadle.errors import ConfigError, Denied
from treadle.store.memory import MemoryStore
from treadle.workers import Cap, Hooks, Turn, Worker

BY_SHOP, OVERALL = Cap(3, "LiveJobs"), Cap(4, "AllLiveJobs")


@pytest.mark.parametrize(
    "caps, most", [([Cap(2, "AllLiveJobs")], 2), ([BY_SHOP], 6), ([BY_SHOP, OVERALL], 4)]
)
def test_no_more_turns_than_the_caps_allow(caps, most) -> None:
    db = jobs(MemoryStore())
    for shop in (SHOP, "Bonn"):
        queue(db, range(10), shop)
    running: list[int] = []
    peak: list[int] = []
    lock = threading.Lock()

    def work(row: Any, turn: Turn) -> None:
        with lock:
            running.append(1)
            peak.append(len(running))
        threading.Event().wait(0.003)
        with lock:
            running.pop()

    made = [
        Worker(work, name="w", query="OpenJobs", parameters={"shop": shop}, caps=caps, concurrency=8, **TURN)
        for shop in (SHOP, "Bonn")
        for _ in range(2)
    ]

    def until_done(one: Worker) -> None:
        while sum(states(db, range(10), shop)["Done"] for shop in (SHOP, "Bonn")) < 20:
            one.run(service(db), until_idle=True)
            advance(db, 1)

    threads = [threading.Thread(target=until_done, args=(one,)) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert max(peak) <= most
    assert outcomes(db, "Finish") == {"Finished": 20}
    assert sum(one.counters["capped"] for one in made) > 0
    assert db.verify().ok


def test_a_role_with_just_its_query_and_commands_is_enough(db) -> None:
    deploy(db, [WORKER_ROLE])
    queue(db, range(2))
    run(Worker(lambda row, turn: None, name="w", **FULL), db, role="worker")
    assert states(db, range(2)) == {"Done": 2}
    queue(db, [2])
    options = {**EVENTS, "lookup": "ShowJob"}
    run(Worker(lambda row, turn: None, name="w", **options), db, role="worker")
    assert states(db, [2]) == {"Done": 1}


def test_a_worker_whose_role_is_taken_away_says_so(db) -> None:
    deploy(db, [Role("worker", commands=WORKER_ROLE.commands)])
    queue(db, [0])
    with pytest.raises(Denied):
        run(Worker(lambda row, turn: None, name="w", **FULL), db, role="worker")
    deploy(db, [Role("worker", commands=("Renew", "Release"), queries=WORKER_ROLE.queries)])
    with pytest.raises(Denied):
        run(Worker(lambda row, turn: None, name="w", **FULL), db, role="worker")
    deploy(db, [Role("worker", queries=WORKER_ROLE.queries)])
    with pytest.raises(ConfigError, match="role worker may not run Claim and Finish and Start and Bury"):
        run(Worker(lambda row, turn: None, name="w", **FULL), db, role="worker")
    assert states(db, [0]) == {"Waiting": 1}


def test_a_worker_waits_out_trouble_and_goes_on(db) -> None:
    pace = FastTime(200)
    queue(db, [0])
    deploy(db, [Role("worker", commands=("Renew", "Release"), queries=WORKER_ROLE.queries)])
    made = Worker(lambda row, turn: None, name="w", **FULL, pace=pace)
    thread = threading.Thread(target=made.run, args=(service(db, "worker"),))
    thread.start()
    wait_for(lambda: made.counters["errors"] > 0)
    deploy(db, [WORKER_ROLE])
    advance(db, 5)
    wait_for(lambda: made.counters["finished"] == 1)
    made.stop()
    thread.join(10)
    assert not thread.is_alive()


def test_stopping_lets_turns_end_and_begins_none(db) -> None:
    queue(db, range(5))
    begun, go = threading.Event(), threading.Event()

    def work(row: Any, turn: Turn) -> None:
        begun.set()
        assert go.wait(10)

    made = Worker(work, name="w", **FULL, concurrency=2)
    thread = threading.Thread(target=made.run, args=(service(db),))
    thread.start()
    assert begun.wait(10)
    made.stop()
    thread.join(0.05)
    assert thread.is_alive(), "it waits for the turns that began"
    go.set()
    thread.join(10)
    assert not thread.is_alive()
    done = states(db, range(5))
    assert done["Done"] == made.counters["finished"] <= 2
    assert all(job(db, number)["owner"] is None for number in range(5)), "and lets go of everything"


def test_a_worker_sees_new_work_soon(db) -> None:
    done = threading.Event()
    made = Worker(lambda row, turn: done.set(), name="w", **FULL)
    thread = threading.Thread(target=made.run, args=(service(db),))
    thread.start()
    queue(db, [0])
    assert done.wait(10)
    made.stop()
    thread.join(10)
    assert not thread.is_alive()


def test_a_worker_follows_a_deployment(db) -> None:
    queue(db, range(2))
    second = SOURCE.replace("contract Jobs version 1", "contract Jobs version 2").replace(
        "    field tries: u64\n", "    field tries: u64\n    field note: optional<string<20>>\n"
    )
    assert second.count("note") == 1
    done: list[Any] = []

    def work(row: Any, turn: Turn) -> None:
        done.append("note" in row)
        if len(done) == 1:
            db.deploy(second, queries=QUERIES)

    run(Worker(work, name="w", **FULL), db)
    assert done == [False, True]
    assert states(db, range(2)) == {"Done": 2}


def test_an_error_of_a_hook_ends_the_worker(db) -> None:
    class Broken(Hooks):
        def at(self, boundary: str, item: Any) -> None:
            if boundary == "handled":
                raise RuntimeError("a hook that raises")

    queue(db, [0])
    with pytest.raises(RuntimeError):
        run(Worker(lambda row, turn: None, name="w", **FULL, hooks=Broken()), db)


def test_hooks_see_every_boundary_and_span(db) -> None:
    queue(db, [0])
    seen: list[str] = []

    class Seeing(Hooks):
        def at(self, boundary: str, item: Any) -> None:
            seen.append(boundary)

    run(Worker(lambda row, turn: None, name="w", **FULL, hooks=Seeing()), db)
    assert seen == ["selected", "claimed", "started", "handled", "finished", "released", "acknowledged"]
