"""What only the SQLite store has: a file that others may touch, a log that is checkpointed, pinned plans."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import apsw
import pytest

from tests.support.tables import JOB, SHOP, created, entry, job, job_key
from treadle.errors import Busy, Closed, InvariantBroken, StoreError, TooLarge
from treadle.model import types
from treadle.model.facts import Range
from treadle.ports.store import Column, Table
from treadle.store.sqlite import checkpoint, files, open_database, transactions
from treadle.store.sqlite import store as module
from treadle.store.sqlite.statements import MOST_COLUMNS, TableStatements


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "work.db")


@pytest.fixture
def store(path):
    made = open_database(path)
    yield made
    made.close()


def append(store, count: int = 1, size: int = 10) -> None:
    for _ in range(count):
        with store.write() as tx:
            tx.append_log([entry(tx.head().number + 1, b"x" * size)])
            tx.commit()


def count(act, into):
    def counted(*args):
        into.append(act(*args))
        return into[-1]

    return counted


def test_a_file_that_lost_its_name_is_not_written(store, path):
    append(store)
    os.rename(path, path + ".away")
    with pytest.raises(StoreError, match="moved"), store.write():
        pass
    with open(path, "wb") as other:
        other.write(b"another file")
    with pytest.raises(StoreError, match="replaced"), store.write():
        pass
    os.rename(path + ".away", path)
    append(store)
    with store.read() as tx:
        assert tx.head().number == 2


def test_a_program_outside_the_queue_that_holds_the_lock(store, path):
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with pytest.raises(Busy), store.write(timeout=0.05):
        pass
    assert time.monotonic() - started < 2
    threading.Timer(0.4, other.execute, ("COMMIT",)).start()
    append(store)  # without a timeout it waits as long as it takes
    other.close()


def test_a_programs_open_snapshot_is_no_hindrance(store, path):
    append(store)
    other = apsw.Connection(path)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM treadle_log").fetchall() == [(1,)]
    append(store, 20)
    store.checkpoint()
    append(store, 20)
    assert other.execute("SELECT count(*) FROM treadle_log").fetchall() == [(1,)]
    other.close()
    append(store)
    with store.read() as tx:
        assert tx.head().number == 42


def test_the_log_begins_anew_under_steady_writing(store, path, monkeypatch):
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.PAGES", 50)
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.LONG_LOG", 100)
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.ROOM", 0)
    longest = 0
    for _ in range(400):
        append(store, 1, 8000)
        longest = max(longest, os.path.getsize(path + "-wal"))
    assert longest < 210 * 4120  # LONG_LOG, twice PAGES, and one commit; 1,600 were written
    with store.read() as tx:
        assert [record.number for record in tx.log(1, 1000)] == list(range(1, 401))


def read_for_ever(store, mine, theirs, over):
    """One of two readers, each of whom begins before the other ends."""
    while not over.is_set():
        with store.read() as tx:
            tx.head()
            theirs.set()
            mine.wait(5)
            mine.clear()


def test_the_log_begins_anew_without_the_thread_and_between_readers(store, path, monkeypatch):
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.PAGES", 50)
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.LONG_LOG", 100)
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.LET_GO_MS", 10_000)  # they all end by themselves
    monkeypatch.setattr(checkpoint.Checkpointer, "_start", lambda self: None)  # as if it never got to run
    first, second, over = threading.Event(), threading.Event(), threading.Event()
    readers = [
        threading.Thread(target=read_for_ever, args=(store, mine, theirs, over))
        for mine, theirs in ((first, second), (second, first))
    ]
    for reader in readers:
        reader.start()
    longest = 0
    for _ in range(300):
        append(store, 1, 8000)
        longest = max(longest, os.path.getsize(path + "-wal"))
    over.set()
    first.set()
    second.set()
    for reader in readers:
        reader.join()
    assert longest < 210 * 4120


def test_an_open_snapshot_is_asked_rarely_and_the_log_is_short_again_after_it(store, path, monkeypatch):
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.PAGES", 50)
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.LONG_LOG", 100)
    monkeypatch.setattr(files, "LOG_BYTES", 300 * 4120)
    monkeypatch.setattr(checkpoint.Checkpointer, "_start", lambda self: None)
    tries: list[int] = []
    monkeypatch.setattr(
        checkpoint.Checkpointer, "begin_anew", count(checkpoint.Checkpointer.begin_anew, tries)
    )
    append(store)
    with store.read() as tx:
        append(store, 300, 8000)
        assert tx.head().number == 1
        assert len(tries) <= 1200 // 50
        assert os.path.getsize(path + "-wal") > 1000 * 4120
    append(store, 100, 8000)
    assert tries[-1] == 0


def test_a_forgotten_handle_ends_its_thread(path, monkeypatch):
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.PAGES", 5)
    before = threading.active_count()
    store = open_database(path)
    append(store, 10)
    assert threading.active_count() == before + 1
    gone = weakref.ref(store)
    del store
    for _ in range(100):  # the thread may be in the middle of something
        gc.collect()
        if gone() is None and threading.active_count() == before:
            break
        time.sleep(0.02)
    assert gone() is None
    assert threading.active_count() == before


def test_a_busy_log_has_room_ahead(store, path, monkeypatch):
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.BUSY_PAGES", 20)
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.ROOM", 3_000_000)
    append(store, 3)
    assert os.path.getsize(path + "-wal") < 1_000_000
    append(store, 20)
    for _ in range(200):
        append(store)
        if os.path.getsize(path + "-wal") >= 3_000_000:
            break
        time.sleep(0.01)
    size = os.path.getsize(path + "-wal")
    assert 3_000_000 <= size < 4_200_000
    append(store, 30)
    assert os.path.getsize(path + "-wal") == size
    shutil.copy(path, path + ".copy")  # as a crash leaves them
    shutil.copy(path + "-wal", path + ".copy-wal")
    again = open_database(path + ".copy")
    with again.read() as tx, store.read() as original:
        assert list(tx.log(1, 10_000)) == list(original.log(1, 10_000))
        assert tx.head().number > 53
    again.close()


def test_closing_waits_for_writers_and_lets_readers_finish(path):
    store = open_database(path)
    append(store)
    order = []

    def close() -> None:
        store.close()
        order.append("closed")

    with store.read() as reader:
        with store.write() as tx:
            thread = threading.Thread(target=close)
            thread.start()
            time.sleep(0.05)
            order.append("written")
            tx.append_log([entry(2)])
            tx.commit()
        thread.join()
        assert order == ["written", "closed"]
        assert reader.head().number == 1
    assert store.connections() == [store._writer]
    again = open_database(path)
    with again.read() as look:
        assert look.head().number == 2
    again.close()


def test_closing_inside_a_write_transaction_is_refused(store):
    with pytest.raises(InvariantBroken), store.write():
        store.close()
    append(store)


def test_readers_are_kept_for_the_next(store):
    append(store)
    for _ in range(20):
        with store.read() as tx:
            tx.head()
    assert len(store.connections()) == 2
    blocks = [store.read() for _ in range(12)]
    for block in blocks:
        block.__enter__().head()
    for block in blocks:
        block.__exit__(None, None, None)
    assert len(store.connections()) == 1 + module._IDLE_READERS


FORK = """
    import os, sys
    from tests.support.tables import entry
    from treadle.store.sqlite import checkpoint, open_database
    checkpoint.PAGES = 3
    store = open_database(sys.argv[1])
    def append():
        with store.write() as tx:
            tx.append_log([entry(tx.head().number + 1)])
            tx.commit()
    for _ in range(20):
        append()
    with store.read() as tx, store.write() as other:
        child = os.fork()
        if child == 0:
            sys.exit(0)  # the interpreter ends as usual: every object is collected, every thread is joined
        assert os.waitpid(child, 0)[1] == 0
        other.append_log([entry(21)])
        other.commit()
        assert tx.head().number == 20
    append()
    store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_ends_does_no_harm(path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORK), path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    store = open_database(path)
    with store.read() as tx:
        assert tx.head().number == 22
    assert store._writer.pragma("integrity_check") == "ok"
    store.close()


