"""Everything that must hold of what was seen, whatever went wrong meanwhile. Knows nothing of faults."""

from __future__ import annotations

from sim.scenario import demand
from sim.work import accounts, bellrules
from sim.work.log import Log
from sim.work.seen import Place, Seen
from sim.work.world import START, World
from treadle.database import Database


def check(world: World) -> int:
    """Judge a world that has come to rest; returns how many records there are. Raises `Broken`."""
    db = world.handle(0)
    report = db.verify()
    demand(report.ok, f"verify: {'; '.join(map(str, report.problems[:3]))}")
    log = Log(list(db.log(unmasked=True)))
    kept = {name: _kept(db, name) for name in log.events}
    _rows(db, log)
    _receipts(log, world.seen)
    _visits(log, world.seen)
    _occasions(log, db)
    _streams(log, world.seen, kept)
    _tails(log, world.seen, kept["Queued"])
    accounts.check(log, world.seen.calls, kept)
    bellrules.check(log, world.seen.looks, START)
    return len(log.entries)


def _kept(db: Database, event: str) -> set[Place]:
    with db._engine.store.read() as tx:
        return {(one.number, one.ordinal) for one in tx.events(event, None, (0, -1), 1 << 20)}


def _rows(db: Database, log: Log) -> None:
    for (yard, number), job in log.jobs.items():
        row = db.row("Job", (yard, number))
        demand(row is not None, f"job {number} of yard {yard} is gone")
        if row is not None:
            got = (row.revision, *(row.fields[name] for name in ("state", "fence", "runs", "owner")))
            want = (job.revision, job.state, job.fence, job.runs, job.owner)
            demand(got == want, f"job {number} of yard {yard} is stored as {got}, the log says {want}")


def _receipts(log: Log, seen: Seen) -> None:
    """What was acknowledged is in the log, each in a record of its own."""
    numbers: dict[int, str] = {}
    for key, receipt in seen.receipts.items():
        entry = log.entries[receipt.commit - 1] if receipt.commit <= len(log.entries) else None
        found = entry is not None and (entry.name, entry.outcome) == (receipt.command, receipt.outcome)
        demand(found, f"{key}: {receipt!r} is not in the log")
        demand(numbers.setdefault(receipt.commit, key) == key, f"{key}: shares commit {receipt.commit}")


def _visits(log: Log, seen: Seen) -> None:
    """Nobody was called for what had been concluded when it was claimed, or without a claim."""
    for visit in seen.visits:
        claim = log.claims.get((*visit.key, visit.fence))
        demand(claim is not None, f"{visit.occasion}: called with fence {visit.fence}, which nobody has")
        ended = log.ended.get(visit.occasion)
        if ended is not None and claim is not None:
            demand(ended > claim, f"{visit.occasion}: called by claim {claim}, concluded by record {ended}")
    visited = {visit.occasion for visit in seen.visits}
    for occasion in log.ended:
        demand(occasion in visited, f"{occasion}: concluded, and nobody did it")


def _occasions(log: Log, db: Database) -> None:
    """What was to be done is done, or its job was given up; each occasion by itself."""
    for (yard, number), job in log.jobs.items():
        demand(job.state != "Open", f"job {number} of yard {yard} was left open")
    for (commit, ordinal), fields in log.events["Queued"].items():
        key = (fields["yard"], fields["job"])
        done = f"post {commit}:{ordinal}" in log.ended
        demand(done or log.jobs[key].state == "Dead", f"event {commit}:{ordinal} was never worked off")


def _streams(log: Log, seen: Seen, kept: dict[str, set[Place]]) -> None:
    """Streams hold what the log emitted, but for the oldest that a window let go."""
    end = log.entries[-1].time.timestamp()
    for name, events in log.events.items():
        demand(kept[name] <= set(events), f"stream {name} has events that the log did not emit")
        gone = set(events) - kept[name]
        oldest = min(kept[name], default=(1 << 62, 0))
        for place in gone:
            young = not seen.windows or end - log.time(place).timestamp() < min(seen.windows)
            demand(place < oldest and not young, f"event {place} of {name} is gone from its stream")


def _tails(log: Log, seen: Seen, kept: set[Place]) -> None:
    """A tail saw every event after its place, and no other."""
    events = sorted(log.events["Queued"])
    for stretch in seen.stretches:
        want = [place for place in events if place > stretch.after][: len(stretch.places)]
        demand(stretch.places == want, f"a tail read {stretch.places} behind {stretch.after}, not {want}")
