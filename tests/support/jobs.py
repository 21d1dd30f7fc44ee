"""The contract of jobs for tests of workers: databases with it, jobs in them, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from tests.support.engines import START, open_on
from tests.support.shared import ROOT
from treadle.access.roles import Role
from treadle.database import Acting, Database
from treadle.ports.store import Store
from treadle.testing import ManualClock

SOURCE: Final = ROOT.joinpath("tests/data/jobs.riff").read_text()
QUERIES: Final = ROOT.joinpath("tests/data/jobs.riffq").read_text()
SHOP: Final = "Ulm"
OPEN: Final[Mapping[str, Any]] = {"query": "OpenJobs", "parameters": {"shop": SHOP}}
"""Where the open jobs come from."""

TURN: Final[Mapping[str, Any]] = {"claim": "Claim", "finish": "Finish", "backoff": 0.0, "poll": 0.05}
FULL: Final[Mapping[str, Any]] = {**OPEN, **TURN, "start": "Start", "dead_letter": "Bury"}
EVENTS: Final[Mapping[str, Any]] = {"event": "JobQueued", "consumer": "workers", **TURN}

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
