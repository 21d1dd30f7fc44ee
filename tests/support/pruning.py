"""A history of a graph that has everything in it that pruning its log has to keep."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import treadle
from tests.support.graphs import advance_text, insert, loop
from tests.support.guarded import block
from tests.support.legacy import legacy_run, v1
from tests.support.workflows import NAMES, Release, text
from treadle.database import Database
from treadle.graph.migrate import Answers
from treadle.graph.signatures import public_key_of
from treadle.graph.terms import IRI

R = Release()
FINISHED = Release("http://example.org/b", IRI("http://example.org/g"))
OLD = Release("http://example.org/old")
NEW_SEED = bytes(range(32))


def advance(db: Database, revision: int, *, signer: bytes | None = NEW_SEED, release: Release = R) -> None:
    """The run's next step, between Draft and Review for ever."""
    start, end, name = (("Draft", "Review", "submit"), ("Review", "Draft", "reject"))[revision % 2]
    made = release.advance(name, start, end, revision=revision, signer=signer)
    assert db.graph.update(advance_text(made), principal="tests").asserted == 12


def rotate(db: Database) -> None:
    """Another key for the agent of `R`, in place of the one it had."""
    old = next(quad for quad in R.registration_quads() if quad.p == NAMES.public_key)
    new = old._replace(o=text(public_key_of(NEW_SEED)))
    db.graph.update(f"DELETE DATA {{ {block([old])} }} ; {insert([new])}", principal="tests")


def finish(db: Database, release: Release) -> None:
    """Start a run and bring it to its end."""
    db.graph.update(insert(release.setup()), principal="tests")
    db.graph.update(advance_text(loop(release, 0)), principal="tests")
    approve = release.advance("approve", "Review", "Released", revision=1)
    db.graph.update(advance_text(approve), principal="tests")


def fill(db: Database, folder: Path) -> None:
    """A migrated run with an unsigned event; enrollment; signed runs, one archived; a key rotated."""
    old = OLD.plan_quads() | OLD.registration_quads() | legacy_run("Review", OLD)
    db.graph.update(
        insert(old | v1("submit", "2026-01-01T00:00:00Z", signed=False, r=OLD)), principal="tests"
    )
    db.graph.migrate(Answers(unsigned=frozenset((OLD.run,))))
    db.graph.enroll()
    db.graph.update(insert(R.setup()), principal="tests")
    advance(db, 0, signer=None)
    finish(db, FINISHED)
    rotate(db)
    advance(db, 1)
    try:
        db.graph.update(f"DELETE WHERE {{ {R.run.n3()} ?p ?o }}", principal="tests")
    except treadle.Refused:
        pass  # it is in the log
    db.graph.archive(folder / "archived.nq", plans=[FINISHED.plan])
    db.graph.load('<urn:a> <urn:b> "c\\u0001" .', "ntriples", graph="urn:g", principal="tests")
    db.graph.update("CREATE GRAPH <urn:empty>", principal="tests")
    db.graph.update(f"DELETE WHERE {{ {R.registration.n3()} ?p ?o }}", principal="tests")


def reopened(db: Database) -> None:
    """The agent of `R` gets a key again, and goes on."""
    db.graph.update(insert(R.registration_quads()), principal="tests")
    advance(db, 2, signer=None)
    assert db.verify().ok


def prune_for_ever(path: str, pipe: Connection) -> None:
    """What a process does that is killed: it adds records, and prunes all but the last of them."""
    with treadle.open(path) as db:
        pipe.send("ready")
        number = 0
        while True:
            number += 1
            db.graph.update(f"INSERT DATA {{ <urn:n> <urn:p> {number} }}", principal="tests")
            db.graph.update(f"DELETE DATA {{ <urn:n> <urn:p> {number} }}", principal="tests")
            db.retention().log(through=db.head[0] - 1)
