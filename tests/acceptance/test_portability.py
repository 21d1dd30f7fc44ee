"""Backup, restore, export and import, as an operator does them."""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support import postgres
from tests.support.shared import ROOT
from treadle.access.roles import Role
from treadle.engine.core import Engine
from treadle.engine.reimport import ReimportJob
from treadle.errors import DatabaseCorrupt, InvalidInput, ReadOnly, TreadleError
from treadle.testing import ManualClock

SOURCE = ROOT.joinpath("tests/data/library.riff").read_text()
START = datetime(2026, 5, 1, tzinfo=UTC)
READER = uuid.UUID(int=7)


def buy(number: int) -> tuple[str, dict[str, Any]]:
    return "Buy", {
        "key": f"buy-{number}",
        "branch": "north",
        "book": number,
        "title": f"Böök {number} ✓",
        "isbn": f"isbn-{number}",
        "price": Decimal("12.50"),
        "bought": date(2026, 4, 30),
    }


def take(number: int, revision: int, key: str = "") -> tuple[str, dict[str, Any]]:
    return "Take", {
        "key": key or f"take-{number}-{revision}",
        "branch": "north",
        "book": number,
        "reader_id": READER,
        "seconds": 60,
        "expected_revision": revision,
    }


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


def deployed(url: str | Path, clock: ManualClock) -> treadle.Database:
    db = treadle.open(url, clock=clock)
    db.deploy(SOURCE)
    return db


@pytest.fixture
def library(tmp_path: Path, clock: ManualClock) -> Any:
    """Ten books; number 3 was taken twice and is held now."""
    db = deployed(tmp_path / "library.db", clock)
    desk = db.acting_as("desk")
    assert desk.run("Open", {"key": "o", "branch": "north", "name": "North"}).ok
    assert all(answer.ok for answer in desk.run_many([buy(number) for number in range(10)]))
    assert desk.run(*take(3, 1)).ok
    clock.advance(timedelta(seconds=60))
    assert desk.run(*take(3, 2)).ok
    yield db
    db.close()


def book(db: treadle.Database, number: int) -> Any:
    row = db.row("Book", ("north", number))
    assert row is not None
    return row


# Backup and restore.


def test_a_backup_is_one_snapshot_taken_while_others_write(library: treadle.Database, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 100
        while not stop.is_set():
            library.run(*buy(number), principal="desk")
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        made = [library.backup(tmp_path / f"{number}.db") for number in range(5)]
    finally:
        stop.set()
        thread.join(30)
    for each in made:
        assert each.path.stat().st_mode & 0o777 == 0o600
        with treadle.open(each.path, create=False, clock=ManualClock(START)) as copy:
            report = copy.verify(head=(each.number, each.hash))
            assert report.ok, report.problems
            assert report.head[0] == each.number
    assert library.verify(head=(made[0].number, made[0].hash)).ok


def test_nothing_is_overwritten_and_nothing_left_behind(library: treadle.Database, tmp_path: Path) -> None:
    target = tmp_path / "taken.db"
    target.write_text("mine")
    for act in (lambda: library.backup(target), lambda: library.export(target)):
        with pytest.raises(InvalidInput, match="exists already"):
            act()
    library.backup(tmp_path / "good.db")
    with pytest.raises(InvalidInput, match="exists already"):
        treadle.restore(tmp_path / "good.db", target)
    assert target.read_text() == "mine"
    with pytest.raises(TreadleError):
        library.backup(tmp_path / "no" / "such" / "folder.db")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith(".part")) == []


