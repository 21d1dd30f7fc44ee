"""What a key was answered can be looked up without running anything, on every store."""

from __future__ import annotations

import pytest

from tests.support.engines import ORGANIZATION, SOURCE, claim, create, open_on, successor, work_id
from treadle.access.roles import Role
from treadle.database import Database
from treadle.engine.recall import recall
from treadle.errors import Denied, InvalidInput, KeyExpired, UnknownName
from treadle.model import record


@pytest.fixture
def db(store) -> Database:
    made = open_on(store)
    made.deploy(SOURCE)
    return made


def test_receipts_and_free_keys(db) -> None:
    acting = db.acting_as("tests")
    made, again_made = acting.run(*create(0)), acting.run(*create(0))
    stale = acting.run(*claim(0, 9))
    head = db.head
    assert acting.recall("CreateWork", "create-0") == made == again_made
    again = acting.recall("ClaimWork", "claim-0-9")
    assert again == stale and again is not None and again.replayed and not again.ok
    assert acting.recall("ClaimWork", "claim-0-8") is None
    assert acting.recall("CreateWork", "claim-0-9") is None, "a key belongs to its command"
    assert db.acting_as("other").recall("CreateWork", "create-0") is None, "and to its principal"
    assert db.acting_as("tests", tenant="x").recall("CreateWork", "create-0") is None, "and to its tenant"
    assert db.head == head


def test_many_at_once_and_after_a_deployment(db) -> None:
    acting = db.acting_as("tests")
    receipts = acting.run_many([create(number) for number in range(3)])
    db.deploy(successor())
    keys = ["create-2", "nothing", "create-0"]
    assert recall(db._engine, acting.caller, "CreateWork", keys) == [receipts[2], None, receipts[0]]
    assert recall(db._engine, acting.caller, "CreateWork", []) == []


def test_a_pruned_receipt_says_so(db, store) -> None:
    acting = db.acting_as("tests")
    acting.run(*create(0))
    with store.write() as tx:
        identity = record.decode(next(tx.log(2, 2)).data).identity
        assert identity is not None
        tx.write_receipts([(identity, -2)])
        tx.commit()
    with pytest.raises(KeyExpired):
        acting.recall("CreateWork", "create-0")


def test_who_may_ask_and_what_for(db) -> None:
    acting = db.acting_as("tests")
    with pytest.raises(UnknownName):
        acting.recall("CreateWrok", "k")
    with pytest.raises(InvalidInput):
        acting.recall("ShowWork", "k")
    with pytest.raises(InvalidInput):
        acting.recall("CreateWork", "k" * 129)
    db.deploy(SOURCE, roles=[Role("worker", commands=("ClaimWork",))])
    worker = db.acting_as("tests", role="worker")
    assert worker.recall("ClaimWork", "k") is None
    with pytest.raises(Denied):
        worker.recall("CreateWork", "create-0")
    assert db.row("WorkItem", (ORGANIZATION, work_id(0))) is None
