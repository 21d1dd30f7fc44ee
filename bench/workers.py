"""32 workers on one queue: how many claims they try for each one they win, and how many jobs they do.

Each worker selects by a named query, claims, runs a handler that does nothing, finishes and releases: durable
on a SQLite file. As 32 threads of one process, as four processes of eight threads, and as these over HTTP on
a server. With 10,000 jobs, more than 1.3 claims tried for each one won is an error.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import treadle
from treadle.access.roles import Role

DATA: Final = Path(__file__).parent.parent / "tests" / "data"
JOBS: Final = 10_000
WORKERS: Final = 32
MOST: Final = 1.3
"""Claims tried for each one won, at most."""
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
ROLE: Final = Role("worker", commands=("Claim", "Finish", "Release", "Renew"), queries=("Open",))


@contextmanager
def served(path: str) -> Iterator[str]:
    """A server of the database as a process of its own; its address, and a token in the environment."""
    with treadle.open(path) as db:
        os.environ["TREADLE_TOKEN"] = db.tokens.create("bench-service", role="worker").text
    words = [sys.executable, "-m", "treadle.cli", "serve", "--bind", "127.0.0.1:0", "--database-url", path]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        lines = iter(server.stderr or ())
        yield next(line.split()[2] for line in lines if line.startswith("serving at"))
    finally:
        server.terminate()
        server.communicate()


@contextmanager
def reached(where: str) -> Iterator[Any]:
    """What workers work on: a server, or a file."""
    if where.startswith("http"):
        with treadle.connect(where, token=os.environ["TREADLE_TOKEN"]) as remote:
            yield remote
    else:
        with treadle.open(where) as db:
            yield db.acting_as("bench-service")


def filled(path: str, jobs: int) -> None:
    """A database with so many waiting jobs, and a role for its workers."""
    due = datetime(2026, 1, 1, tzinfo=UTC)
    with treadle.open(path) as db:
        db.deploy(DATA / "jobs.riff", queries=QUERY, roles=[ROLE])
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


def work(where: str, count: int, concurrency: int, totals: Any) -> None:
    """So many workers, each a thread with its own loop, until nothing is left."""
    with reached(where) as on:
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
        threads = [
            threading.Thread(target=worker.run, args=(on,), kwargs={"until_idle": True}) for worker in workers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total: Counter[str] = Counter()
        for worker in workers:
            total.update(worker.counters.snapshot())
        totals.put(dict(total))


def measured(name: str, processes: int, jobs: int, concurrency: int, *, http: bool) -> float:
    """One row: claims tried for each claim won, and jobs a second. Returns the first."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        path = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "queue.db")
        filled(path, jobs)
        where = stack.enter_context(served(path)) if http else path
        totals = context.Queue()
        running = [
            context.Process(target=work, args=(where, WORKERS // processes, concurrency, totals))
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
    return tried / won


def main(jobs: int = JOBS) -> None:
    """All rows, with one job and with eight at once for each worker."""
    print(f"{'':<28}{'concurrency':>12}{'tried/won':>12}{'jobs':>12}{'pages':>9}{'lost':>6}{'settled':>9}")
    for name, processes, http in (
        ("32 threads of one process", 1, False),
        ("4 processes of 8 threads", 4, False),
        ("the same over HTTP", 4, True),
    ):
        for concurrency in (1, 8):
            tried = measured(name, processes, jobs, concurrency, http=http)
            if tried > MOST and jobs >= JOBS:
                raise RuntimeError(f"{tried:.3f} claims were tried for each one won")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS)
