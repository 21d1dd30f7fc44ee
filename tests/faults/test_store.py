"""The SQLite store on a disk that fails at every operation in turn."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.vfs import KINDS, Fault, FaultyDisk, Kind, every_fault
from tests.support.batches import (
    Answers,
    check_batches,
    create_tables,
    run_batches,
)
from treadle.errors import TreadleError
from treadle.store.sqlite import SqliteStore, open_database


class Bench:
    """Runs a workload on a fresh database with one fault, then cuts the power and looks at what is left."""

    def __init__(self, folder: Path) -> None:
        self.disk = FaultyDisk()
        self._folder = folder
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return str(self._folder / f"{self._count}.db")


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


KEEP = ("none", "all", "some")


def _keep(name: str, at: int):
    return random.Random(at) if name == "some" else name


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("kind", KINDS)
def test_batches(bench: Bench, kind: Kind, keep: str):
    def run(fault: Fault) -> bool:
        path = bench.fresh()
        store = open_database(path, vfs=bench.disk.name)
        create_tables(store)
        answers = Answers()
        run_batches(store, [0], answers)
        bench.disk.arm(fault)
        run_batches(store, [1, 2], answers)
        _checkpoint(store)
        run_batches(store, [3, 4], answers)
        store.close()
        fired = bench.disk.fired
        bench.disk.power_cut(_keep(keep, fault.at))
        store = open_database(path)
        check_batches(store, answers)
        _repeat(store, answers)
        store.close()
        return fired

    assert every_fault(run, kind) > 20


def _checkpoint(store: SqliteStore) -> None:
    try:
        store.checkpoint()
    except TreadleError:
        pass


def _repeat(store: SqliteStore, answers: Answers) -> None:
    """A caller repeats what was not acknowledged: then each batch is there, once."""
    again = Answers()
    run_batches(store, list(answers.of), again)
    assert set(again.of.values()) == {"acknowledged"}
    check_batches(store, again)