def plan(store, text: str, *bindings: object) -> str:
    """How SQLite goes about a statement, in one line."""
    rows = store._writer.execute("EXPLAIN QUERY PLAN " + text, bindings).fetchall()
    return "; ".join(row[3] for row in rows)


def test_the_plans_of_the_statements_that_matter(store):
    with store.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(number)) for number in range(50)], [1] * 50)
        tx.commit()
    said = TableStatements(JOB)
    key = job_key(1)
    by_key = "SEARCH Job USING PRIMARY KEY (shop_id=? AND job_id=?)"
    assert plan(store, said.fetch, 0, *key) == by_key
    assert plan(store, said.delete, *key) == by_key
    mask = said.mask(job(1), job(1, title="x"))
    assert plan(store, mask.text, "x", 1, 1, *key) == by_key
    assert plan(store, said.scan, 1) == "SCAN Job"
    assert plan(store, said.scan_after, *key, 1) == "SEARCH Job USING PRIMARY KEY ((shop_id,job_id)>(?,?))"
    probe = said.probe(Range("Job", "by_state", (SHOP, "Waiting"), 1))
    assert plan(store, probe, SHOP, "Waiting", 1) == (
        "SEARCH Job USING COVERING INDEX Job.by_state (shop_id=? AND state=?)"
    )
    probe = said.probe(Range("Job", "by_printer", (SHOP, b"p" * 16), 1))
    assert plan(store, probe, SHOP, b"p" * 16, 1) == (
        "SEARCH Job USING COVERING INDEX Job.by_printer (shop_id=? AND printer=?)"
    )
    assert plan(store, transactions._RECEIPT, 0, b"") == (
        "SEARCH treadle_receipts USING PRIMARY KEY (identity=?)"
    )
    assert plan(store, transactions._HEAD) == "SCAN treadle_log"
    assert plan(store, transactions._LOG, 1, 2) == (
        "SEARCH treadle_log USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
    )
    assert plan(store, transactions._EVENTS, "n", 0, 0, 1) == (
        "SEARCH treadle_events USING PRIMARY KEY (name=? AND (number,ordinal)>(?,?))"
    )
    assert plan(store, transactions._PARTITION, "n", b"", 0, 0, 1) == (
        "SEARCH treadle_events USING INDEX treadle_events_by_partition "
        "(name=? AND partition=? AND (number,ordinal)>(?,?))"
    )