def test_old_backups_go_when_the_new_one_is_whole(
    library: treadle.Database, tmp_path: Path, clock: ManualClock
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    other = folder / "treadle-mine.db"
    other.write_text("not ours to remove")
    made = []
    for _ in range(4):
        clock.advance(timedelta(hours=1))
        made.append(library.backup_into(folder, keep=2)[0].path)
    assert sorted(folder.iterdir()) == sorted([other, *made[2:]])
    with pytest.raises(InvalidInput, match="at least one"):
        library.backup_into(folder, keep=0)


def test_a_restore_begins_a_history_of_its_own(
    library: treadle.Database, tmp_path: Path, clock: ManualClock
) -> None:
    first = library.run(*take(5, 1), principal="desk")
    made = library.backup(tmp_path / "b.db")
    assert library.run(*take(6, 1), principal="desk").ok  # after the backup: lost with the old file
    done = treadle.restore(made.path, tmp_path / "new.db", clock=clock)
    with treadle.open(tmp_path / "new.db", clock=clock) as db:
        assert db.history == done.history != library.history
        assert db.run(*take(5, 1), principal="desk").to_json() == first.to_json() | {
            "replayed": True,
            "history": done.history,
        }
        with pytest.raises(treadle.HistoryChanged):
            db.acting_as("desk").run(*take(7, 1), history=first.history)
        assert book(db, 6).revision == 1
        entry = list(db.log())[-1]
        assert (entry.kind, entry.body["restored_to"], entry.body["hash"]) == (
            "restore",
            made.number,
            made.hash,
        )
        assert db.verify(head=(made.number, made.hash)).ok


def test_advancing_fences_puts_new_tokens_above_all_old_ones(
    library: treadle.Database, tmp_path: Path, clock: ManualClock
) -> None:
    library.backup(tmp_path / "b.db")
    done = treadle.restore(tmp_path / "b.db", tmp_path / "new.db", advance_fences=1000, clock=clock)
    assert done.advanced == 10
    with treadle.open(tmp_path / "new.db", clock=clock) as db:
        before, after = book(library, 3), book(db, 3)
        assert after.fields == before.fields | {"fence": before.fields["fence"] + 1000}
        assert after.revision == before.revision + 1
        assert db.verify().ok


def test_what_is_no_backup_is_refused(library: treadle.Database, tmp_path: Path) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"not a database" * 100)
    with pytest.raises(DatabaseCorrupt):
        treadle.restore(bad, tmp_path / "new.db")
    with pytest.raises(InvalidInput, match="in use"):
        treadle.restore(tmp_path / "library.db", tmp_path / "new.db")
    with pytest.raises(InvalidInput, match="no backup"):
        treadle.restore(tmp_path / "missing.db", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    with treadle.open(":memory:") as memory, pytest.raises(InvalidInput, match="memory"):
        memory.backup(tmp_path / "m.db")


# Export and import.


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Any:
    if request.param == "postgres":
        db = deployed(postgres.fresh_url(), clock)
    else:
        db = deployed(":memory:" if request.param == "memory" else tmp_path / "target.db", clock)
    yield db
    db.close()


def test_everything_comes_back_and_the_next_claim_is_above(
    library: treadle.Database, target: treadle.Database, tmp_path: Path, clock: ManualClock
) -> None:
    made = library.export(tmp_path / "out")
    assert (made.rows, made.events) == (11, 10)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "out").rglob("*.json*"))
    plan = target.plan_import(tmp_path / "out", "move")
    assert plan.problems == ()
    assert list(plan.rows) == ["Branch", "Book"]
    assert target.row("Branch", "north") is None
    done = target.import_archive(tmp_path / "out", "move")
    assert (done.rows, done.already) == (11, 0)
    for number in range(10):
        old, new = book(library, number), book(target, number)
        assert new.fields == old.fields
        assert new.revision == old.revision + 1
    clock.advance(timedelta(seconds=60))
    claimed = target.run(*take(3, 4), principal="desk")
    assert claimed.fields["book"]["fence"] == book(library, 3).fields["fence"] + 1
    assert target.run(*buy(77), principal="desk").ok
    assert target.run("Buy", {**buy(78)[1], "isbn": "isbn-2"}, principal="desk").outcome == "Twice"
    assert target.verify().ok


