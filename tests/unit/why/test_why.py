"""Why: who holds a row, what it waits for, what each command would answer, and who may see what."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

import treadle
from tests.support import jobs
from tests.support.engines import START
from treadle.access.roles import Role
from treadle.database import Database
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock
from treadle.why import Why

ME, OTHER = UUID(int=1), UUID(int=2)
ROLES = [
    jobs.WORKER_ROLE,
    Role("desk", commands=("Queue",)),
    Role("stranger", commands=("AddShop",)),
    Role("operator", commands=("Claim",), operations=("admin",)),
]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    with jobs.jobs(MemoryStore(), clock, ROLES) as made:
        yield made


def claim(db: Database, number: int, revision: int = 1, principal: str = "w", **more: Any) -> treadle.Receipt:
    body = {"shop": jobs.SHOP, "number": number, "worker": ME, "seconds": 60, "expected_revision": revision}
    acting = db.acting_as(principal, instance=f"{principal}/1")
    return acting.run("Claim", {"key": treadle.key(), **body, **more})


def why(db: Database, number: int = 1, **options: Any) -> Why:
    return db.why("Job", (jobs.SHOP, number), **options)


def codes(found: Why) -> list[str]:
    return [reason.code for reason in found.reasons]


def expected(found: Why, command: str) -> tuple[str, bool]:
    one = next(each for each in found.commands if each.command == command)
    return one.outcome, one.certain


def test_a_row_that_is_not_there(db: Database) -> None:
    found = why(db)
    assert (found.exists, found.revision, found.state, found.lease) == (False, 0, None, None)
    assert codes(found) == ["absent"] and expected(found, "Claim") == ("JobMissing", True)
    assert found.recent == ()
    claim(db, 1)
    assert [(one.command, one.outcome, one.revision) for one in why(db).recent] == [
        ("Claim", "JobMissing", None)
    ]


def test_a_row_that_nobody_comes_for(db: Database) -> None:
    jobs.queue(db, [1, 2])
    found = why(db)
    assert (found.exists, found.revision, found.state) == (True, 1, "Waiting")
    assert codes(found) == ["no_worker"]
    assert (
        "nobody has claimed a Job ever, although DueJobs, OpenJobs, WaitingJobs list" in found.reasons[0].text
    )
    claim(db, 2)
    assert codes(why(db)) == ["waiting", "cap", "cap"], "another job is held, which a cap may count"


def test_a_row_that_is_held(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1])
    claim(db, 1)
    claim(db, 1, 2, "v", worker=OTHER)
    clock.advance(timedelta(seconds=20))
    found = why(db, principal="w")
    held = found.lease
    assert held is not None and found.now == START + timedelta(seconds=20)
    assert (held.holder, held.expired, held.seconds, held.attempts) == ("you", False, 40.0, 1)
    assert (held.principal, held.instance, held.since) == ("w", "w/1", START)
    assert (held.owner, held.token) == ("•••", "•••")
    assert codes(found) == ["held"] and found.reasons[0].until == START + timedelta(seconds=60)
    assert expected(found, "Renew") == ("Renewed", True) and expected(found, "Claim")[0] == "Taken"
    until = {one.command: one.until for one in found.commands}
    assert until["Claim"] == until["Renew"] == START + timedelta(seconds=60) and until["Release"] is None
    assert [(one.outcome, one.you, one.revision) for one in found.recent] == [
        ("Taken", False, None), ("Claimed", True, 2), ("Queued", False, 1)
    ]  # fmt: skip
    revealed = why(db, unmasked=True).lease
    assert revealed is not None and (revealed.owner, revealed.token, revealed.holder) == (ME, 1, "another")


def test_a_lease_that_ran_out_holds_nothing(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1])
    claim(db, 1)
    clock.advance(timedelta(seconds=60))
    found = why(db)
    assert found.lease is not None
    assert (found.lease.holder, found.lease.expired, found.lease.seconds) == ("nobody", True, 0)
    assert codes(found)[0] == "lapsed" and expected(found, "Start")[0] == "Lapsed"


def test_a_final_state(db: Database) -> None:
    jobs.queue(db, [1])
    receipt = claim(db, 1)
    proof = {"shop": jobs.SHOP, "number": 1, "worker": ME, "token": 1, "result": "ok"}
    db.run("Complete", {"key": "c", **proof, "expected_revision": receipt.revisions["job"]}, principal="w")
    found = why(db)
    assert codes(found) == ["final"] and found.state == "Done"
    finish = next(one for one in found.commands if one.command == "Complete")
    assert (finish.outcome, finish.reason) == ("NotHolder", "nobody holds the lease")


def test_a_row_that_is_not_due(db: Database, clock: ManualClock) -> None:
    due = START + timedelta(hours=2)
    db.deploy(jobs.SOURCE, queries=jobs.QUERIES[jobs.QUERIES.index("query DueJobs") :])
    jobs.queue(db, [1], due_at=due)
    (reason,) = why(db).reasons
    assert (reason.code, reason.until) == (
        "not_due",
        due,
    ) and "query DueJobs does not list it yet" in reason.text
    clock.set(due)
    assert codes(why(db)) == ["no_worker"]


def test_a_row_that_no_query_lists(db: Database) -> None:
    jobs.queue(db, [1])
    receipt = claim(db, 1)
    proof = {"shop": jobs.SHOP, "number": 1, "worker": ME, "token": 1}
    started = db.run(
        "Start", {"key": "s", **proof, "expected_revision": receipt.revisions["job"]}, principal="w"
    )
    revision = started.revisions["job"]
    db.run("Release", {"key": "r", **proof, "expected_revision": revision}, principal="w")
    text = jobs.QUERIES[jobs.QUERIES.index("query WaitingJobs") : jobs.QUERIES.index("query DueJobs")]
    db.deploy(jobs.SOURCE, queries=text)
    (reason,) = why(db).reasons
    assert reason.code == "not_listed" and reason.text.endswith(
        "WaitingJobs does not list it, because of its state"
    )


def test_workers_of_another_contract(db: Database) -> None:
    jobs.queue(db, [1, 2])
    claim(db, 1)
    db.deploy(jobs.SOURCE.replace("version 1", "version 2", 1))
    reason = why(db, 2).reasons[0]
    assert reason.code == "other_contract" and "under version 1 of the contract, and version 2" in reason.text


def test_dead_letters_that_name_the_row(db: Database) -> None:
    jobs.queue(db, [1, 2])
    consumer = db.acting_as("w").consumer("JobQueued", "printers")
    for _ in range(10):
        consumer.nack(*[one for one in consumer.pull(2) if one.fields["number"] == 1], delay=0)
    letter = [one for one in why(db).reasons if one.code == "dead_letter"]
    assert len(letter) == 1 and "dead letter of consumer printers after 10 attempts" in letter[0].text
    assert "dead_letter" not in codes(why(db, 2))


def test_who_may_ask_and_what_is_shown(db: Database) -> None:
    jobs.queue(db, [1])
    claim(db, 1)
    with pytest.raises(treadle.Denied, match="role stranger has no command or query of Job"):
        why(db, role="stranger")
    worker = why(db, principal="v", role="worker", unmasked=True)
    assert {one.command for one in worker.commands} == set(jobs.WORKER_ROLE.commands)
    assert worker.lease is not None and worker.lease.holder == "another"
    shown = (worker.lease.owner, worker.lease.token, worker.lease.principal, worker.lease.instance)
    assert shown == ("•••",) * 4
    assert {one.principal for one in worker.recent} == {"•••"}
    admin = why(db, role="operator", unmasked=True)
    assert admin.lease is not None and (admin.lease.principal, admin.lease.token) == ("w", 1)
    assert {one.command for one in admin.commands} > {"Claim", "Bury"}
    assert str(ME) not in str(worker.to_json()) and str(ME) in str(admin.to_json())


def test_what_cannot_be_asked(db: Database) -> None:
    with pytest.raises(treadle.UnknownName, match="no entity Jobs in contract Jobs; the nearest is Job"):
        db.why("Jobs", 1)
    with pytest.raises(treadle.InvalidInput, match=r"the key of Job is \(shop, number\); 1 value was given"):
        db.why("Job", 1)


def test_time_that_stands_still_is_said_first(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1])
    clock.advance(timedelta(days=1))
    jobs.queue(db, [2])
    assert "floor_ahead" not in codes(why(db))
    clock.set(START)
    found = why(db)
    assert codes(found)[0] == "floor_ahead"
    assert "86400 s ahead of the clock" in found.reasons[0].text and "clock reset" in found.reasons[0].text
    assert found.to_json()["reasons"][0]["code"] == "floor_ahead"


def test_a_log_that_begins_later_is_said(db: Database, clock: ManualClock) -> None:
    jobs.queue(db, [1, 2])
    claim(db, 1)
    claim(db, 2)
    assert "log_pruned" not in codes(why(db))
    head = why(db).commit
    db.streams(principal="owner").retain("JobQueued", timedelta(seconds=1))
    clock.advance(timedelta(days=1))
    db.streams(principal="owner").sweep("JobQueued")
    db.retention(principal="owner").log(through=head)
    found = why(db)
    assert found.recent == () and codes(found)[-1] == "log_pruned"
    assert f"begins after record {head}" in found.reasons[-1].text
    assert "nobody has claimed a Job ever" not in str(found.reasons)
