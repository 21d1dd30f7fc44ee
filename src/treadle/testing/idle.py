"""Workers run until there is nothing left to do."""

from __future__ import annotations

import threading
from typing import Any, Final

from treadle.acting import Acting
from treadle.database import Database
from treadle.workers import Worker

PROGRESS: Final = ("finished", "settled", "dead_letters", "fired")
"""Counts of a worker that rise when something was brought to its end."""


def run_until_idle(on: Database | Acting, *workers: Worker, seconds: float = 30.0) -> dict[str, int]:
    """Run workers one after another, again and again, until none of them has anything to do.

    `on` is `db.acting_as(…)`, or a database, whose workers then act as the owner of the file. What one worker
    makes for another is done too. An item whose handler fails is tried once in a round, and is left for a
    time that has not come, or for ever: nothing waits, and a clock moves only when the test moves it.

    Returns what all of them together counted meanwhile, by the names of `Worker.counters`. Raises
    `AssertionError` if they are not idle after `seconds` of real time; then the workers are stopped for good.
    """
    acting = on if isinstance(on, Acting) else on.acting_as("workers")
    before = _counts(workers)
    late = threading.Event()
    timer = threading.Timer(seconds, _give_up, (workers, late))
    timer.daemon = True
    timer.start()
    try:
        moved = True
        while moved and not late.is_set():
            seen = _counts(workers)
            for worker in workers:
                worker.run(acting, until_idle=True)
            now = _counts(workers)
            moved = any(now[name] > seen[name] for name in PROGRESS)
    finally:
        timer.cancel()
    if late.is_set():
        names = ", ".join(worker.name for worker in workers)
        raise AssertionError(f"{names} still had something to do after {seconds:g} seconds")
    after = _counts(workers)
    return {name: count - before[name] for name, count in after.items()}


def _give_up(workers: tuple[Worker, ...], late: threading.Event) -> None:
    late.set()
    for worker in workers:
        worker.stop()


def _counts(workers: tuple[Worker, ...]) -> dict[str, int]:
    counts: dict[str, Any] = dict.fromkeys(PROGRESS, 0)
    for worker in workers:
        for name, count in worker.counters.snapshot().items():
            counts[name] = counts.get(name, 0) + count
    return counts
