"""The doctor finds each thing that an operator should know, and nothing in a database that is well kept."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support import streams
from tests.support.engines import SOURCE, START, claim, create
from treadle.access.caller import Caller
from treadle.access.roles import Role
from treadle.doctor import Finding
from treadle.engine.grants import CreateToken, Grant
from treadle.retention import advice
from treadle.testing import ManualClock

WORKER = Role("worker", commands=("ClaimWork",))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def db(tmp_path: Path, clock: ManualClock) -> Any:
    with treadle.open(tmp_path / "work.db", clock=clock) as opened:
        opened.deploy(SOURCE, roles=[WORKER])
        opened.run(*create(0), principal="maker")
        yield opened


def found(db: treadle.Database) -> dict[str, Finding]:
    return {finding.code: finding for finding in db.doctor()}


def test_a_database_that_is_well_kept(db: treadle.Database) -> None:
    assert db.doctor() == []


def test_a_file_that_others_may_open(db: treadle.Database, tmp_path: Path) -> None:
    os.chmod(tmp_path / "work.db", 0o644)
    assert "0644" in found(db)["file_mode"].what


def test_a_commit_from_the_future(db: treadle.Database, clock: ManualClock) -> None:
    clock.set(datetime(2030, 1, 1, tzinfo=UTC))
    db.run(*create(1), principal="maker")
    clock.set(START)
    assert found(db)["floor_ahead"].level == "error"
    assert db.doctor()[0].code == "floor_ahead"


def test_a_long_rest(db: treadle.Database, clock: ManualClock) -> None:
    clock.advance(timedelta(days=3))
    assert "3 days" in found(db)["clock_ahead"].what


def test_tokens(db: treadle.Database, clock: ManualClock) -> None:
    db._one(CreateToken(Caller("owner"), Grant("short", "worker", seconds=3_600), b"a" * 32), None)
    db._one(CreateToken(Caller("owner"), Grant("long", "worker"), b"b" * 32), None)
    assert set(found(db)) == {"token_ends"}
    clock.advance(timedelta(days=400))
    assert {"token_old", "clock_ahead"} == set(found(db))
    db.deploy(SOURCE, roles=[Role("other")])
    assert "token_without_role" in found(db)


def test_one_principal_for_each_process(db: treadle.Database) -> None:
    for number in range(9):
        db.run(*create(number + 10), principal=f"worker-{number}")
    assert "9 principals" in found(db)["principal_per_process"].what


def test_leases_that_nobody_picks_up(db: treadle.Database, clock: ManualClock) -> None:
    db.run(*claim(0), principal="maker")
    clock.advance(timedelta(days=1, seconds=61))
    assert "WorkItem" in found(db)["lapsed_leases"].what


def test_nothing_deployed_and_no_roles() -> None:
    with treadle.open(":memory:") as empty:
        assert set(found(empty)) == {"no_contract"}
        empty.deploy(SOURCE)
        assert set(found(empty)) == {"no_roles"}


def test_a_damaged_file_is_said_to_be(db: treadle.Database, tmp_path: Path) -> None:
    for number in range(100, 400):
        db.run(*create(number), principal="maker")
    db.backup(tmp_path / "copy.db")
    data = bytearray((tmp_path / "copy.db").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3_000] = bytes(3_000)
    (tmp_path / "copy.db").write_bytes(data)
    with treadle.open(tmp_path / "copy.db", clock=ManualClock(START)) as damaged:
        assert found(damaged)["structure"].level == "error"


class TestSizes:
    """What takes room, and what would give some back."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(advice, "LARGE", 64 * 1024)

    def test_the_log_and_what_a_window_would_free(self, db: treadle.Database, clock: ManualClock) -> None:
        db.run_many([create(number) for number in range(1, 300)], principal="maker")
        young = found(db)
        assert set(young) == {"log_size"} and "about 0.0 MiB of the log is older" in young["log_size"].what
        assert "302 records, 300 receipts and 0 stubs" in young["log_size"].what
        clock.advance(timedelta(days=91))
        db.confirm_clock()
        old = found(db)["log_size"]
        assert old.level == "note" and "prune log --older-than 90" in old.remedy
        size = float(old.what.split("the log has ")[1].split(" ")[0])
        assert f"about {size:.1f} MiB" in old.what
        db.retention().receipts(older_than=timedelta(days=90))
        assert "0 receipts and 300 stubs" in found(db)["log_size"].what

    def test_free_room(self, db: treadle.Database, clock: ManualClock) -> None:
        db.run_many([create(number) for number in range(1, 300)], principal="maker")
        db.retention().log(through=db.head[0] - 1)
        assert "treadle vacuum" in found(db)["vacuum_pays"].remedy
        db.retention().vacuum()
        assert "vacuum_pays" not in found(db)

    def test_a_stream_that_holds_the_log(self, tmp_path: Path, clock: ManualClock) -> None:
        with treadle.open(tmp_path / "mail.db", clock=clock) as db:
            db.deploy(streams.SOURCE)
            streams.send(db.acting_as("tests"), range(200))
            assert "stream_holds_log" not in found(db)
            clock.advance(timedelta(days=91))
            db.confirm_clock()
            assert "stream Sent holds an event of record 2" in found(db)["stream_holds_log"].what

    def test_a_database_in_memory_takes_no_room(self) -> None:
        with treadle.open(":memory:") as db:
            db.deploy(SOURCE)
            db.run_many([create(number) for number in range(300)], principal="maker")
            assert {"log_size", "vacuum_pays"}.isdisjoint(found(db))