def test_an_import_is_run_again_without_doing_anything_twice(
    library: treadle.Database, target: treadle.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treadle.portability.importing import _Import

    library.export(tmp_path / "out")
    original, calls = _Import._submit, list[Any]()

    def stop_after_two(self: Any, chunk: Any) -> Any:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(chunk)
        return original(self, chunk)

    monkeypatch.setattr(_Import, "_submit", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        target.import_archive(tmp_path / "out", "move")
    monkeypatch.undo()
    done = target.import_archive(tmp_path / "out", "move")
    assert (done.rows, done.already) == (6, 5)
    assert target.import_archive(tmp_path / "out", "move").already == 11
    with pytest.raises(InvalidInput, match="present .*the row is here already, .* same --campaign NAME"):
        target.import_archive(tmp_path / "out", "another campaign")
    assert target.verify().ok


def damage(folder: Path, what: str) -> None:
    books = next(folder.glob("entities/*Book.jsonl"))
    if what == "cut":
        books.write_bytes(books.read_bytes()[:-20])
    elif what == "changed":
        books.write_bytes(books.read_bytes().replace(b"12.50", b"12.51", 1))
    elif what == "missing":
        books.unlink()
    elif what == "manifest":
        (folder / "manifest.json").write_text("{")
    elif what == "outside":
        text = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(text.replace("contract.riff", "../library.db"))
    elif what == "newer":
        text = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(text.replace('"version": 1,', '"version": 9,', 1))


@pytest.mark.parametrize("what", ["cut", "changed", "missing", "manifest", "outside", "newer"])
def test_a_changed_archive_is_refused_whole(
    library: treadle.Database, tmp_path: Path, clock: ManualClock, what: str
) -> None:
    library.export(tmp_path / "out")
    damage(tmp_path / "out", what)
    with deployed(":memory:", clock) as db:
        with pytest.raises(InvalidInput):
            db.import_archive(tmp_path / "out", "move")
        assert db.row("Branch", "north") is None


def resealed(folder: Path, change: Any) -> None:
    """Change the books and make the manifest agree: what a careless program could have written."""
    import hashlib

    books = next(folder.glob("entities/*Book.jsonl"))
    lines = [json.loads(line) for line in books.read_text().splitlines()]
    change(lines)
    books.write_text("".join(json.dumps(line) + "\n" for line in lines))
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in manifest["files"]:
        if file["name"] == "Book":
            data = books.read_bytes()
            file |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "lines": len(lines)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[2]["row"].update(price="0.00"), "Book.jsonl:3: invariant_violated"),
        (lambda lines: lines[2]["row"].update(isbn="isbn-1"), "Book.jsonl:3: unique_conflict"),
        (lambda lines: lines[2]["row"].update(branch="south"), "Book.jsonl:3: missing_reference"),
        (lambda lines: lines[2]["row"].update(reader=str(READER)), "Book.jsonl:3: half_lease"),
        (lambda lines: lines.append(lines[0]), "Book.jsonl:11: present"),
        (lambda lines: lines[2]["row"].update(colour="red"), "Book.jsonl:3: row"),
        (lambda lines: lines[2].update(revision=0), "Book.jsonl:3: a revision"),
        (lambda lines: lines[2]["row"].pop("title"), "Book.jsonl:3: row"),
        (lambda lines: lines[2]["row"].update(price=1.5), "Book.jsonl:3: row.price"),
    ],
)
def test_what_cannot_go_in_is_listed_before_anything_is_written(
    library: treadle.Database, tmp_path: Path, clock: ManualClock, change: Any, says: str
) -> None:
    library.export(tmp_path / "out")
    resealed(tmp_path / "out", change)
    with deployed(":memory:", clock) as db:
        with pytest.raises(InvalidInput, match=says):
            db.import_archive(tmp_path / "out", "move")
        assert db.row("Branch", "north") is None
        assert db.plan_import(tmp_path / "out", "move").problems


def test_entities_without_a_reimport_command_are_named(library: treadle.Database, tmp_path: Path) -> None:
    library.export(tmp_path / "out")
    start = SOURCE.index("  reimport command RestoreBranches")
    with treadle.open(":memory:") as db:
        db.deploy(SOURCE[:start] + SOURCE[SOURCE.index("  reimport command RestoreBooks") :])
        with pytest.raises(InvalidInput, match="1 rows of Branch: the contract declares no reimport command"):
            db.import_archive(tmp_path / "out", "move")


def test_a_deleted_key_goes_on_above_its_last_revision(
    library: treadle.Database, tmp_path: Path, clock: ManualClock
) -> None:
    library.export(tmp_path / "out")
    desk = library.acting_as("desk")
    clock.advance(timedelta(seconds=60))
    assert desk.run(*take(3, 3)).ok
    body = {"key": "r", "branch": "north", "book": 3, "reader_id": READER, "token": 3, "expected_revision": 4}
    assert desk.run("Remove", body).ok
    library.backup(tmp_path / "after.db")
    shutil.copy(tmp_path / "after.db", tmp_path / "again.db")
    resealed(tmp_path / "out", lambda lines: lines.__setitem__(slice(None), [lines[3]]))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["files"] = [file for file in manifest["files"] if file["name"] != "Branch"]
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with treadle.open(tmp_path / "again.db", clock=clock) as db:
        db.import_archive(tmp_path / "out", "undo")
        assert book(db, 3).revision == 5  # exported at 3, deleted at 4
        assert db.verify().ok


def test_only_an_operator_may(library: treadle.Database, tmp_path: Path) -> None:
    roles = [Role("clerk", commands=("Buy",)), Role("operator", operations=("restore",))]
    library.deploy(SOURCE, roles=roles)
    with pytest.raises(treadle.Denied, match="restore"):
        library.export(tmp_path / "out", role="clerk")
    library.export(tmp_path / "out", role="operator")
    with pytest.raises(treadle.Denied, match="restore"):
        library.import_archive(tmp_path / "out", "x", role="clerk")
    with pytest.raises(treadle.UnknownName):  # a reimport command is no command for applications
        library.run("RestoreBooks", {"records": []}, principal="desk")


def test_a_folder_that_cannot_be_written(
    library: treadle.Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ReadOnly, match="permissions"):
        library.export(tmp_path / "out")


