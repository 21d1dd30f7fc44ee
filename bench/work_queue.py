"""Claim and finish on an embedded SQLite file, durable: through the engine, and the floor.

The floor is APSW doing only the statements of the same commands, on the same tables, in batches of the
same size and with records of the same length: no checks, no encoding, no hashes, no idempotency digests.
Figures are commands a second, the median of five rounds that take turns.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import treadle
from treadle.database import Acting, Database
from treadle.store.sqlite.statements import TableStatements

SOURCE: Final = Path(__file__).parent.parent.joinpath("examples/work_queue/queue.riff").read_text()
ROUNDS: Final = 5
JOBS: Final = 2_000
THREADS: Final = 32
PRINTER: Final = uuid.UUID(int=7)
HASH: Final = bytes(32)


class Figure(NamedTuple):
    """One row: what was done, commands a second, the floor's, and the ratio of the two."""

    name: str
    rate: float
    floor: float

    @property
    def ratio(self) -> float:
        return self.rate / self.floor


def add(number: int) -> tuple[str, dict[str, Any]]:
    return "AddJob", {"key": f"a{number}", "shop": "main", "number": number, "title": "a poster"}


def claim(number: int) -> tuple[str, dict[str, Any]]:
    return "Claim", {
        "key": f"c{number}",
        "shop": "main",
        "number": number,
        "printer": PRINTER,
        "seconds": 300,
        "expected_revision": 1,
    }


def finish(number: int) -> tuple[str, dict[str, Any]]:
    return "Finish", {
        "key": f"f{number}",
        "shop": "main",
        "number": number,
        "printer": PRINTER,
        "token": 1,
        "expected_revision": 2,
    }


def prepared(folder: str) -> Database:
    """A database with jobs that wait."""
    db = treadle.open(Path(folder) / "bench.db")
    db.deploy(SOURCE)
    answers = db.run_many([add(number) for number in range(JOBS)], principal="bench")
    assert all(answer.ok for answer in answers)
    return db


def chunks(size: int) -> Iterator[range]:
    for start in range(0, JOBS, size):
        yield range(start, min(JOBS, start + size))


def in_batches(size: int) -> Callable[[Acting], None]:
    def work(me: Acting) -> None:
        for numbers in chunks(size):
            assert all(answer.ok for answer in me.run_many([claim(number) for number in numbers]))
            assert all(answer.ok for answer in me.run_many([finish(number) for number in numbers]))

    return work


def alone(me: Acting) -> None:
    for number in range(JOBS):
        assert me.run(*claim(number)).ok
        assert me.run(*finish(number)).ok


def in_threads(me: Acting) -> None:
    def worker(first: int) -> None:
        for number in range(first, JOBS, THREADS):
            assert me.run(*claim(number)).ok
            assert me.run(*finish(number)).ok

    threads = [threading.Thread(target=worker, args=(first,)) for first in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def engine_rate(work: Callable[[Acting], None]) -> float:
    with tempfile.TemporaryDirectory() as folder, prepared(folder) as db:
        me = db.acting_as("bench")
        started = time.perf_counter()
        work(me)
        return 2 * JOBS / (time.perf_counter() - started)


def record_bytes(db: Database) -> int:
    """How long the record of a claim is, so that the floor writes as much."""
    db.run(*claim(0), principal="bench")
    with db._engine.store.read() as tx:
        head = tx.head().number
        return len(next(tx.log(head, head)).data)


def floor_rate(size: int) -> float:
    with tempfile.TemporaryDirectory() as folder, prepared(folder) as db:
        data = random.Random(1).randbytes(record_bytes(db))
        table = db._engine.state.require().tables["Job"]
        statements = TableStatements(table)
        started = time.perf_counter()
        for numbers in chunks(size):
            for _ in ("claim", "finish"):
                _statements(db._engine.store, statements, numbers, data)
        return 2 * JOBS / (time.perf_counter() - started)


def _statements(store: Any, statements: TableStatements, numbers: range, data: bytes) -> None:
    """What one batch says to SQLite."""
    say, each = store._writer.execute, store._writer.executemany
    identities = [random.randbytes(32) for _ in numbers]
    say("BEGIN IMMEDIATE")
    say("SELECT value FROM treadle_settings WHERE name = 'generation'").fetchall()
    (head,) = say("SELECT max(number) FROM treadle_log").fetchall()[0]
    each("SELECT ?, number FROM treadle_receipts WHERE identity = ?", list(enumerate(identities))).fetchall()
    rows = each(
        statements.fetch, [(place, "main", number) for place, number in enumerate(numbers)]
    ).fetchall()
    commits = range(head + 1, head + 1 + len(rows))
    each(
        'UPDATE "Job" SET printer = ?, held_until = ?, token = ?, attempts = ?, treadle_revision = ?, '
        "treadle_commit = ? WHERE shop = ? AND number = ?",
        [
            (PRINTER.bytes, 1, 2, 3, 4, commit, "main", number)
            for commit, number in zip(commits, numbers, strict=True)
        ],
    )
    each("INSERT INTO treadle_log VALUES (?, ?, ?, ?)", [(commit, 1, HASH, data) for commit in commits])
    each("INSERT INTO treadle_receipts VALUES (?, ?)", list(zip(identities, commits, strict=True)))
    say("COMMIT")


CASES: Final[tuple[tuple[str, Callable[[Acting], None], int], ...]] = (
    ("batches of 100", in_batches(100), 100),
    ("32 threads, one command each", in_threads, THREADS),
    ("one caller, one command at a time", alone, 1),
)


def measure() -> list[Figure]:
    """All rows."""
    found = []
    for name, work, size in CASES:
        pairs = [(engine_rate(work), floor_rate(size)) for _ in range(ROUNDS)]
        rates, floors = zip(*pairs, strict=True)
        found.append(Figure(name, statistics.median(rates), statistics.median(floors)))
    return found


def show(figures: list[Figure]) -> None:
    print(f"{'claim + finish, embedded SQLite':<36} {'commands/s':>11} {'floor/s':>9} {'ratio':>6}")
    for each in figures:
        print(f"{each.name:<36} {each.rate:>11,.0f} {each.floor:>9,.0f} {each.ratio:>6.2f}")


if __name__ == "__main__":
    show(measure())
