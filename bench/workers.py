"""32 workers on one queue: how many claims they try for each one they win, and how many jobs they do.

Each worker selects by a named query, claims, runs a handler that does nothing, finishes and releases: durable
on an embedded SQLite file. Once as 32 threads of one process, once as four processes of eight threads.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import treadle

DATA: Final = Path(__file__).parent.parent / "tests" / "data"
JOBS: Final = 10_000
WORKERS: Final = 32
SHOP: Final = "main"
QUERY: Final = """
query Open($shop: string<20>) {
  many job from Job
    where job.shop == $shop && job.state == JobState.Waiting
    order by job.priority
    take 1000
  return Found { jobs: job { shop number held_until revision } }
}
"""


def filled(path: str, jobs: int) -> None:
    """A database with so many waiting jobs."""
    due = datetime(2026, 1, 1, tzinfo=UTC)
    with treadle.open(path) as db:
        db.deploy(DATA / "jobs.riff", queries=QUERY)
        for begin in range(0, jobs, 500):
            calls: list[Any] = [
                (
                    "Queue",
                    {
                        "key": f"q{number}",
                        "shop": SHOP,
                        "number": number,
                        "title": "a poster",
                        "priority": number % 7,
                        "due_at": due,
                    },
                )
                for number in range(begin, min(begin + 500, jobs))
            ]
            if not all(answer.ok for answer in db.run_many(calls, principal="desk")):
                raise RuntimeError("a job could not be queued")


def work(path: str, count: int, concurrency: int, totals: Any) -> None:
    """So many workers, each a thread with its own loop, until nothing is left."""
    with treadle.open(path) as db:
        workers = [
            treadle.Worker(
                lambda row, turn: None,
                name="bench",
                query="Open",
                parameters={"shop": SHOP},
                claim="Claim",
                finish="Finish",
                concurrency=concurrency,
                poll=0.05,
            )
            for _ in range(count)
        ]
        acting = db.acting_as("bench-service")
        threads = [
            threading.Thread(target=worker.run, args=(acting,), kwargs={"until_idle": True})
            for worker in workers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total: Counter[str] = Counter()
        for worker in workers:
            total.update(worker.counters.snapshot())
        totals.put(dict(total))


def measured(name: str, processes: int, jobs: int, concurrency: int) -> None:
    """One row: claims tried for each claim won, and jobs a second."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "queue.db")
        filled(path, jobs)
        totals = context.Queue()
        running = [
            context.Process(target=work, args=(path, WORKERS // processes, concurrency, totals))
            for _ in range(processes)
        ]
        began = time.monotonic()
        for process in running:
            process.start()
        total: Counter[str] = Counter()
        for _ in running:
            total.update(totals.get())
        seconds = time.monotonic() - began
        for process in running:
            process.join()
    if total["finished"] != jobs:
        raise RuntimeError(f"{total['finished']} jobs were finished, not {jobs}")
    tried, won = total["claims_tried"], total["claims_won"]
    print(
        f"{name:<28}{concurrency:>12}{tried / won:>12.3f}{jobs / seconds:>10.0f}/s"
        f"{total['pages']:>9}{total['lost']:>6}{total['settled']:>9}"
    )


def main(jobs: int = JOBS) -> None:
    """Both rows, with one job and with eight at once for each worker."""
    print(f"{'':<28}{'concurrency':>12}{'tried/won':>12}{'jobs':>12}{'pages':>9}{'lost':>6}{'settled':>9}")
    for name, processes in (("32 threads of one process", 1), ("4 processes of 8 threads", 4)):
        for concurrency in (1, 8):
            measured(name, processes, jobs, concurrency)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS)