TWINS = """
contract Twins version 1 {
  entity A { key (k: u64) field v: u64 delete_policy no_inbound }
  entity B { key (k: u64) field v: u64 delete_policy no_inbound }
  aggregate As { root A partition_by k conflict_key (k) }
  aggregate Bs { root B partition_by k conflict_key (k) }
  command PutA { input key: string<40> input k: u64 idempotency_key key
    create A(k) as a else Exists {} set a.v = 1 return Put {} }
  command PutB { input key: string<40> input k: u64 idempotency_key key
    create B(k) as b else Exists {} set b.v = 1 return Put {} }
  reimport command BringA { input records: list<A, 1..8>
    reconstitute A from records else Exists {} return Ok {} }
  reimport command BringB { input records: list<B, 1..8>
    reconstitute B from records else Exists {} return Ok {} }
}
"""


def test_two_entities_whose_files_are_alike_both_come_back(tmp_path: Path) -> None:
    with treadle.open(":memory:") as source:
        source.deploy(TWINS)
        for name in ("PutA", "PutB"):
            assert source.run(name, {"key": name, "k": 1}, principal="desk").ok
        source.export(tmp_path / "out")
    with treadle.open(":memory:") as db:
        db.deploy(TWINS)
        assert db.import_archive(tmp_path / "out", "move").rows == 2
        assert db.row("A", 1) == db.row("A", 1) is not None
        assert db.row("B", 1) is not None
        assert db.verify().ok


def test_a_deployment_in_the_middle_of_an_import_is_told(library: treadle.Database, tmp_path: Path) -> None:
    library.export(tmp_path / "out")
    later = SOURCE.replace("version 1", "version 2").replace(
        "field pin: optional<string<8>>", "field pin: optional<string<8>>\n    field shelf: optional<u64>"
    )
    with treadle.open(":memory:", clock=ManualClock(START)) as db:
        db.deploy(SOURCE)

        def deploy_once(done: int, total: int) -> None:
            if db.version == 1:
                db.deploy(later)

        with pytest.raises(treadle.ContractMismatch, match="run the same import again"):
            db.import_archive(tmp_path / "out", "move", progress=deploy_once)
        done = db.import_archive(tmp_path / "out", "move")
        assert done.rows + done.already == 11
        assert db.verify().ok


def test_two_restores_of_one_backup_are_two_histories(library: treadle.Database, tmp_path: Path) -> None:
    library.backup(tmp_path / "b.db")
    one, two = (treadle.restore(tmp_path / "b.db", tmp_path / name) for name in ("one.db", "two.db"))
    assert len({one.history, two.history, library.history}) == 3


def test_two_restores_to_one_place_at_once(library: treadle.Database, tmp_path: Path) -> None:
    """One of them wins; what is there is a restored database, whole."""
    library.backup(tmp_path / "b.db")
    ends: list[Any] = []

    def attempt() -> None:
        try:
            ends.append(treadle.restore(tmp_path / "b.db", tmp_path / "new.db"))
        except TreadleError as error:
            ends.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    won = [end for end in ends if not isinstance(end, TreadleError)]
    assert len(won) == 1
    assert all(isinstance(end, InvalidInput) for end in ends if end is not won[0])
    with treadle.open(tmp_path / "new.db", clock=ManualClock(START)) as db:
        assert db.history == won[0].history
    assert not list(tmp_path.glob(".*"))


def test_the_same_import_twice_in_one_batch_writes_once(
    library: treadle.Database, tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two operators start it at once: each chunk of the second replays that of the first."""
    library.export(tmp_path / "out")
    submit, chunks = Engine.submit, list[int]()

    def twice(engine: Engine, jobs: Any, timeout: float | None = None) -> Any:
        if not isinstance(jobs[0], ReimportJob):
            return submit(engine, jobs, timeout)
        first, second = submit(engine, [jobs[0], ReimportJob(jobs[0].caller, jobs[0].chunk, 1)], timeout)
        assert second == first._replace(replayed=True)
        chunks.append(first.number)
        return [first]

    monkeypatch.setattr(Engine, "submit", twice)
    with deployed(tmp_path / "new.db", clock) as db:
        done = db.import_archive(tmp_path / "out", "move")
        assert (done.rows, done.already) == (11, 0)
        assert [entry.number for entry in db.log() if entry.kind == "reimport"] == chunks
        assert db.verify().ok


def test_from_sqlite_to_postgresql_and_back(
    library: treadle.Database, tmp_path: Path, clock: ManualClock
) -> None:
    library.export(tmp_path / "there")
    with deployed(postgres.fresh_url(), clock) as server:
        server.import_archive(tmp_path / "there", "there")
        made = server.export(tmp_path / "back")
        assert (made.rows, server.verify().ok) == (11, True)
    with deployed(tmp_path / "again.db", clock) as again:
        again.import_archive(tmp_path / "back", "back")
        for number in range(10):
            old, new = book(library, number), book(again, number)
            assert (new.fields, new.revision) == (old.fields, old.revision + 2)
        assert again.verify().ok
