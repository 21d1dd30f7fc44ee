"""A rollback to a backup whose last record is near, or behind, what was pruned from the log."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from tests.support.graphs import ENFORCED, insert
from tests.support.pruning import R, advance
from treadle.access.caller import Caller
from treadle.errors import InvalidInput, Refused
from treadle.portability.rollback import RolledBack, rollback
from treadle.store import alone, open_store
from treadle.store.clock import SystemClock
from treadle.store.ids import SystemIds


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with two named backups, an advance after each, and a record after that."""
    made = tmp_path / "work.db"
    with treadle.open(made, graph=ENFORCED) as db:
        db.graph.update(insert(R.setup()), principal="tests")
        for revision, name in enumerate(("first", "second")):
            db.backup(tmp_path / f"work.db.{name}.backup")
            advance(db, revision, signer=None)
        db.graph.update("INSERT DATA { <urn:x> <urn:y> <urn:z> }", principal="tests")
    return made


def roll_back(path: Path, name: str, *, discard_advances: bool = True) -> RolledBack:
    return rollback(
        path,
        name,
        open_store,
        alone,
        SystemClock(),
        SystemIds(),
        discard_advances=discard_advances,
        caller=Caller("ann"),
    )


def test_behind_the_logs_beginning(path: Path) -> None:
    with treadle.open(path) as db:
        db.retention().log(through=3)
        size = db.head
    with pytest.raises(InvalidInput, match="records up to 3 were pruned"):
        roll_back(path, "first")
    with treadle.open(path) as db:
        assert db.head == size
    done = roll_back(path, "second")
    assert (done.advances, done.commits) == (1, size[0] - 3)
    with treadle.open(path) as db:
        assert db.verify().ok


def test_advances_are_counted_from_the_logs_beginning_on(path: Path) -> None:
    with treadle.open(path) as db:
        db.retention().log(through=2)
    with pytest.raises(Refused, match="2 signed advances"):
        roll_back(path, "first", discard_advances=False)


def test_another_databases_backup_at_that_number(path: Path, tmp_path: Path) -> None:
    with treadle.open(tmp_path / "other.db", graph=ENFORCED) as other:
        other.graph.update(insert(R.setup()), principal="somebody else")
        other.backup(tmp_path / "work.db.other.backup")
    with treadle.open(path) as db:
        db.retention().log(through=2)
    with pytest.raises(InvalidInput, match="no backup of this database's history"):
        roll_back(path, "other")


def test_a_restored_backup_of_a_pruned_log_is_folded(path: Path, tmp_path: Path) -> None:
    with treadle.open(path) as db:
        db.retention().log(through=db.head[0] - 1)
        db.backup(tmp_path / "pruned.db")
    restored = treadle.restore(tmp_path / "pruned.db", tmp_path / "again.db")
    with treadle.open(restored.path) as db:
        assert db.verify().signatures == 2
        advance(db, 2, signer=None)
        assert db.verify().ok
