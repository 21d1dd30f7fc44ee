"""The index of an open database: other processes, failing commits, readers beside a commit, renewal."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support.engines import SOURCE, create, open_on
from tests.support.graphs import index, insert, rows, table
from treadle.database import Database
from treadle.errors import OutcomeUnknown, StoreError
from treadle.graph.live import committing, following
from treadle.graph.live.attempts import Text
from treadle.graph.terms import IRI, Literal, Quad
from treadle.ports.store import WriteTx
from treadle.store.memory import MemoryStore
from treadle.testing.faults import FaultStore, answer_lost, disk_failed

P = IRI("urn:p")


def fact(number: int, graph: IRI | None = None) -> Quad:
    return Quad(IRI(f"urn:s:{number}"), P, Literal(str(number)), graph)


def put(db: Database, *numbers: int) -> Any:
    return db.graph.update(insert(map(fact, numbers)), principal="tests")


def agree(*handles: Database) -> None:
    for db in handles:
        assert index(db) == table(db)


def test_two_handles_of_one_file(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "x.db") as one, treadle.open(tmp_path / "x.db") as two:
        put(one, 1)
        assert rows(two) == 1
        put(two, 2)
        put(two, 3)
        moved = 'DELETE { ?s ?p "2" } INSERT { ?s ?p "two" } WHERE { ?s ?p "2" }'
        assert one.graph.update(moved, principal="tests").retracted == 1
        two.graph.update("CREATE GRAPH <urn:empty>", principal="tests")
        assert one.graph.graphs()[1:] == [("urn:empty", 0)]
        agree(one, two)
        assert one.verify().ok


def test_commands_beside_do_not_make_the_index_read_the_log(tmp_path: Path) -> None:
    db = open_on(MemoryStore())
    db.deploy(SOURCE)
    put(db, 1)
    db.run_many([create(number) for number in range(5)], principal="tests")
    put(db, 2)
    agree(db)
    assert db.verify().ok


def test_far_behind_the_lock_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "INSIDE", 3)
    with treadle.open(tmp_path / "x.db") as one, treadle.open(tmp_path / "x.db") as two:
        put(one, 1)
        core = two.graph.core
        job = core.update(treadle.access.caller.Caller("tests"), Text(insert([fact(99)]))).job(5.0)
        put(one, *range(2, 12))
        assert core.engine.submit([job])[0] is not None
        assert put(two, 99).asserted == 1
        agree(one, two)


# What fails.


def failing() -> tuple[FaultStore, Database]:
    store = FaultStore(MemoryStore())
    db = open_on(store)
    put(db, 1)
    return store, db


@pytest.mark.parametrize("error", [disk_failed, answer_lost])
def test_a_commit_that_fails_is_taken_back(error: Any) -> None:
    store, db = failing()
    store.arm(None)
    put(db, 2)
    at = store.seen.index("commit") + 1
    store.arm(at, error)
    with pytest.raises(StoreError if error is disk_failed else OutcomeUnknown):
        put(db, 3)
    assert store.fired
    store.arm(None)
    assert rows(db) == 2
    agree(db)
    assert put(db, 3).asserted == 1
    assert db.verify().ok


def test_a_commit_that_happened_although_its_answer_is_lost() -> None:
    store, db = failing()
    store.arm(None)
    put(db, 2)
    store.arm(store.seen.index("commit") + 1, answer_lost, afterwards=True)
    with pytest.raises(OutcomeUnknown):
        put(db, 3)
    store.arm(None)
    assert rows(db) == 3
    agree(db)
    assert put(db, 3).tx is None


def test_every_operation_of_the_store_fails_once() -> None:
    store, db = failing()
    number, at = 10, 0
    while True:
        at += 1
        number += 1
        store.arm(at)
        try:
            put(db, number)
        except StoreError:
            pass
        fired = store.fired
        store.arm(None)
        agree(db)
        if not fired:
            break
    assert at > 5
    assert db.verify().ok


def test_an_index_that_cannot_take_a_change_is_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    _, db = failing()
    live = db.graph.core.live
    broken = live.index()

    def fail(*arguments: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr(broken, "apply", fail)
    with pytest.raises(treadle.Internal):
        put(db, 2)
    assert live.index() is not broken
    agree(db)
    assert put(db, 2).asserted == 1


# Several in one batch.


def jobs(db: Database, *texts: str) -> list[Any]:
    core, caller = db.graph.core, treadle.access.caller.Caller("tests")
    return [core.update(caller, Text(text)).job(5.0) for text in texts]


def test_a_later_update_of_a_batch_sees_an_earlier_one() -> None:
    db = open_on(MemoryStore())
    db.graph.ready()
    replace = "DELETE DATA { <urn:s:1> <urn:p> '1' } ; INSERT DATA { <urn:s:1> <urn:p> 'one' }"
    three = jobs(db, insert([fact(1)]), insert([fact(1), fact(2)]), replace)
    answers = db.graph.core.engine.submit(three)
    assert [(one.asserted, one.retracted, one.tx) for one in answers] == [(1, 0, 1), (1, 0, 2), (1, 1, 3)]
    agree(db)
    assert db.verify().ok


def test_a_batch_that_fails_is_run_again_one_by_one() -> None:
    store, db = failing()
    two = jobs(db, insert([fact(2)]), insert([fact(3)]))
    store.arm(None)
    put(db, 4)
    store.arm(store.seen[store.seen.index("write") :].index("write_quads") + 1)
    answers = db.graph.core.engine.submit(two)
    assert store.fired
    assert [one.asserted for one in answers] == [1, 1]
    agree(db)


# Readers beside a commit.


class SlowStore:
    """A memory store whose commits wait for `go`, and then fail if `failing`."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.capabilities = self._store.capabilities
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        self.failing = False

    def read(self) -> Any:
        return self._store.read()

    @contextmanager
    def write(self, timeout: float | None = None) -> Iterator[Any]:
        with self._store.write(timeout) as tx:
            yield _Slow(self, tx)

    def close(self) -> None:
        self._store.close()


