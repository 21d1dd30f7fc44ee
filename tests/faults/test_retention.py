"""Pruning that is interrupted at any operation leaves a history that verifies, and the same call ends it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.effort import effort
from tests.support.engines import SOURCE, START, claim, create, open_on
from treadle.database import Database
from treadle.errors import KeyExpired, TreadleError
from treadle.retention import log, receipts
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock
from treadle.testing.faults import FaultStore, answer_lost, disk_failed
from treadle.verify import snapshot


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short history takes several steps of each kind."""
    monkeypatch.setattr(receipts, "STEP", 3)
    monkeypatch.setattr(log, "STEP", 3)
    monkeypatch.setattr(log, "WRITE_BYTES", 1)
    monkeypatch.setattr(snapshot, "PART_BYTES", 256)


def made() -> tuple[MemoryStore, Database]:
    store, clock = MemoryStore(), ManualClock(START)
    db = open_on(store, clock)
    db.deploy(SOURCE)
    for command in (create, claim):
        clock.advance(timedelta(days=1))
        for number in range(4):
            db.acting_as("tests").run(*command(number))
    return store, db


def prune(db: Database) -> None:
    retention = db.retention()
    retention.log(through=3)
    retention.log(through=8)
    retention.stubs(before=START + timedelta(days=9))


def check_ended(db: Database) -> None:
    report = db.verify()
    assert report.ok and report.pruned == 8, report.problems
    assert next(db.log()).number == 9
    assert db.acting_as("tests").run(*create(0)).outcome == "Exists"
    with pytest.raises(KeyExpired):
        db.retention().receipts(before=db.head[0] + 1)
        db.acting_as("tests").run(*claim(3))


@pytest.mark.parametrize("afterwards", [False, True])
def test_every_operation_of_a_store_fails_once(afterwards: bool) -> None:
    at = 0
    while True:
        at += max(1, 7 // effort(1))
        store, db = made()
        faulty = FaultStore(store)
        broken = open_on(faulty, ManualClock(START + timedelta(days=9)))
        faulty.arm(at, answer_lost if afterwards else disk_failed, afterwards=afterwards)
        try:
            prune(broken)
        except TreadleError:
            assert faulty.fired
        report = db.verify()
        assert report.ok, (at, report.problems)
        if not faulty.fired:
            break
        prune(db)
        check_ended(db)
    check_ended(db)
    assert at > 100, "so many operations there are"


def test_a_leftover_state_means_nothing_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    store, db = made()
    monkeypatch.setattr(log.BeginLog, "act", lambda self, batch: 1 / 0)
    with pytest.raises(TreadleError):
        db.retention().log(through=6)
    monkeypatch.undo()
    assert db.verify().ok and db.retention().begins == 0
    db.retention().log(through=4)
    with store.read() as tx:
        kept = {key[:8] for key, _ in tx.entries(snapshot.SPACE, b"", None, 999)}
    assert kept == {(4).to_bytes(8)}
