"""A migration that is cut short at every point: what went on before goes on after, and ends the same.

Commands run between its steps. Whatever fails, the same script is run again (commands repeat their keys)
and must end with the rows, the log and the contract of a run that nothing disturbed. At effort 1 the kinds
of faults share the points out among them; from effort 4 on each kind meets every point.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.faults.vfs import Fault, FaultyDisk, Keep, Kind
from tests.support.effort import effort
from tests.support.engines import open_on
from tests.support.orders import MIGRATION, PACKER, SECOND, SHOP, Shop, Steps, deployed
from tests.support.processes import start
from treadle.database import Database
from treadle.engine import migration as migrating
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.store.memory import MemoryStore
from treadle.store.sqlite import open_database
from treadle.testing import FaultStore

Rows = dict[int, dict[str, Any]]


FAULTS: tuple[Kind, ...] = ("broken", "torn", "late", "full")


def points(first: int, kinds: int) -> Iterator[int]:
    """The operations that one of `kinds` kinds of faults meets, from 1 on."""
    return count(1 + first % kinds, max(1, kinds * 2 // effort(2)))


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "STEP_ROWS", 3)


def prepare(db: Database) -> None:
    """Five orders of two customers, one of them held, with lines."""
    shop = Shop(db)
    for customer in (1, 2):
        shop.customer(customer)
    for number in range(5):
        shop.place(number, 1 + number % 2, amount=5 + number)
        shop.line(number, cost=1)
    shop.claim(0)


def command(db: Database, name: str, **given: Any) -> None:
    """A command whose key says what it is, so that it runs once however often the script is run."""
    db.run(name, {"key": f"{name}-{given['order_id']}", "shop": SHOP, **given}, principal="script")


def between(db: Database, step: int) -> None:
    """What others do between the steps: orders come, change, and one goes."""
    held = {"packer": PACKER, "token": 1}
    if step == 1:
        command(db, "Place", order_id=20, customer_id=2, amount=9, code="late")
        command(db, "Change", order_id=0, revision=2, customer_id=2, amount=50, code="changed", **held)
    if step == 2:
        command(db, "Claim", order_id=1, packer=PACKER, seconds=900, revision=1)
        command(db, "Cancel", order_id=1, revision=2, **held)


def script(db: Database) -> int:
    """The whole story; what it answers is the version in force."""
    if db.version == 1:
        steps = Steps(db)
        for number in range(3):
            steps.step()
            between(db, number)
    for number in range(3):
        between(db, number)
    return deployed(db, SECOND, MIGRATION)


def rows(db: Database) -> Rows:
    shop = Shop(db, deploy=False)
    found = {number: shop.order(number) for number in range(30)}
    return {
        number: row.fields | {"revision": row.revision} for number, row in found.items() if row is not None
    }


def expected() -> Rows:
    with open_on(MemoryStore()) as db:
        prepare(db)
        assert script(db) == 2
        return rows(db)


def check(db: Database, reference: Rows) -> None:
    """Run the script to its end; the result is that of an undisturbed run."""
    before = rows(db)
    assert len({"total" in fields for fields in before.values()}) == 1, "all rows or none"
    assert all("total" in fields for fields in before.values()) == (db.version == 2)
    assert script(db) == 2
    assert rows(db) == reference
    records = [(entry.kind, entry.name) for entry in db.log()]
    assert records.count(("migrate", "begin")) == 1
    assert [entry.contract_version for entry in db.log() if entry.kind == "deploy"] == [1, 2]
    report = db.verify()
    assert report.ok, report.problems


def lost() -> TreadleError:
    return OutcomeUnknown("the answer was lost on purpose")


@pytest.mark.parametrize("afterwards", [False, True])
def test_every_operation_of_a_store_fails_once(afterwards: bool) -> None:
    reference = expected()
    fired = 0
    for at in points(int(afterwards), 2):
        store = FaultStore(MemoryStore())
        db = open_on(store)
        prepare(db)
        if afterwards:
            store.arm(at, lost, afterwards=True)
        else:
            store.arm(at)
        try:
            script(db)
        except TreadleError:
            fired += 1
        if not store.fired:
            break
        store.arm(None)
        check(db, reference)
        db.close()
    assert at > 150 and fired > 20


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "template.db"
    with open_on(open_database(str(path))) as db:
        prepare(db)
    return path


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # closing on a broken disk
def test_the_disk_fails_and_power_is_cut(template: Path, quick_path: Path, kind: Kind) -> None:
    reference = expected()
    disk = FaultyDisk()
    path = quick_path / "trial.db"

    def run(fault: Fault) -> bool:
        for leftover in quick_path.glob("trial.db*"):
            leftover.unlink()
        shutil.copy(template, path)
        db = open_on(open_database(str(path), vfs=disk.name))
        disk.arm(fault)
        try:
            script(db)
        except TreadleError:
            pass
        db.close()
        fired = disk.fired
        keeps: tuple[Keep, ...] = ("none", "all", random.Random(fault.at))
        disk.power_cut(keeps[fault.at % 3])
        db = open_on(open_database(str(path)))
        check(db, reference)
        db.close()
        return fired

    last = next(at for at in points(FAULTS.index(kind), len(FAULTS)) if not run(Fault(at, kind)))
    assert last > 40


def carry(path: str) -> None:
    """In another process: carry the migration to its end, unless something ends the process before."""
    migrating.STEP_ROWS = 3  # type: ignore[misc]
    with treadle.open(path) as db:
        deployed(db, SECOND, MIGRATION)


def test_a_process_is_killed_at_any_point(tmp_path: Path) -> None:
    """A real process, killed at random; the next one goes on where it was."""
    dice = random.Random(20261130)
    path = tmp_path / "work.db"
    with treadle.open(path) as db:
        shop = Shop(db)
        shop.customer(1)
        given = [
            (
                "Place",
                {"key": f"b{n}", "shop": SHOP, "order_id": n, "customer_id": 1, "amount": 5, "code": f"b{n}"},
            )
            for n in range(300)
        ]
        assert all(answer.ok for answer in db.run_many(given, principal="tests"))
    killed = 0
    for number in range(effort(8)):
        process = start(carry, str(path))
        time.sleep(dice.random() * 0.05 * number)  # the first one ends at once, however quick the machine is
        assert process.pid is not None
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.join(30)
        with treadle.open(path, create=False) as db:
            row = db.row("Order", (SHOP, dice.randrange(300)))
            assert row is not None and ("total" in row.fields) == (db.version == 2)
            given[0][1]["key"] = f"again-{killed}"
            db.run(
                "Place", {**given[0][1], "order_id": 1000 + killed, "code": f"k{killed}"}, principal="tests"
            )
    with treadle.open(path, create=False) as db:
        assert db.deploy(SECOND, migration=MIGRATION) == 2
        found = [db.row("Order", (SHOP, number)) for number in range(300)]
        assert all(row is not None and row.fields["total"] == 11 for row in found)
        assert len([entry for entry in db.log() if entry.name == "begin"]) == 1
        report = db.verify()
        assert report.ok, report.problems
    assert killed
