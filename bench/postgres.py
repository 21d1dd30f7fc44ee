"""Claim and finish on PostgreSQL, durable, beside SQLite and pgbench in the same run.

The server is made for the run, with its settings as they come (every commit flushed), on this machine: there
is no network, and the server, this process and pgbench share its cores. pgbench's rows are its built-in
simple update, prepared: three statements a transaction, no checks, no log, no receipts.
Figures are commands (transactions) a second, the median of three rounds that take turns.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import treadle
from bench.work_queue import JOBS, SOURCE, THREADS, add, alone, in_batches, in_threads
from tests.support import postgres
from treadle.database import Acting

ROUNDS: Final = 3
SECONDS: Final = 3
WAYS: Final[dict[str, Callable[[Acting], None]]] = {
    "run_many, 100 at a time": in_batches(100),
    f"{THREADS} callers": in_threads,
    "one caller": alone,
}


def rate(url: str, work: Callable[[Acting], None]) -> float:
    """Commands a second on a new database."""
    with treadle.open(url) as db:
        db.deploy(SOURCE)
        answers = db.run_many([add(number) for number in range(JOBS)], principal="bench")
        assert all(answer.ok for answer in answers)
        started = time.perf_counter()
        work(db.acting_as("bench"))
        return 2 * JOBS / (time.perf_counter() - started)


def pgbench(server: postgres.Server, clients: int) -> float:
    """Transactions a second of pgbench's simple update."""
    folder = postgres.binaries()
    assert folder is not None
    common = [folder / "pgbench", "-h", "127.0.0.1", "-p", str(server.port), "-U", "treadle"]
    if not server.ask("SELECT 1 FROM pg_tables WHERE tablename = 'pgbench_accounts'"):
        subprocess.run([*common, "-i", "-q", "postgres"], check=True, capture_output=True)
    options = ["-n", "-N", "-M", "prepared", "-c", str(clients), "-T", str(SECONDS)]
    done = subprocess.run([*common, *options, "postgres"], check=True, capture_output=True, text=True)
    found = re.search(r"tps = ([0-9.]+)", done.stdout)
    assert found is not None
    return float(found[1])


def main() -> None:
    """Print the table."""
    if postgres.binaries() is None:
        print("PostgreSQL's server is not installed here (initdb, postgres)")
        return
    server = postgres.made(durable=True)
    try:
        print(f"{'claim + finish':<26} {'PostgreSQL':>11} {'SQLite':>9} {'ratio':>6} {'pgbench':>9} ratio")
        for name, work in WAYS.items():
            ours, files, theirs = [], [], []
            for _ in range(ROUNDS):
                ours.append(rate(server.url(postgres.fresh_schema()), work))
                with tempfile.TemporaryDirectory() as folder:
                    files.append(rate(str(Path(folder) / "bench.db"), work))
                theirs.append(pgbench(server, 1 if work is alone else THREADS))
            here, beside, floor = map(statistics.median, (ours, files, theirs))
            print(
                f"{name:<26} {here:>11,.0f} {beside:>9,.0f} {here / beside:>6.2f} "
                f"{floor:>9,.0f} {here / floor:>6.2f}",
                flush=True,
            )
    finally:
        postgres.removed(server)


if __name__ == "__main__":
    main()
