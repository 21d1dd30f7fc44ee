"""The contract of jobs for tests of workers: databases with it, jobs in them, and what became of them."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from tests.support.engines import START, open_on
from tests.support.pace import FastTime
from tests.support.shared import ROOT
from treadle.access.roles import Role
from treadle.database import Acting, Database
from treadle.engine.core import Engine
from treadle.ports.store import Store
from treadle.store.ids import SystemIds
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock
from treadle.workers import Turn, Worker

SOURCE: Final = ROOT.joinpath("tests/data/jobs.riff").read_text()
QUERIES: Final = ROOT.joinpath("tests/data/jobs.riffq").read_text()
SHOP: Final = "Ulm"
OPEN: Final[dict[str, Any]] = {"query": "OpenJobs", "parameters": {"shop": SHOP}}
"""Where the open jobs come from."""

TURN: Final[dict[str, Any]] = {"claim": "Claim", "finish": "Finish", "backoff": 0.0, "poll": 0.05}
FULL: Final[dict[str, Any]] = {**OPEN, **TURN, "start": "Start", "dead_letter": "Bury"}
EVENTS: Final[dict[str, Any]] = {"event": "JobQueued", "consumer": "workers", **TURN}

WORKER_ROLE: Final = Role(
    "worker",
    commands=("Claim", "Renew", "Release", "Start", "Finish", "Bury"),
    queries=("OpenJobs", "ShowJob", "LiveJobs", "AllLiveJobs"),
    streams=("JobQueued",),
)


def jobs(store: Store, clock: ManualClock | None = None, roles: list[Role] | None = None) -> Database:
    """A database with the contract and its queries, and a clock that stands still unless one is given."""
    db = open_on(store, clock or ManualClock(START))
    deploy(db, roles)
    return db


def deploy(db: Database, roles: list[Role] | None = None) -> None:
    db.deploy(SOURCE, queries=QUERIES, roles=roles)


def queue(db: Database, numbers: Iterable[int], shop: str = SHOP, **more: Any) -> None:
    """Put jobs into the queue, each in a commit of its own record."""
    calls = [("Queue", queued(number, shop, **more)) for number in numbers]
    for answer in db.run_many(calls, principal="desk"):
        assert answer.ok, answer


def queued(number: int, shop: str = SHOP, **more: Any) -> dict[str, Any]:
    plain = {"title": f"job {number}", "priority": number, "due_at": START}
    return {"key": f"queue-{shop}-{number}", "shop": shop, "number": number} | plain | more


def remind(db: Database, number: int, key: str, due_at: datetime = START) -> None:
    body = {"key": key, "shop": SHOP, "number": number, "due_at": due_at}
    assert db.run("Remind", body, principal="desk").ok


def service(db: Database, role: str | None = None) -> Acting:
    """The one principal that all workers act as."""
    return db.acting_as("job-service", role=role)


def job(db: Database, number: int, shop: str = SHOP) -> dict[str, Any]:
    row = db.row("Job", (shop, number))
    assert row is not None
    return row.fields | {"revision": row.revision}


def states(db: Database, numbers: Iterable[int], shop: str = SHOP) -> Counter[str]:
    return Counter(job(db, number, shop)["state"] for number in numbers)


def outcomes(db: Database, command: str) -> Counter[str]:
    """How often a command was answered what, by the log."""
    return Counter(entry.outcome or "" for entry in db.log() if entry.name == command)


def later(count: float) -> timedelta:
    return timedelta(seconds=count)


def run(made: Worker, db: Database, role: str | None = None) -> Worker:
    """Run a worker until there is nothing to do."""
    made.run(service(db, role), until_idle=True)
    return made


def hold(db: Database, number: int, seconds: int, revision: int = 1) -> None:
    """Somebody claims a job and is never heard of again."""
    evidence = {"worker": uuid.UUID(int=9), "seconds": seconds, "expected_revision": revision}
    body = {"key": f"hold-{number}-{revision}", "shop": SHOP, "number": number} | evidence
    assert db.run("Claim", body, principal="somebody").ok


def fast_jobs(pace: FastTime) -> Database:
    """A database whose time goes fast."""
    made = Database(Engine(MemoryStore(), pace.clock, SystemIds(), maximum_jump=None), "test")
    deploy(made)
    return made


def advance(db: Database, count: float) -> None:
    """Move the clock of a database on."""
    clock: Any = db._engine.clock
    clock.advance(later(count))


def wait_for(condition: Callable[[], object]) -> None:
    """Wait for something that another thread brings about."""
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until, "it never came about"
        time.sleep(0.002)


def stop_when(made: Worker, condition: Callable[[], object]) -> threading.Thread:
    """Stop a worker once something has come about."""

    def watch() -> None:
        try:
            wait_for(condition)
        finally:
            made.stop()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def fails(row: Any, turn: Turn) -> None:
    """A handler that always fails."""
    raise ValueError("no paper")
