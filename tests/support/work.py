"""What the second processes of tests do: they open the database file they are given and run commands."""

from __future__ import annotations

import itertools
import random
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

import treadle
from tests.support.engines import ORGANIZATION, claim, create, work_id
from treadle.engine.receipt import Receipt
from treadle.errors import TreadleError


def create_for_ever(path: str, pipe: Connection, first: int, batch: int) -> None:
    """Create work items first, first + 1, … in batches; say the number of each that was acknowledged."""
    with treadle.open(path) as db:
        pipe.send("ready")
        for start in itertools.count(first, batch):
            calls = [create(number) for number in range(start, start + batch)]
            for number, answer in zip(
                range(start, start + batch), db.run_many(calls, principal="tests"), strict=True
            ):
                if isinstance(answer, Receipt):
                    pipe.send((number, answer.commit))


def race(path: str, barrier: Barrier, pipe: Connection, owner: Any, rounds: list[int]) -> None:
    """In each round, claim the same work item as everybody else; say how each ended."""
    answers = []
    with treadle.open(path) as db:
        for number in rounds:
            barrier.wait(60)
            answers.append(_try_claim(db, number, owner))
    pipe.send(answers)


def _try_claim(db: treadle.Database, number: int, owner: Any) -> tuple[str, int]:
    key = f"race-{number}-{owner}"
    try:
        receipt = db.run(*claim(number, key=key, owner=owner), principal="tests")
    except TreadleError as error:
        return f"error: {error.code}", 0
    if receipt.outcome != "Claimed":
        return receipt.outcome, 0
    return "Claimed", receipt.fields["work"]["lease_fence"]


def contend(path: str, pipe: Connection, seed: int, steps: int, items: int) -> None:
    """Claim, renew and release at random over a few items, always with the revision last read.

    Sends every command with its key, outcome, revisions and commit, so that the history can be checked.
    """
    import uuid

    dice = random.Random(seed)
    owner = uuid.UUID(int=0x5EED0000 + seed)
    done = []
    with treadle.open(path) as db:
        for step in range(steps):
            number = dice.randrange(items)
            row = db.row("WorkItem", (ORGANIZATION, work_id(number)))
            assert row is not None
            name = dice.choice(("ClaimWork", "ReleaseWork", "RenewWork"))
            body = {
                "request_key": f"{seed}-{step}",
                "organization_id": ORGANIZATION,
                "work_id": work_id(number),
                "owner_id": owner,
                "expected_revision": row.revision,
            }
            if name != "ReleaseWork":
                body["duration"] = 5
            if name != "ClaimWork":
                body["token"] = row.fields["lease_fence"]
            receipt = db.run(name, body, principal="tests")
            done.append((number, name, receipt.outcome, receipt.revisions.get("work"), receipt.commit))
    pipe.send(done)
