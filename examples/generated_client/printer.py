"""A worker that prints: written with the generated client, and with nothing else that knows the database."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from typing import assert_never
from uuid import UUID

from queue_client import Claim, Finish, Job, QueueClient

import treadle

SHOP = "corner"
LEASE = 5
"""Seconds for which a worker claims a job."""


def say(line: str) -> None:
    sys.stdout.write(f"  {line}\n")
    sys.stdout.flush()


class Printer:
    """A worker: everything that it knows of the database is in the generated client."""

    def __init__(self, client: QueueClient, number: int, silent: Callable[[], None]) -> None:
        self.client = client
        self.name = f"printer-{number}"
        self.id = UUID(int=number)
        self.silent = silent

    def run(self, silent_after: int | None) -> None:
        """Print until nothing waits; or go silent with a job in hand, after so many."""
        done = 0
        while waiting := self.client.waiting(shop=SHOP).jobs:
            for job in waiting:
                held = self.claim(job.number, job.revision)
                if held is None:
                    continue
                if done == silent_after:
                    say(f"{self.name} goes silent while it holds job {job.number}")
                    self.silent()
                    signal.pause()
                time.sleep(0.1)  # paper moves
                self.finish(held.job, held.receipt.revisions["job"])
                done += 1
            time.sleep(0.2)

    def claim(self, number: int, revision: int) -> Claim.Claimed | None:
        """Try to have a job for a while. None where another printer was faster, or still has it."""
        outcome = self.client.claim(
            key=f"claim-{self.name}-{number}-{revision}-{treadle.key()}",
            shop=SHOP,
            number=number,
            printer=self.id,
            seconds=LEASE,
            expected_revision=revision,
        )
        match outcome:
            case Claim.Claimed(job=job):
                say(f"{self.name} claims job {number} with token {job.token}")
                return outcome
            case Claim.Taken() | Claim.Stale() | Claim.AlreadyPrinted() | Claim.JobMissing():
                return None
            case Claim.BadDuration() | Claim.Exhausted():
                raise SystemExit(f"{self.name}: the contract does not let me claim: {outcome}")
            case _:
                assert_never(outcome)

    def finish(self, job: Job, revision: int) -> None:
        """Say that a job is printed. The key names the claim: said twice, it is done once."""
        outcome = self.client.finish(
            key=f"finish-{job.number}-{job.token}",
            shop=SHOP,
            number=job.number,
            printer=self.id,
            token=job.token,
            expected_revision=revision,
        )
        match outcome:
            case Finish.Finished():
                say(f"{self.name} finishes job {job.number}")
            case Finish.Stale() | Finish.NotHolder() | Finish.Lapsed() | Finish.AlreadyPrinted():
                say(f"{self.name} was too late for job {job.number}")
            case Finish.JobMissing():
                raise SystemExit(f"{self.name}: job {job.number} is gone")
            case _:
                assert_never(outcome)
