"""What must hold of every history, whatever went wrong while it was made.

The checkers see the log, the stored rows, and what clients sent, heard and read. They know no fault, and
share no code with the engine: the rules of leases are written here a second time, in a few lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sim.contract.world import YARD, World
from sim.scenario import demand
from treadle.engine.receipt import Receipt
from treadle.errors import TreadleError
from treadle.history import Entry


@dataclass
class Job:
    """A job as the rules say it is."""

    revision: int
    state: str = "Waiting"
    owner: Any = None
    until: datetime | None = None
    fence: int = 0
    commit: int = 0


class History:
    """Walks the log and keeps its own idea of every job."""

    def __init__(self) -> None:
        self.jobs: dict[int, Job] = {}
        self.last: dict[int, int] = {}
        self.versions: dict[int, list[tuple[int, int | None]]] = {}
        self.events: dict[int, int] = {}
        self.finishes: dict[int, int] = {}
        self.time: datetime | None = None

    def walk(self, entries: list[Entry]) -> None:
        for number, entry in enumerate(entries, start=1):
            demand(entry.number == number, f"record {number} is missing from the log")
            demand(self.time is None or entry.time >= self.time, f"record {number}: time ran backward")
            self.time = entry.time
            if entry.kind == "command":
                self._command(entry)

    def _command(self, entry: Entry) -> None:
        number = entry.input["job"]
        where = f"record {entry.number} ({entry.name} of job {number})"
        job = self.jobs.get(number)
        if not entry.success:
            demand(not entry.rows and not entry.events, f"{where}: {entry.outcome} wrote something")
            return
        if entry.name == "Create":
            demand(job is None, f"{where}: the job was there")
            self._store(number, Job(self.last.get(number, 0) + 1), entry, where)
            return
        demand(job is not None, f"{where}: there was no job")
        if job is None:
            return
        demand(
            entry.input["seen"] == job.revision,
            f"{where}: it had seen {entry.input['seen']}, not {job.revision}",
        )
        self._apply(job, entry, where)
        if entry.name == "Remove":
            self.last[number] = job.revision
            del self.jobs[number]
            self.versions.setdefault(number, []).append((entry.number, None))
            return
        job.revision += 1
        self._store(number, job, entry, where)

    def _apply(self, job: Job, entry: Entry, where: str) -> None:
        name, body, now = entry.name, entry.input, entry.time
        live = job.owner is not None and job.until is not None and job.until > now
        if name == "Claim":
            demand(not live, f"{where}: two holders at once")
            job.owner, job.fence = body["worker"], job.fence + 1
            job.until = now + timedelta(seconds=body["seconds"])
        elif name == "Expire":
            demand(job.owner is not None and not live, f"{where}: a live lease was cleared")
            job.owner = job.until = None
        else:
            held = job.owner == body["worker"] and job.fence == body["token"]
            demand(held, f"{where}: not by the holder")
            demand(live or name == "Release", f"{where}: after the lease had run out")
            self._business(job, entry, where)

    def _business(self, job: Job, entry: Entry, where: str) -> None:
        name, number = entry.name, entry.input["job"]
        if name == "Renew":
            job.until = entry.time + timedelta(seconds=entry.input["seconds"])
        elif name == "Release":
            job.owner = job.until = None
        elif name == "Start":
            demand(job.state in ("Waiting", "Running"), f"{where}: from {job.state}")
            job.state = "Running"
        elif name == "Finish":
            demand(job.state == "Running", f"{where}: from {job.state}")
            job.state = "Done"
            self.finishes[number] = self.finishes.get(number, 0) + 1
            demand(
                [event for event, _ in entry.events] == ["Finished"], f"{where}: no event, or more than one"
            )

    def _store(self, number: int, job: Job, entry: Entry, where: str) -> None:
        job.commit = entry.number
        self.jobs[number] = job
        self.versions.setdefault(number, []).append((entry.number, job.revision))
        (row,) = entry.rows
        said = (row.revision, *(row.fields or {}).values())
        demand(row.revision == job.revision, f"{where}: revision {row.revision}, not {job.revision}")
        fields = row.fields or {}
        want = (job.state, job.owner, job.until, job.fence)
        got = (fields["state"], fields.get("owner"), fields.get("until"), fields["fence"])
        demand(got == want, f"{where}: wrote {got}, the rules say {want} ({said[0]})")


def check(world: World) -> int:
    """Check everything that was seen in `world`; returns how many records there are. Raises `Broken`."""
    db = world.handle(0)
    report = db.verify()
    demand(report.ok, f"verify: {'; '.join(map(str, report.problems[:3]))}")
    entries = list(db.log(unmasked=True))
    history = History()
    history.walk(entries)
    _check_rows(world, history)
    _check_answers(world, entries)
    _check_looks(world, history)
    _check_events(world, history)
    return len(entries)


def _check_rows(world: World, history: History) -> None:
    for number in range(16):
        row, job = world.handle(0).row("Job", (YARD, number)), history.jobs.get(number)
        stored = None if row is None else (row.revision, row.commit, row.fields["fence"], row.fields["state"])
        wanted = None if job is None else (job.revision, job.commit, job.fence, job.state)
        demand(stored == wanted, f"job {number} is stored as {stored}; the log says {wanted}")


def _check_answers(world: World, entries: list[Entry]) -> None:
    """Acknowledged once means recorded once, and every repeat was answered the same."""
    numbers: dict[int, str] = {}
    for key, sent in world.sent.items():
        receipts = [answer for answer in sent.answers if isinstance(answer, Receipt)]
        errors = [answer for answer in sent.answers if isinstance(answer, TreadleError)]
        for receipt in receipts:
            demand(receipt == receipts[0], f"{key}: {receipt!r} and {receipts[0]!r} answer the same request")
            entry = entries[receipt.commit - 1]
            demand(
                (entry.name, entry.outcome) == (sent.command, receipt.outcome), f"{key}: lost from the log"
            )
            demand(numbers.setdefault(receipt.commit, key) == key, f"{key}: shares commit {receipt.commit}")
        for error in errors:
            demand(error.code != "internal", f"{key}: {error.__cause__!r}")
            demand(
                error.code not in ("idempotency_key_reused", "database_corrupt", "idempotency_key_expired"),
                f"{key}: {error.code}",
            )


def _check_looks(world: World, history: History) -> None:
    """A read sees a version that was committed, and none older than what had been acknowledged."""
    for look in world.looks:
        versions = history.versions.get(look.job, [])
        if look.commit is not None:
            demand(
                (look.commit, look.revision) in versions,
                f"job {look.job} was read as {look}: never committed",
            )
            demand(
                look.commit >= look.acknowledged,
                f"job {look.job} was read as {look}: older than acknowledged",
            )


def _check_events(world: World, history: History) -> None:
    with world.handle(0)._engine.store.read() as tx:
        count = len(tx.events("Finished", None, (0, -1), 100_000))
    demand(
        count == sum(history.finishes.values()),
        f"{count} events for {sum(history.finishes.values())} finishes",
    )
