"""Two printers, one job: one goes silent while it holds the lease, the other takes over, and nothing is lost.

First as two threads, with a clock that is moved by hand; then as two processes, one of which is killed.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import UUID

import treadle
from treadle.testing import ManualClock

HERE = Path(__file__).resolve().parent
CONTRACT = HERE / "queue.riff"
DATABASE = HERE / "work.db"
SHOP = "corner"


class Printer:
    """A worker: what it knows of its job, and the commands it runs."""

    def __init__(self, db: treadle.Database, number: int) -> None:
        self.name = f"printer-{number}"
        self.id = UUID(int=number)
        # The principal is the service; which process of it acts is recorded beside it.
        self.service = db.acting_as("printer-service", instance=f"{self.name}/{os.getpid()}")

    def claim(self, job: int, revision: int, seconds: int) -> treadle.Receipt:
        return self.service.run(
            "Claim",
            {"key": treadle.key(), "shop": SHOP, "number": job, "printer": self.id, "seconds": seconds,
             "expected_revision": revision},
        )  # fmt: skip

    def renew(self, claimed: treadle.Receipt, seconds: int) -> treadle.Receipt:
        return self.service.run("Renew", self.evidence(claimed) | {"seconds": seconds})

    def finish(self, evidence: dict[str, object]) -> treadle.Receipt:
        return self.service.run("Finish", evidence)

    def evidence(self, held: treadle.Receipt) -> dict[str, object]:
        """What proves that the job is ours: owner, fencing token and the revision we saw."""
        job = held.fields["job"]
        return {"key": treadle.key(), "shop": SHOP, "number": job["number"], "printer": self.id,
                "token": job["token"], "expected_revision": held.revisions["job"]}  # fmt: skip


def say(line: str) -> None:
    print(f"  {line}", flush=True)


def add(db: treadle.Database, number: int, title: str) -> None:
    """Queue a job. Its number names the attempt too: the same call twice adds it once."""
    db.run(
        "AddJob",
        {"key": f"add-{number}", "shop": SHOP, "number": number, "title": title},
        principal="front-desk",
    ).expect("Added")


def revision(db: treadle.Database, number: int) -> int:
    row = db.row("Job", (SHOP, number))
    return row.revision if row else 0


def held_until(db: treadle.Database, number: int) -> datetime:
    row = db.row("Job", (SHOP, number))
    return row.fields["held_until"] if row else datetime.max


def verify(db: treadle.Database) -> None:
    report = db.verify()
    if not report.ok:
        raise SystemExit(f"history does not agree: {report.problems[0]}")
    say(f"history: {report.evaluated} commands evaluated again, nothing disagrees")


def threads() -> None:
    print("Two threads, and a clock that is moved by hand:")
    clock = ManualClock(datetime(2030, 1, 1, 9, tzinfo=UTC))
    with treadle.open(":memory:", clock=clock) as db:
        db.deploy(CONTRACT)
        add(db, 7, "Menu, two sides")
        awake, silent = threading.Event(), threading.Event()

        def first() -> None:
            printer = Printer(db, 1)
            claimed = printer.claim(7, revision(db, 7), 60)
            say(f"printer-1 claims job 7 with token {claimed.expect('Claimed')['job']['token']}")
            silent.set()
            awake.wait()
            late = printer.finish(printer.evidence(claimed))
            say(f"printer-1 wakes up and finishes job 7: {late.outcome}, and nothing is written")

        def second() -> None:
            printer = Printer(db, 2)
            claimed = printer.claim(7, revision(db, 7), 60)
            say(f"printer-2 claims job 7 with token {claimed.expect('Claimed')['job']['token']}")
            awake.set()
            slow.join()
            done = printer.finish(printer.evidence(claimed))
            say(f"printer-2 finishes job 7: {done.outcome}, now at revision {done.revisions['job']}")

        slow, quick = threading.Thread(target=first), threading.Thread(target=second)
        slow.start()
        silent.wait()
        say("printer-1 goes silent")
        clock.advance(timedelta(seconds=60))
        say("a minute later its lease has run out; the row still names it, for time alone changes nothing")
        quick.start()
        quick.join()
        verify(db)


def holder(wire: Connection) -> None:
    """The process of printer-1: claims, hands out the finish that it would send, and is killed at work."""
    with treadle.open(DATABASE) as db:
        printer = Printer(db, 1)
        claimed = printer.claim(8, revision(db, 8), 5)
        say(f"printer-1 claims job 8 with token {claimed.expect('Claimed')['job']['token']}, for 5 seconds")
        wire.send(printer.evidence(claimed))
        signal.pause()


def successor(late: dict[str, object]) -> None:
    """The process of printer-2: waits for the lease to run out, takes over, renews, finishes."""
    with treadle.open(DATABASE) as db:
        printer = Printer(db, 2)
        refused = printer.claim(8, revision(db, 8), 60)
        left = (held_until(db, 8) - refused.time).total_seconds()
        say(f"printer-2 asks for job 8: {refused.outcome}, for another {left:.1f} seconds")
        time.sleep(left)
        claimed = printer.claim(8, revision(db, 8), 60)
        say(f"printer-2 claims job 8 with token {claimed.expect('Claimed')['job']['token']}")
        answer = Printer(db, 1).finish(late)
        say(f"what printer-1 had sent before it died arrives: {answer.outcome}, and nothing is written")
        renewed = printer.renew(claimed, 120)
        done = printer.finish(printer.evidence(renewed))
        say(f"printer-2 renews its lease and finishes job 8: {done.outcome}")


def processes() -> None:
    print("Two processes on one file, and the real clock:")
    for old in HERE.glob("work.db*"):
        old.unlink()
    with treadle.open(DATABASE) as db:
        db.deploy(CONTRACT)
        add(db, 8, "Poster")
    spawn = get_context("spawn")
    wire, far_end = spawn.Pipe()
    first = spawn.Process(target=holder, args=(far_end,), daemon=True)
    first.start()
    far_end.close()  # so that a death before its claim ends the wait here too
    late = wire.recv()
    first.kill()
    first.join()
    say(f"printer-1 is killed (exit code {first.exitcode}) while it holds the lease")
    second = spawn.Process(target=successor, args=(late,), daemon=True)
    second.start()
    second.join()
    if second.exitcode:
        raise SystemExit(f"printer-2 ended with exit code {second.exitcode}")
    with treadle.open(DATABASE) as db:
        verify(db)


def main() -> None:
    threads()
    processes()
    print("Look around in this folder: treadle log · treadle log --of Job corner 8 --long · treadle verify")


if __name__ == "__main__":
    main()
