"""What the second processes of the graph's tests do: each tries to take the same step of one run."""

from __future__ import annotations

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

import treadle
from tests.support.graphs import advance_text, state_of
from tests.support.workflows import Release

RELEASE = Release()


def signed(number: int, revision: int) -> str:
    """The advance of a run from a revision as one of several signs it: each at a time of its own."""
    start, end, name = (("Draft", "Review", "submit"), ("Review", "Draft", "reject"))[revision % 2]
    at = f"2026-11-30T20:00:00.{number + 1}Z"
    return advance_text(RELEASE.advance(name, start, end, revision=revision, at=at))


def advance(db: treadle.Database, number: int, revision: int) -> str:
    """How the try of one of several ended."""
    try:
        done = db.graph.update(signed(number, revision), principal=f"agent-{number}")
    except treadle.Refused as error:
        return error.reason
    except treadle.Busy:
        return "busy"
    return "won" if done.asserted == 12 else "lost" if done.tx is None else "half"


def race(path: str, barrier: Barrier, pipe: Connection, number: int, rounds: int) -> None:
    """In each round, take the step from the same revision as everybody else; say how each ended."""
    with treadle.open(path) as db:
        answers = []
        for revision in range(rounds):
            barrier.wait(60)
            answers.append(advance(db, number, revision))
            barrier.wait(60)
        pipe.send(answers)


def advance_for_ever(path: str, pipe: Connection) -> None:
    """Advance the run without end; say each revision that was acknowledged."""
    with treadle.open(path) as db:
        revision = int(state_of(db)[1])
        pipe.send("ready")
        while True:
            assert advance(db, 0, revision) == "won"
            revision += 1
            pipe.send(revision)
