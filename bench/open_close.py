"""Opening, the first answer, and closing, by the length of the history: they must not grow with it.

    python -m bench.open_close [COMMANDS …]

Makes a database with each number of commands (default: 1,000, 10,000 and 100,000), then opens and closes it
from the same process, and prints medians in milliseconds. `first` is a replay, which looks a receipt up.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import treadle
from tests.support.engines import SOURCE, create

RUNS = 15
CHUNK = 4_096
T = TypeVar("T")


def timed(act: Callable[[], T], into: list[float]) -> T:
    """What `act` returns; its time in milliseconds goes into a list."""
    begun = time.perf_counter()
    result = act()
    into.append((time.perf_counter() - begun) * 1_000)
    return result


def filled(path: Path, commands: int) -> None:
    """A database in which so many commands were executed."""
    with treadle.open(path) as database:
        database.deploy(SOURCE)
        acting = database.acting_as("bench")
        for start in range(0, commands, CHUNK):
            acting.run_many([create(number) for number in range(start, min(start + CHUNK, commands))])


def measure(path: Path) -> tuple[float, float, float]:
    """Medians of opening, the first answer, and closing."""
    opening, first, closing = list[float](), list[float](), list[float]()
    for _ in range(RUNS):
        database = timed(partial(treadle.open, path, create=False), opening)
        receipt = timed(partial(database.run, *create(0), principal="bench"), first)
        assert receipt.replayed
        timed(database.close, closing)
    return statistics.median(opening), statistics.median(first), statistics.median(closing)


def main() -> None:
    """Print a row for each length."""
    print(f"{'commands':>10}{'MiB':>8}{'open ms':>10}{'first ms':>10}{'close ms':>10}")
    for commands in [int(word) for word in sys.argv[1:]] or [1_000, 10_000, 100_000]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.db"
            filled(path, commands)
            size = path.stat().st_size / 2**20
            row = "".join(f"{value:>10.2f}" for value in measure(path))
            print(f"{commands:>10}{size:>8.0f}{row}", flush=True)


if __name__ == "__main__":
    main()
