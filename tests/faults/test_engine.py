"""The engine on a failing disk: what was acknowledged is there once, what was not is whole or absent.

Every n-th operation of the disk fails, in every kind of way, during a claim, a batch and a deployment.
After the power is cut and the database opened again, the history verifies and each key, repeated, gives
the answer that was given, or runs for the first time.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.vfs import KINDS, Fault, FaultyDisk, Keep, Kind, every_fault
from tests.support.engines import (
    ORGANIZATION,
    SOURCE,
    claim,
    compiled_proposal,
    create,
    open_on,
    successor,
    work_id,
)
from treadle.database import Database
from treadle.engine.deployment import DeployJob
from treadle.engine.receipt import Receipt
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.store.sqlite import open_database

Answers = dict[str, Any]
Call = tuple[str, Any]


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the contract and eight work items."""
    path = tmp_path_factory.mktemp("faults") / "template.db"
    db = open_on(open_database(str(path)))
    db.deploy(SOURCE)
    assert all(
        answer.ok for answer in db.run_many([create(number) for number in range(8)], principal="tests")
    )
    db.close()
    return path


class Trial:
    """One run: a workload on a copy with one fault, then a power cut, then the checks."""

    def __init__(self, template: Path, folder: Path) -> None:
        self.disk = FaultyDisk()
        self.path = folder / "trial.db"
        self._template = template

    def every(
        self,
        kind: Kind,
        work: Callable[[Database, Answers], None],
        check: Callable[[Database, Answers], None],
        step: int = 1,
    ) -> int:
        def run(fault: Fault) -> bool:
            for leftover in self.path.parent.glob("trial.db*"):
                leftover.unlink()
            shutil.copy(self._template, self.path)
            answers: Answers = {}
            store = open_database(str(self.path), vfs=self.disk.name)
            db = open_on(store)
            self.disk.arm(fault)
            work(db, answers)
            db.close()
            fired = self.disk.fired
            keeps: tuple[Keep, ...] = ("none", "all", random.Random(fault.at))
            self.disk.power_cut(keeps[fault.at % 3])
            db = open_on(open_database(str(self.path)))
            check(db, answers)
            db.close()
            return fired

        return every_fault(run, kind, step=step)


def note(answers: Answers, call: Call, answer: Any) -> None:
    answers[call[1]["request_key"]] = (call, answer)


def check_calls(db: Database, answers: Answers) -> None:
    """Acknowledged: there once and replayed the same. Refused: not there. Unknown: one of the two."""
    stored = {(entry.name, entry.input["work_id"]) for entry in db.log() if entry.kind == "command"}
    calls = [call for call, _ in answers.values()]
    repeated = db.run_many(calls, principal="tests")
    for (call, answer), again in zip(answers.values(), repeated, strict=True):
        there = (call[0], call[1]["work_id"]) in stored
        if isinstance(answer, Receipt):
            assert there
            assert again == answer
        elif not isinstance(answer, OutcomeUnknown):
            assert not there
        assert isinstance(again, Receipt)
        assert again.ok
        assert again.replayed == there
    report = db.verify()
    assert report.ok, report.problems


@pytest.mark.parametrize("kind", KINDS)
def test_a_claim(deployed: Path, quick_path: Path, kind: Kind) -> None:
    def work(db: Database, answers: Answers) -> None:
        for number in range(3):
            call = claim(number)
            try:
                note(answers, call, db.run(*call, principal="tests"))
            except TreadleError as error:
                note(answers, call, error)

    assert Trial(deployed, quick_path).every(kind, work, check_calls) > 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch(deployed: Path, quick_path: Path, kind: Kind) -> None:
    def work(db: Database, answers: Answers) -> None:
        calls = [claim(number) for number in range(8)] + [create(number) for number in range(20, 36)]
        for call, answer in zip(calls, db.run_many(calls, principal="tests"), strict=True):
            note(answers, call, answer)

    assert Trial(deployed, quick_path).every(kind, work, check_calls) > 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_deployment(deployed: Path, quick_path: Path, kind: Kind) -> None:
    proposal = compiled_proposal(successor(), 1)

    def work(db: Database, answers: Answers) -> None:
        try:
            answers["deploy"] = db._one(DeployJob(proposal), None)
        except TreadleError as error:
            answers["deploy"] = error
        call = claim(1)
        try:
            note(answers, call, db.run(*call, principal="tests"))
        except TreadleError as error:
            note(answers, call, error)

    def check(db: Database, answers: Answers) -> None:
        told = answers.pop("deploy")
        if isinstance(told, int):
            assert db.version == told == 2
        elif not isinstance(told, OutcomeUnknown):
            assert db.version == 1
        check_calls(db, answers)
        assert db._one(DeployJob(proposal), None) == 2
        row = db.row("WorkItem", (ORGANIZATION, work_id(1)))
        assert row is not None and row.fields["note"] is None
        assert db.verify().ok

    assert Trial(deployed, quick_path).every(kind, work, check) > 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closing on a broken disk
def test_opening(deployed: Path, quick_path: Path) -> None:
    """A new database is created whole or not at all, and the next opening finishes it."""
    first = compiled_proposal(SOURCE, 0)
    for kind in KINDS:
        disk = FaultyDisk()

        def run(fault: Fault, disk: FaultyDisk = disk) -> bool:
            for leftover in quick_path.glob("new.db*"):
                leftover.unlink()
            path = str(quick_path / "new.db")
            disk.arm(fault)
            try:
                open_on(open_database(path, vfs=disk.name)).close()
            except TreadleError:
                pass
            fired = disk.fired
            disk.power_cut("none")
            db = open_on(open_database(path))
            assert db._one(DeployJob(first), None) == 1
            assert db.verify().ok
            db.close()
            return fired

        assert every_fault(run, kind) > 3
