"""Pruning that is interrupted at any operation leaves a history that verifies, and the same call ends it."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pytest

import treadle
from tests.faults.test_engine import Answers, Trial
from tests.faults.vfs import KINDS, Kind
from tests.support import pruning
from tests.support.effort import effort
from tests.support.engines import SOURCE, START, claim, create, open_on
from tests.support.graphs import index, state_of, table
from tests.support.processes import context, start
from treadle.database import Database
from treadle.engine import parts
from treadle.errors import KeyExpired, TreadleError
from treadle.retention import log, receipts
from treadle.store.memory import MemoryStore
from treadle.store.sqlite import open_database
from treadle.testing import ManualClock
from treadle.testing.faults import FaultStore, answer_lost, disk_failed


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short history takes several steps of each kind."""
    monkeypatch.setattr(receipts, "STEP", 3)
    monkeypatch.setattr(log, "STEP", 3)
    monkeypatch.setattr(log, "WRITE_BYTES", 1)
    monkeypatch.setattr(parts, "PART_BYTES", 256)


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
        kept = {key[:8] for key, _ in tx.entries(parts.SPACE, b"", None, 999)}
    assert kept == {(4).to_bytes(8)}


# With a graph in the database.


def with_graph(db: Database, folder: Path) -> None:
    """Rows, an enrolled graph with an archive and rotated keys, and a place for a pruning in between."""
    db.deploy(SOURCE)
    db.acting_as("tests").run(*create(0))
    pruning.fill(db, folder)
    for number in (1, 2):
        db.acting_as("tests").run(*create(number))


def prune_graph(db: Database) -> None:
    """In two goes: the second begins with what the first kept."""
    last = next(entry.number for entry in db.log() if entry.name == "archive")
    db.retention().log(through=last - 2)
    db.retention().log(through=last)
    db.retention().stubs(before=START + timedelta(days=9))


def check_graph(db: Database) -> None:
    """Whatever was done of it: the history agrees, and the graph is what it was."""
    report = db.verify()
    assert report.ok and report.signatures in (2, 4), report.problems
    assert state_of(db, pruning.R) == ("Draft", "2") and index(db) == table(db)


def end_pruning(db: Database) -> None:
    """The same calls come to their end."""
    through = next((entry.number for entry in db.log() if entry.name == "archive"), 0)
    if through:
        db.retention().log(through=through)
    report = db.verify()
    assert report.ok and report.signatures == 2 and report.pruned > 0, report.problems
    assert next(db.log()).number == report.pruned + 1


@pytest.mark.parametrize("afterwards", [False, True])
def test_every_operation_of_a_store_with_a_graph_fails_once(afterwards: bool, tmp_path: Path) -> None:
    at = 0
    while True:
        at += max(1, 31 // effort(1))
        store, clock = MemoryStore(), ManualClock(START)
        db = open_on(store, clock)
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            with_graph(db, Path(folder))
        faulty = FaultStore(store)
        broken = open_on(faulty, ManualClock(START + timedelta(days=9)))
        faulty.arm(at, answer_lost if afterwards else disk_failed, afterwards=afterwards)
        try:
            prune_graph(broken)
        except TreadleError:
            assert faulty.fired
        check_graph(db)
        end_pruning(db)
        if not faulty.fired:
            break
    assert at > 300, "so many operations there are"


@pytest.mark.parametrize("kind", KINDS)
def test_the_disk_fails_under_a_graph(tmp_path: Path, quick_path: Path, kind: Kind) -> None:
    path = tmp_path / "template.db"
    db = open_on(open_database(str(path)))
    with_graph(db, tmp_path)
    db.close()

    def work(db: Database, answers: Answers) -> None:
        try:
            prune_graph(db)
        except TreadleError as error:
            answers["prune"] = error

    def settled(db: Database, answers: Answers) -> None:
        check_graph(db)
        end_pruning(db)
        pruning.reopened(db)

    step = max(1, 41 // effort(1))
    assert Trial(path, quick_path).every(kind, work, settled, step) > 1


def test_kill_dash_nine_while_the_log_is_pruned(tmp_path: Path) -> None:
    path, dice = str(tmp_path / "graph.db"), random.Random(20261130)
    with treadle.open(path) as db:
        with_graph(db, tmp_path)
    for _ in range(effort(6)):
        reader, writer = context().Pipe(duplex=False)
        process = start(pruning.prune_for_ever, path, writer)
        writer.close()
        assert reader.recv() == "ready"
        time.sleep(dice.random() * 0.15)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(30)
        with treadle.open(path) as db:
            check_graph(db)
            db.retention().log(through=db.head[0] - 1)
            check_graph(db)
