"""The graph on a failing disk and in a killed process: acknowledged is there once, the rest whole or not."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

import treadle
from tests.faults.test_engine import Answers, Trial
from tests.faults.vfs import KINDS, Kind
from tests.support import advancing
from tests.support.advancing import RELEASE, signed
from tests.support.effort import effort
from tests.support.engines import open_on
from tests.support.graphs import ENFORCED, index, insert, state_of, table
from tests.support.processes import context, start
from treadle.database import Database
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.store.sqlite import open_database


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An enrolled database with a run at its beginning, and one that is to be enrolled."""
    path = tmp_path_factory.mktemp("faults") / "template.db"
    with treadle.open(path, graph=ENFORCED) as db:
        db.graph.update(insert(RELEASE.setup()), principal="tests")
    return path


def check(db: Database, answers: Answers) -> None:
    """The run stands where the acknowledged advances led, and one more at most."""
    done = sum(answer == "won" for answer in answers.values())
    doubtful = sum(isinstance(answer, OutcomeUnknown) for answer in answers.values())
    revision = int(state_of(db)[1])
    assert done <= revision <= done + doubtful
    assert index(db) == table(db)
    assert db.graph.update(signed(7, revision), principal="tests").asserted == 12
    report = db.verify()
    assert report.ok, report.problems


@pytest.mark.parametrize("kind", KINDS)
def test_advances(template: Path, quick_path: Path, kind: Kind) -> None:
    def work(db: Database, answers: Answers) -> None:
        revision = 0
        for number in range(2):
            try:
                done = db.graph.update(signed(number, revision), principal="tests")
                answers[str(number)] = "won" if done.asserted else "lost"
            except TreadleError as error:
                answers[str(number)] = error
            try:
                if not isinstance(answers[str(number)], TreadleError):
                    assert index(db) == table(db)
                revision = int(state_of(db)[1])
            except TreadleError:
                continue

    assert Trial(template, quick_path).every(kind, work, check) > 3


@pytest.mark.parametrize("kind", KINDS)
def test_enrolling(tmp_path: Path, quick_path: Path, kind: Kind) -> None:
    path = tmp_path / "plain.db"
    db = open_on(open_database(str(path)))
    db.graph.update(insert(RELEASE.plan_quads() | RELEASE.registration_quads()), principal="tests")
    db.close()

    def work(db: Database, answers: Answers) -> None:
        try:
            db.graph.enroll()
            answers["enroll"] = "enabled"
        except TreadleError as error:
            answers["enroll"] = error

    def settled(db: Database, answers: Answers) -> None:
        told, found = answers["enroll"], db.graph.capabilities()["processing"]
        if told == "enabled":
            assert found == "enabled"
        elif not isinstance(told, OutcomeUnknown):
            assert found == "disabled"
        db.graph.enroll()
        db.graph.update(insert(RELEASE.run_quads()), principal="tests")
        assert db.verify().ok

    assert Trial(path, quick_path).every(kind, work, settled) > 3


def test_kill_dash_nine_while_a_run_advances(tmp_path: Path) -> None:
    path = str(tmp_path / "graph.db")
    dice = random.Random(20261130)
    with treadle.open(path, graph=ENFORCED) as db:
        db.graph.update(insert(RELEASE.setup()), principal="tests")
    known = 0
    for _ in range(effort(8)):
        reader, writer = context().Pipe(duplex=False)
        process = start(advancing.advance_for_ever, path, writer)
        writer.close()
        assert reader.recv() == "ready"
        reader.poll(20)  # it got as far as a commit, however busy the machine is
        time.sleep(dice.random() * 0.05)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(30)
        try:
            while True:
                known = max(known, reader.recv())
        except EOFError:
            pass
    with treadle.open(path) as db:
        revision = int(state_of(db)[1])
        assert revision >= known > 0
        assert index(db) == table(db)
        report = db.verify()
        assert report.ok, report.problems
