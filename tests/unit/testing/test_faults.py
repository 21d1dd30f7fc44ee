"""The failing store: each operation in turn, on the store's own workload."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support import jobs
from tests.support.batches import Answers, check_batches, create_tables, run_batches
from treadle.errors import Busy, DiskFull, OutcomeUnknown, StoreError
from treadle.store.memory import MemoryStore
from treadle.testing import (
    Crashed,
    FaultStore,
    answer_lost,
    busy,
    disk_full,
    memory_database,
    memory_faults,
    reopen,
)


def prepared() -> FaultStore:
    store = FaultStore(MemoryStore())
    create_tables(store)
    return store


def test_every_operation_fails_in_turn():
    for at in itertools.count(1):
        store = prepared()
        answers = Answers()
        store.arm(at)
        run_batches(store, [1, 2, 3], answers)
        fired = store.fired
        store.arm(None)
        check_batches(store, answers)
        again = Answers()
        run_batches(store, [1, 2, 3], again)
        check_batches(store, again)
        assert set(again.of.values()) == {"acknowledged"}
        assert list(answers.of.values()).count("nothing happened") == fired
        if not fired:
            break
    assert at > 20


def test_a_commit_whose_answer_is_lost():
    store = prepared()
    answers = Answers()
    store.arm(1)
    run_batches(store, [0], Answers())
    assert store.seen == ["write"]
    store.arm(None)
    run_batches(store, [1], answers)
    commit = store.seen.index("commit") + 1
    store.arm(commit, answer_lost, afterwards=True)
    run_batches(store, [2], answers)
    assert store.fired
    assert answers.of == {1: "acknowledged", 2: "unknown"}
    store.arm(None)
    run_batches(store, [2], answers)
    assert answers.of[2] == "acknowledged"
    check_batches(store, answers)


@pytest.mark.parametrize(
    ("error", "expected"),
    [(None, StoreError), (answer_lost, OutcomeUnknown), (disk_full, DiskFull), (busy, Busy)],
)
def test_errors_of_ones_choice(error, expected):
    store = prepared()
    store.arm(1, *([error] if error else []))
    with pytest.raises(expected), store.read():
        pass
    with store.read() as tx:
        assert tx.head().number == 0
    assert store.capabilities.durable is False
    store.close()


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.parametrize("afterwards", [False, True])
def test_a_process_that_dies_in_its_commit(where: str, afterwards: bool, tmp_path: Path) -> None:
    url = ":memory:" if where == "memory" else tmp_path / "jobs.db"
    faults = memory_faults(url)
    with memory_database(url=url, faults=faults) as db:
        jobs.deploy(db)
        add = {"key": "1", "shop": "Ulm"}
        faults.crash(afterwards=afterwards)
        with pytest.raises((Crashed, OutcomeUnknown)):
            db.run("AddShop", add, principal="desk")
        with pytest.raises(Crashed):
            db.row("Shop", ("Ulm",))
        again = reopen(db)
        assert (again.row("Shop", ("Ulm",)) is not None) == afterwards
        assert again.run("AddShop", add, principal="desk").replayed == afterwards
        assert again.verify().ok


def test_every_operation_of_a_command_may_be_its_process_s_last() -> None:
    faults = memory_faults()
    with memory_database(faults=faults) as db:
        jobs.deploy(db)
        for at in itertools.count(1):
            add = {"key": str(at), "shop": str(at)}
            faults.crash(at)
            try:
                db.run("AddShop", add, principal="desk")
            except (Crashed, OutcomeUnknown):
                pass
            fired = faults.fired
            db = reopen(db)
            assert db.run("AddShop", add, principal="desk").ok and db.row("Shop", (str(at),)) is not None
            if not fired:
                break
        assert at > 5 and db.verify().ok
