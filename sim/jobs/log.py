"""The log, walked by the rules: every record is what they make of the one before it."""

from __future__ import annotations

from sim.jobs.rules import SUCCESS, Job, Slot, decide
from sim.scenario import demand
from treadle.database import Database
from treadle.history import Entry


class Log:
    """What was read of a log so far. What was read once has to stay."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.slots: dict[int, Slot] = {}
        self.versions: dict[int, list[tuple[int, Job | None]]] = {}
        self.finished = 0

    def walk(self, db: Database) -> None:
        """Read on."""
        known = len(self.entries)
        entries = list(db.log(max(1, known), unmasked=True))
        if known:
            demand(
                entries and entries[0].hash == self.entries[-1].hash, f"record {known} was there, and is not"
            )
            del entries[0]
        for entry in entries:
            self._next(entry)

    def _next(self, entry: Entry) -> None:
        number = len(self.entries) + 1
        demand(entry.number == number, f"record {number} is missing from the log")
        earlier = self.entries[-1].time if self.entries else entry.time
        demand(entry.time >= earlier, f"record {number}: time ran backward")
        self.entries.append(entry)
        if entry.kind == "command":
            self._command(entry)

    def _command(self, entry: Entry) -> None:
        number = entry.input["job"]
        where = f"record {entry.number} ({entry.name} of job {number})"
        slot = self.slots.get(number, Slot())
        outcome, after = decide(slot, entry.name, entry.input, entry.time)
        demand(entry.outcome == outcome, f"{where}: {entry.outcome}, but the rules say {outcome} of {slot}")
        ended = outcome == SUCCESS["Finish"]
        events = [event for event, _ in entry.events]
        demand(events == ["Finished"] * ended, f"{where}: {outcome} with events {events}")
        self.finished += ended
        if after is None:
            demand(not entry.rows, f"{where}: {entry.outcome} wrote something")
            return
        self.slots[number] = after
        self.versions.setdefault(number, [(0, None)]).append((entry.number, after.job))
        (row,) = entry.rows
        fields = row.fields
        wrote = None
        if fields is not None:
            wrote = Job(
                row.revision, fields["state"], fields.get("owner"), fields.get("until"), fields["fence"]
            )
        demand(wrote == after.job, f"{where}: wrote {wrote}, but the rules say {after.job}")

    def spans(self, number: int, job: Job | None) -> list[tuple[int, int]]:
        """The commits after which a job was as it was read: pairs of a first and a last one."""
        versions = self.versions.get(number, [(0, None)])
        ends = [commit - 1 for commit, _ in versions[1:]] + [1 << 60]
        return [(first, last) for (first, found), last in zip(versions, ends, strict=True) if found == job]
