"""Claims beside a long history and a reader that holds one snapshot, and how long the write-ahead log gets.

    python -m bench.long_reader [ROWS] [SECONDS]

Makes a database with so many finished rows (default: 100,000), and a fresh one. A reader takes a snapshot of
the first and holds it for SECONDS (default: 60) while everything is written as fast as it goes, batches of
100 claims and finishes, with single claims on both databases in between, one here and one there. Then the
reader ends, and the same goes on for a quarter of that. Prints the median and the 99th percentile of the
single claims in milliseconds, and the length of the log's file in MiB: at most, and at the end.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import treadle
from bench.work_queue import SOURCE, add, claim, finish
from treadle.database import Acting, Database

CHUNK: Final = 500
AT_ONCE: Final = 100
SINGLE: Final = 100
QUIET: Final = 0.2
"""Seconds before single claims, so that the checkpoint of the batches before is not measured."""
MIB: Final = 1 << 20


def opened(path: Path) -> Database:
    database = treadle.open(path)
    database.deploy(SOURCE)
    return database


class Jobs:
    """The jobs of a database, each used once; `longest` is how long its log's file was."""

    def __init__(self, path: Path) -> None:
        self.database = opened(path)
        self.me: Acting = self.database.acting_as("bench")
        self._log = f"{path}-wal"
        self._next = 0
        self.longest = 0

    def look(self) -> int:
        """How long the log's file is."""
        found = os.path.getsize(self._log)
        self.longest = max(self.longest, found)
        return found

    def add(self, count: int) -> range:
        """Jobs that wait."""
        first, self._next = self._next, self._next + count
        for start in range(first, self._next, CHUNK):
            numbers = range(start, min(self._next, start + CHUNK))
            assert all(answer.ok for answer in self.me.run_many([add(number) for number in numbers]))
        return range(first, self._next)

    def finish(self, count: int) -> int:
        """So many jobs from their beginning to their end, in batches; how many commands that took."""
        numbers = self.add(count)
        for command in (claim, finish):
            for start in range(0, count, AT_ONCE):
                calls = [command(number) for number in numbers[start : start + AT_ONCE]]
                assert all(answer.ok for answer in self.me.run_many(calls))
        self.look()
        return 3 * count

    def claim(self, number: int) -> float:
        """One claim by itself: how long it took, in milliseconds."""
        call = claim(number)
        begun = time.perf_counter()
        assert self.me.run(*call).ok
        return (time.perf_counter() - begun) * 1_000


def in_turns(times: dict[Jobs, list[float]]) -> None:
    """Single claims, one on each database and so on, so that both meet the same machine."""
    waiting = [jobs.add(SINGLE) for jobs in times]
    time.sleep(QUIET)
    for numbers in zip(*waiting, strict=True):
        for jobs, number in zip(times, numbers, strict=True):
            times[jobs].append(jobs.claim(number))


def held(database: Database) -> Generator[Any, None, None]:
    """A snapshot that is held until the generator is closed."""
    with database._engine.store.read() as tx:
        yield tx.head()


def spell(old: Jobs, fresh: Jobs, seconds: float, name: str) -> None:
    """Write for so long, and print a row."""
    times: dict[Jobs, list[float]] = {old: [], fresh: []}
    commands, begun, old.longest = 0, time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        commands += old.finish(10 * AT_ONCE)
        in_turns(times)
    rate = commands / (time.perf_counter() - begun)
    figures = [f"{quantile(times[jobs], at):8.3f}" for at in (50, 99) for jobs in (old, fresh)]
    ratio = quantile(times[old], 99) / quantile(times[fresh], 99)
    print(f"{name:<22}{rate:9,.0f}/s", *figures, f"{ratio:6.2f}", end=" ")
    print(f"{old.longest / MIB:9.1f}{old.look() / MIB:9.1f}   {len(times[old])} claims", flush=True)


def quantile(times: list[float], percent: int) -> float:
    return sorted(times)[len(times) * percent // 100]


def main() -> None:
    """Measure, and print."""
    rows, seconds = (int(word) for word in (*sys.argv[1:], *("100000", "60")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder:
        old, fresh = Jobs(Path(folder) / "old.db"), Jobs(Path(folder) / "fresh.db")
        begun = time.perf_counter()
        for start in range(0, rows, 10_000):
            old.finish(min(10_000, rows - start))
        took = time.perf_counter() - begun
        print(f"{rows:,} finished rows in {took:.0f} s; the log's file at most {old.longest / MIB:.1f} MiB")
        print(f"{'':<22}{'commands':>11}  p50 old   fresh  p99 old   fresh  ratio  most MiB  at end")
        spell(old, fresh, seconds / 4, "no reader")
        reader = held(old.database)
        next(reader)
        spell(old, fresh, seconds, f"a reader for {seconds} s")
        reader.close()
        spell(old, fresh, seconds / 4, "after it")
        print(f"database file {os.path.getsize(Path(folder) / 'old.db') / MIB:.0f} MiB")
        for jobs in (old, fresh):
            jobs.database.close()


if __name__ == "__main__":
    main()