def test_an_update_leaves_the_indexes_of_other_columns_alone(store):
    said = TableStatements(JOB)
    before = job(1)
    claimed = (*before[:7], 5, 1, 1)
    mask = said.mask(before, claimed)
    assert mask.text == (
        'UPDATE "Job" SET "printer_until" = ?, "fence" = ?, "tries" = ?, '
        'treadle_revision = ?, treadle_commit = ? WHERE "shop_id" = ? AND "job_id" = ?'
    )
    assert said.mask(before, claimed) is mask
    for number in range(256):  # many different updates: the texts do not pile up
        after = list(before)
        for place in range(8):
            if number >> place & 1:
                after[2 + place] = object()
        said.mask(before, tuple(after))
    assert len(said._masks) <= 64


def test_an_iterator_that_the_writer_left_does_not_keep_it_from_beginning_again(store, path):
    append(store, 5)
    with store.write() as tx:
        left = tx.log(1, 5)
        next(left)
    other = open_database(path)
    append(other)
    other.close()
    with store.write(timeout=2) as tx:
        assert tx.head().number == 6
    with pytest.raises(Closed):
        next(left)


@pytest.mark.parametrize(("count", "fits"), [(MOST_COLUMNS, True), (MOST_COLUMNS + 1, False)])
def test_as_many_fields_as_sqlite_can_hold(store, count, fits):
    kinds = [types.Optional(types.U64_), types.Optional(types.Decimal(9, 2)), types.Optional(types.UUID)]
    columns = [Column(f"f{place}", f"f{place}", kinds[place % 3]) for place in range(1, count)]
    table = Table("Wide", "Wide", (Column("id", "id", types.U64_), *columns), 1, False)
    with store.write() as tx:
        if not fits:
            with pytest.raises(TooLarge, match="1997 fields"):
                tx.create_table(table)
            return
        tx.create_table(table)
        row = (7, *(None if place % 3 else place for place in range(1, count)))
        tx.write_rows(table, [created(table, row)], [1])
        assert tx.rows(table, [(7,)])[0].cells == row
        wide = store._writer.execute("SELECT * FROM treadle_view_Wide").fetchall()
        assert wide[0][0] == 7
        assert len(wide[0]) == count + 2
