"""The SQLite store on a disk that fails at every operation in turn."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.faults.vfs import KINDS, Fault, FaultyDisk, Keep, Kind, every_fault
from tests.support.batches import (
    WIDER,
    Answers,
    alter_tables,
    check_batches,
    create_tables,
    current_table,
    run_batches,
    write_batch,
)
from treadle.errors import OutcomeUnknown, StoreError, TreadleError
from treadle.ports.store import Store
from treadle.store.sqlite import SqliteStore, open_database

Work = Callable[[SqliteStore, Answers], None]
Check = Callable[[Store, Answers], object]


def cut_power(disk: FaultyDisk, at: int) -> None:
    """In turn, of what was not flushed nothing, all, or any part is left."""
    keeps: tuple[Keep, ...] = ("none", "all", random.Random(at))
    disk.power_cut(keeps[at % 3])


class Bench:
    """Runs a workload on a copy of a prepared database with one fault; then the power is cut."""

    def __init__(self, folder: Path) -> None:
        self.disk = FaultyDisk()
        self._folder = folder
        self._template = folder / "template.db"
        self._count = 0
        store = open_database(str(self._template))
        create_tables(store)
        run_batches(store, [0], Answers())
        store.close()

    def fresh(self) -> str:
        """The path of a new copy."""
        self._count += 1
        path = str(self._folder / f"{self._count}.db")
        shutil.copy(self._template, path)
        return path

    def try_every(self, kind: Kind, work: Work, check: Check) -> int:
        """Do `work` with each fault of a kind, `check` what is left; returns how many there were."""

        def run(fault: Fault) -> bool:
            path = self.fresh()
            store = open_database(path, vfs=self.disk.name)
            answers = Answers({0: "acknowledged"})
            self.disk.arm(fault)
            work(store, answers)
            store.close()
            fired = self.disk.fired
            cut_power(self.disk, fault.at)
            store = open_database(path)
            check(store, answers)
            store.close()
            return fired

        return every_fault(run, kind)


@pytest.fixture
def bench(quick_path):
    return Bench(quick_path)


def attempt(act: Callable[[], object]) -> TreadleError | None:
    """Do something on a failing disk; the error, which must be one of ours."""
    try:
        act()
    except TreadleError as error:
        return error
    return None


def check_and_repeat(store: Store, answers: Answers) -> Answers:
    """What is left keeps every promise; and when callers repeat, each batch is there, once."""
    check_batches(store, answers)
    again = Answers()
    run_batches(store, list(answers.of), again)
    assert set(again.of.values()) <= {"acknowledged"}
    check_batches(store, again)
    return again


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_checkpoints(bench: Bench, kind: Kind):
    def work(store: SqliteStore, answers: Answers) -> None:
        run_batches(store, [1, 2], answers)
        attempt(store.checkpoint)
        run_batches(store, [3, 4], answers)

    assert bench.try_every(kind, work, check_and_repeat) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_vacuum(bench: Bench, kind: Kind):
    def work(store: SqliteStore, answers: Answers) -> None:
        run_batches(store, [1, 2], answers)
        attempt(store.vacuum)
        run_batches(store, [3], answers)

    assert bench.try_every(kind, work, check_and_repeat) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_altering_a_table(bench: Bench, kind: Kind):
    def work(store: SqliteStore, answers: Answers) -> None:
        answers.hear(-1, attempt(lambda: alter_tables(store)))
        run_batches(store, [1], answers)

    def check(store: Store, answers: Answers) -> None:
        told = answers.of.pop(-1)
        with store.read() as tx:
            altered = current_table(tx) == WIDER
        if told != "unknown":
            assert altered == (told == "acknowledged")
        again = check_and_repeat(store, answers)
        alter_tables(store)
        check_batches(store, again)

    assert bench.try_every(kind, work, check) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_creating_a_database(quick_path, kind: Kind):
    disk = FaultyDisk()

    def run(fault: Fault) -> bool:
        path = str(quick_path / f"{fault.at}.db")
        disk.arm(fault)
        answers = Answers()

        def create() -> None:
            store = open_database(path, vfs=disk.name)
            try:
                answers.hear(-1, attempt(lambda: create_tables(store)))
                if answers.of[-1] == "acknowledged":
                    run_batches(store, [1], answers)
            finally:
                store.close()

        opened = attempt(create) is None
        fired = disk.fired
        cut_power(disk, fault.at)
        store = open_database(path)
        told = answers.of.pop(-1, "nothing happened")
        with store.read() as tx:
            there = current_table(tx) is not None
        assert told == "unknown" or there == (opened and told == "acknowledged")
        create_tables(store)
        check_and_repeat(store, answers)
        store.close()
        return fired

    assert every_fault(run, kind) > 10


@pytest.mark.parametrize("kind", ["error", "full", "broken"])
def test_service_resumes_when_the_cause_is_gone(bench: Bench, kind: Kind):
    """The same handle goes on after the disk is repaired, without being opened again."""

    def work(store: SqliteStore, answers: Answers) -> None:
        run_batches(store, [1, 2], answers)
        bench.disk.repair()
        run_batches(store, [1, 2, 3], answers)
        assert set(answers.of.values()) == {"acknowledged"}
        check_batches(store, answers)

    def run(fault: Fault) -> bool:
        store = open_database(bench.fresh(), vfs=bench.disk.name)
        bench.disk.arm(fault)
        work(store, Answers({0: "acknowledged"}))
        store.close()
        return bench.disk.fired

    assert every_fault(run, kind) > 10


def test_nothing_is_answered_after_a_failed_flush(bench: Bench):
    """Not even what was committed before: until a full checkpoint was flushed."""
    store = open_database(bench.fresh(), vfs=bench.disk.name)
    run_batches(store, [1], Answers())
    bench.disk.arm(Fault(1, "broken", frozenset({"sync"})))
    with pytest.raises(OutcomeUnknown):
        write_batch(store, 2)
    with pytest.raises(StoreError, match="flush"), store.read():
        pass
    with pytest.raises(StoreError, match="flush"), store.write():
        pass
    with pytest.raises(StoreError, match="flush"):
        store.checkpoint()
    bench.disk.repair()
    answers = Answers()
    run_batches(store, [0, 1, 2], answers)
    check_batches(store, answers)
    store.close()


def test_a_question_inside_the_transaction_whose_flush_failed(bench: Bench):
    store = open_database(bench.fresh(), vfs=bench.disk.name)
    bench.disk.arm(Fault(1, "broken", frozenset({"sync"})))
    with store.write() as tx:
        tx.put_setting("a", b"b")
        with pytest.raises(OutcomeUnknown):
            tx.commit()
        with pytest.raises(StoreError, match="leave the write transaction"), store.read():
            pass
    bench.disk.repair()
    with store.read() as look:
        assert look.setting("a") is None
    store.close()


def test_settling_keeps_the_files_format(bench: Bench):
    store = open_database(bench.fresh(), vfs=bench.disk.name)
    with store.write() as tx:
        tx.raise_format(2)
        tx.commit()
    bench.disk.arm(Fault(1, "error", frozenset({"sync"})))
    with pytest.raises(StoreError):
        write_batch(store, 1)
    assert bench.disk.fired
    assert store._writer.pragma("user_version") == 2
    store.close()


def test_a_failed_flush_that_the_next_one_mends_is_no_riddle(bench: Bench):
    """One failed flush, then a full checkpoint succeeds: the answer is that nothing happened."""
    store = open_database(bench.fresh(), vfs=bench.disk.name)
    bench.disk.arm(Fault(1, "error", frozenset({"sync"})))
    with pytest.raises(StoreError, match="nothing was changed"):
        write_batch(store, 1)
    assert bench.disk.fired
    check_batches(store, Answers({0: "acknowledged", 1: "nothing happened"}))
    store.close()


def test_a_snapshot_that_is_open_during_a_failed_flush_goes_on(bench: Bench):
    store = open_database(bench.fresh(), vfs=bench.disk.name)
    with store.read() as tx:
        run_batches(store, [1], Answers())
        bench.disk.arm(Fault(1, "error", frozenset({"sync"})))
        with pytest.raises(OutcomeUnknown):  # the open snapshot keeps the checkpoint from being a full one
            write_batch(store, 2)
        assert tx.head().number == 1
    write_batch(store, 2)
    check_batches(store, Answers(dict.fromkeys((0, 1, 2), "acknowledged")))
    store.close()


def test_a_background_checkpoint_that_fails_is_made_good(bench: Bench, monkeypatch):
    monkeypatch.setattr("treadle.store.sqlite.checkpoint.PAGES", 10)
    store = open_database(bench.fresh(), vfs=bench.disk.name)
    bench.disk.arm(Fault(1, "error", frozenset({"sync"})))
    answers = Answers({0: "acknowledged"})
    for number in range(1, 20):
        run_batches(store, [number], answers)
    assert bench.disk.fired
    run_batches(store, [number for number, told in answers.of.items() if told != "acknowledged"], answers)
    assert set(answers.of.values()) == {"acknowledged"}
    check_batches(store, answers)
    store.close()
    bench.disk.power_cut("none")
    assert apsw.Connection(str(store.path)).pragma("integrity_check") == "ok"
