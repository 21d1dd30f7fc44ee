"""The SQLite store against its floor: the same statements, said to APSW by hand, on the same tables.

    python bench/store.py [FOLDER]

One claim is: fetch a row and a receipt, update the row, append a log record, bind a receipt. Claims come
in transactions of 100 and of 1; each figure is the median of five runs that take turns. The database lies
in FOLDER (default: the system's folder for temporary files), so that any disk can be measured.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.tables import JOB, created, job, job_key
from treadle.model.facts import Key, RowChange
from treadle.ports.store import LogEntry
from treadle.store.sqlite import SqliteStore, open_database
from treadle.store.sqlite.statements import TableStatements

JOBS = 10_000
RUNS = 5
OWNER = b"p" * 16
DATA = random.Random(1).randbytes(450)
HASH = bytes(32)

dice = random.Random(2)
Claims = Callable[[SqliteStore, Sequence[Key], list[bytes]], None]


def prepared(folder: str) -> SqliteStore:
    """A database with jobs."""
    store = open_database(str(Path(folder) / "bench.db"))
    with store.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(number)) for number in range(JOBS)], [0] * JOBS)
        tx.commit()
    return store


def claimed(cells: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*cells[:6], OWNER, 123_456_789, cells[8] + 1, cells[9] + 1)


def by_store(store: SqliteStore, keys: Sequence[Key], identities: list[bytes]) -> None:
    with store.write() as tx:
        number = tx.head().number
        tx.receipts(identities)
        numbers = list(range(number + 1, number + 1 + len(keys)))
        changes = []
        for key, row in zip(keys, tx.rows(JOB, keys), strict=True):
            assert row is not None
            changes.append(RowChange("Job", key, row, row.revision + 1, claimed(row.cells)))
        tx.write_rows(JOB, changes, numbers)
        tx.append_log([LogEntry(number, 1, HASH, DATA) for number in numbers])
        tx.write_receipts(list(zip(identities, numbers, strict=True)))
        tx.commit()


SAID = TableStatements(JOB)
CELLS = job(1)
MASK = SAID.mask(CELLS, claimed(CELLS))


def by_hand(store: SqliteStore, keys: Sequence[Key], identities: list[bytes]) -> None:
    say: Any
    each: Any
    say, each = store._writer.execute, store._writer.executemany
    say("BEGIN IMMEDIATE")
    (number,) = say("SELECT coalesce(max(number), 0) FROM treadle_log").fetchall()[0]
    each("SELECT ?, number FROM treadle_receipts WHERE identity = ?", list(enumerate(identities))).fetchall()
    rows = each(SAID.fetch, [(place, *key) for place, key in enumerate(keys)]).fetchall()
    numbers = range(number + 1, number + 1 + len(keys))
    pairs = list(zip(rows, numbers, strict=True))
    each(MASK.text, [(OWNER, 123_456_789, r[11] + 1, r[12] + 1, r[1] + 1, n, *r[3:5]) for r, n in pairs])
    each("INSERT INTO treadle_log VALUES (?, ?, ?, ?)", [(n, 1, HASH, DATA) for n in numbers])
    each("INSERT INTO treadle_receipts VALUES (?, ?)", sorted(zip(identities, numbers, strict=True)))
    say("COMMIT")


def measure(store: SqliteStore, act: Claims, size: int, count: int) -> tuple[float, float, float]:
    """Claims a second, and the median and 99th percentile of a transaction in milliseconds."""
    keys = [job_key(number) for number in range(JOBS)]
    spent = []
    for _ in range(count):
        chosen, identities = dice.sample(keys, size), [dice.randbytes(32) for _ in range(size)]
        started = time.perf_counter()
        act(store, chosen, identities)
        spent.append(time.perf_counter() - started)
    spent.sort()
    return size * count / sum(spent), spent[count // 2] * 1000, spent[count * 99 // 100] * 1000


def run(name: str, size: int, count: int) -> tuple[float, float, float]:
    """One measurement on a new database."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        store = prepared(folder)
        if name == "floor":
            store._writer.wal_autocheckpoint(1000)  # SQLite's default
        try:
            return measure(store, {"store": by_store, "floor": by_hand}[name], size, count)
        finally:
            store.close()


def main() -> None:
    for size, count in ((100, 300), (1, 3000)):
        runs = [(name, run(name, size, count)) for _ in range(RUNS) for name in ("store", "floor")]
        rates = {}
        for name in ("store", "floor"):
            columns = zip(*(found for by, found in runs if by == name), strict=True)
            rate, half, most = map(statistics.median, columns)
            rates[name] = rate
            print(f"{size:>4} at once, {name}: {rate:8.0f} claims/s, p50 {half:.3f} ms, p99 {most:.3f} ms")
        print(f"     ratio {rates['store'] / rates['floor']:.2f}")


if __name__ == "__main__":
    main()