class _Slow:
    def __init__(self, store: SlowStore, tx: WriteTx) -> None:
        self._store = store
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def commit(self) -> None:
        self._store.begun.set()
        assert self._store.go.wait(10)
        if self._store.failing:
            raise disk_failed()
        self._tx.commit()


@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_waits_until_what_it_saw_is_durable(fails: bool) -> None:
    store = SlowStore()
    db = open_on(store)  # type: ignore[arg-type]
    put(db, 1)
    store.go.clear()
    store.begun.clear()
    store.failing = fails
    errors: list[object] = []

    def write() -> None:
        try:
            put(db, 2)
        except StoreError as error:
            errors.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    assert store.begun.wait(10)
    answers: list[int] = []
    reading = threading.Thread(target=lambda: answers.append(rows(db)))
    reading.start()
    reading.join(0.2)
    assert answers == []
    store.go.set()
    reading.join(10)
    writing.join(10)
    assert answers == [1 if fails else 2]
    assert bool(errors) is fails
    store.failing = False
    agree(db)


def test_a_crowded_index_is_renewed_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    db = open_on(MemoryStore())
    put(db, *range(1, 50))
    live = db.graph.core.live
    old = live.index()
    monkeypatch.setattr(type(old), "crowded", property(lambda self: self is old))
    put(db, 100)
    for _ in range(500):
        if live.index() is not old:
            break
        threading.Event().wait(0.01)
    assert live.index() is not old
    put(db, 101)
    agree(db)


def test_the_graph_costs_nothing_where_it_is_not_used(tmp_path: Path) -> None:
    script = f"""
import sys, treadle
with treadle.open({str(tmp_path / "x.db")!r}) as db:
    db.deploy({SOURCE!r})
    assert db.verify().ok
    assert "pyoxigraph" not in sys.modules
    db.graph.capabilities()
    assert "pyoxigraph" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_large_document_is_one_commit_of_several_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committing, "PART", 1_000)
    many = committing.PART + 1
    document = "\n".join(fact(n, IRI("urn:g")).n3() for n in range(many))
    with treadle.open(tmp_path / "x.db") as other, treadle.open(tmp_path / "x.db") as db:
        other.graph.ready()
        done = db.graph.load(document, "nquads", principal="tests")
        assert (done.tx, done.asserted, done.created) == (3, many, ("urn:g",))
        assert [entry.kind for entry in db.log()] == ["update"] * 3
        assert other.graph.graphs() == [(None, 0), ("urn:g", many)]
        assert other.graph.update("DROP GRAPH <urn:g>", principal="tests").retracted == many
    told: list[tuple[int, int]] = []
    with treadle.open(tmp_path / "x.db") as db:
        assert db.graph.ready(lambda done, all_: told.append((done, all_))) == 0
        assert db.graph.load(document, "nquads", principal="tests").asserted == many
    with treadle.open(tmp_path / "x.db") as db:
        assert db.graph.ready(lambda done, all_: told.append((done, all_))) == many
        assert db.verify().ok
    assert told == [(many, many)]


def test_reads_of_the_store_are_snapshots(tmp_path: Path) -> None:
    """What `index` promises: nothing older than the call, whatever the store's own snapshot is."""
    with treadle.open(tmp_path / "x.db") as one, treadle.open(tmp_path / "x.db") as two:
        put(one, 1)
        with two._engine.store.read() as tx:
            assert isinstance(tx.head().number, int)
            put(one, 2)
            assert rows(two) == 2
