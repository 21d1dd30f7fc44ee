"""The log by the rules of leases and jobs, which are written here once more, in few lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sim.scenario import demand
from sim.work.seen import Place
from treadle.history import Entry


@dataclass
class Job:
    """A job as the rules say it is."""

    revision: int = 1
    state: str = "Open"
    runs: int = 0
    notes: int = 0
    owner: Any = None
    until: datetime | None = None
    fence: int = 0
    tries: int = 0


class Log:
    """What the log says, and what is wrong with it."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.jobs: dict[tuple[int, int], Job] = {}
        self.claims: dict[tuple[int, int, int], int] = {}
        self.ended: dict[str, int] = {}
        self.buried: Counter[tuple[int, int]] = Counter()
        self.noted: Counter[str] = Counter()
        self.rung: dict[tuple[str, datetime], int] = {}
        self.events: dict[str, dict[Place, dict[str, Any]]] = {"Queued": {}, "Ended": {}}
        time = None
        for number, entry in enumerate(entries, start=1):
            demand(entry.number == number, f"record {number} is missing from the log")
            demand(time is None or entry.time >= time, f"record {number}: time ran backward")
            time = entry.time
            for ordinal, (name, fields) in enumerate(entry.events):
                self.events[name][number, ordinal] = fields
            if entry.kind == "command":
                self._command(entry)

    def time(self, place: Place) -> datetime:
        """When an event was emitted."""
        return self.entries[place[0] - 1].time

    def _command(self, entry: Entry) -> None:
        where = f"record {entry.number} ({entry.name} {entry.input.get('job', '')})"
        if entry.name == "Ring":
            self._ring(entry, where)
            return
        key = (entry.input["yard"], entry.input["job"])
        if not entry.success:
            self._refused(self.jobs.get(key), entry, where)
            return
        emits = {"Queue": "Queued", "Remind": "Queued", "Finish": "Ended", "Complete": "Ended"}.get(
            entry.name
        )
        wanted = [] if emits is None else [emits]
        demand([name for name, _ in entry.events] == wanted, f"{where}: it emitted {entry.events}")
        if entry.name == "Remind":
            return
        if entry.name in ("Add", "Queue"):
            demand(key not in self.jobs, f"{where}: the job was there")
            self.jobs[key] = job = Job()
        else:
            job = self.jobs[key]
            demand(entry.input["seen"] == job.revision, f"{where}: it had not seen revision {job.revision}")
            self._lease(key, job, entry, where)
            self._business(key, job, entry, where)
            job.revision += 1
        (row,) = entry.rows
        fields = row.fields or {}
        got = (row.revision, *(fields[name] for name in ("state", "runs", "notes", "fence", "tries")))
        want = (job.revision, job.state, job.runs, job.notes, job.fence, job.tries)
        demand(got == want, f"{where}: wrote {got}, the rules say {want}")
        held = (fields.get("owner"), fields.get("until"))
        demand(held == (job.owner, job.until), f"{where}: wrote {held}, not {(job.owner, job.until)}")

    @staticmethod
    def _refused(job: Job | None, entry: Entry, where: str) -> None:
        """What was refused wrote nothing; and who holds a job always knows its revision."""
        demand(not entry.rows and not entry.events, f"{where}: {entry.outcome} wrote something")
        if job is not None and entry.outcome == "Stale" and "token" in entry.input:
            held = (job.owner, job.fence) == (entry.input["worker"], entry.input["token"])
            demand(
                not held, f"{where}: its holder asked by revision {entry.input['seen']}, not {job.revision}"
            )

    def _lease(self, key: tuple[int, int], job: Job, entry: Entry, where: str) -> None:
        name, body, now = entry.name, entry.input, entry.time
        live = job.owner is not None and job.until is not None and job.until > now
        if name == "Claim":
            demand(not live, f"{where}: two holders at once")
            demand(job.state != "Dead", f"{where}: the job is dead")
            job.owner, job.fence, job.tries = body["worker"], job.fence + 1, job.tries + 1
            self.claims[*key, job.fence] = entry.number
        else:
            held = job.owner == body["worker"] and job.fence == body["token"]
            demand(held, f"{where}: not by the holder")
        if name in ("Claim", "Renew"):
            job.until = now + timedelta(seconds=body["seconds"])
        if name in ("Renew", "Note", "Finish"):
            demand(live, f"{where}: after the lease had run out")
        if name in ("Release", "Complete", "Retry", "Bury"):
            job.owner = job.until = None

    def _business(self, key: tuple[int, int], job: Job, entry: Entry, where: str) -> None:
        name = entry.name
        if name in ("Finish", "Complete"):
            demand(job.state in ("Open", "Done"), f"{where}: from {job.state}")
            occasion = entry.input["occasion"]
            first = self.ended.setdefault(occasion, entry.number)
            demand(first == entry.number, f"{where}: {occasion} was concluded twice, first by record {first}")
            job.state, job.runs = "Done", job.runs + 1
        elif name == "Note":
            job.notes += 1
            self.noted[entry.input["occasion"]] += 1
            demand(self.noted[entry.input["occasion"]] == 1, f"{where}: noted twice for one occasion")
        elif name == "Bury":
            demand(job.state in ("Open", "Done"), f"{where}: from {job.state}")
            job.state = "Dead"
            self.buried[key] += 1

    def _ring(self, entry: Entry, where: str) -> None:
        demand(entry.success, f"{where}: {entry.outcome}, it was fired twice")
        fire = (entry.input["name"], entry.input["due"])
        first = self.rung.setdefault(fire, entry.number)
        demand(first == entry.number, f"{where}: {fire} was fired twice, first by record {first}")
