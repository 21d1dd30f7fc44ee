"""Refusals in the log, verification of the graph, archives, history brought in, rotated keys."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support.engines import START
from tests.support.graphs import ENFORCED, advance_text, insert, loop, state_of, table
from tests.support.guarded import block
from tests.support.workflows import NAMES, Release, text
from treadle.database import Database
from treadle.errors import DatabaseCorrupt, InvalidInput, Refused
from treadle.graph.live import refusals, stored
from treadle.graph.signatures import public_key_of
from treadle.graph.terms import IRI, RDF_TYPE_IRI, Quad
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, ARCHIVED
from treadle.testing import ManualClock

R = Release()
B = Release("http://example.org/b", IRI("http://example.org/g"))
NEW_SEED = bytes(range(32))


@pytest.fixture
def db() -> Any:
    with treadle.open(":memory:", graph=ENFORCED) as found:
        found.graph.update(insert(R.setup()), principal="tests")
        yield found


def advance(db: Database, revision: int = 0, release: Release = R) -> None:
    assert db.graph.update(advance_text(loop(release, revision)), principal="tests").asserted == 12


def refused(db: Database, update: str, reason: str) -> None:
    before = table(db)
    with pytest.raises(Refused) as caught:
        db.graph.update(update, principal="tests")
    assert caught.value.reason == reason
    assert table(db) == before


# Refusals.


def test_a_refusal_is_a_record_without_the_data(db: Database) -> None:
    refused(db, insert([Quad(R.run, NAMES.current_state, text("S3cret"), None)]), "run_incomplete")
    entry = list(db.log())[-1]
    assert (entry.kind, entry.name, entry.principal) == ("refusal", "run_incomplete", "tests")
    assert entry.body == {
        "entity": R.run.value,
        "field": "aegis:currentState",
        "left_out": 0,
        "run": R.run.value,
        "via": "python",
    }
    with db._engine.store.read() as tx:
        assert not any(b"S3cret" in item.data for item in tx.log(1, 99))
    assert db.verify().ok


def test_refusals_of_one_principal_are_bounded() -> None:
    clock = ManualClock(START)
    with treadle.open(":memory:", graph=ENFORCED, clock=clock) as db:
        bad = insert([Quad(IRI("urn:" + "x" * 9_999), NAMES.current_state, text("x"), None)])
        for _ in range(refusals.PER_MINUTE + 5):
            refused(db, bad, "process_fact_untyped")
        with pytest.raises(Refused):
            db.graph.update(bad, principal="other")
        clock.advance(timedelta(minutes=1))
        refused(db, bad, "process_fact_untyped")
        found = [entry for entry in db.log() if entry.kind == "refusal"]
    assert [entry.principal for entry in found].count("other") == 1
    assert len(found) == refusals.PER_MINUTE + 2
    assert found[-1].body["left_out"] == 5
    assert len(found[-1].body["entity"]) < 600


# Verification.


def tamper(db: Database, removed: list[Quad], added: list[Quad]) -> None:
    with db._engine.store.write() as tx:
        tx.write_quads(list(map(stored.quad_text, removed)), list(map(stored.quad_text, added)))
        tx.commit()


@pytest.mark.parametrize(
    ("removed", "added", "said"),
    [
        ([Quad(R.run, NAMES.current_state, text("Review"), None)], [], "not stored"),
        ([], [Quad(R.run, NAMES.current_state, text("Released"), None)], "not what the log gives"),
    ],
)
def test_a_statement_behind_the_log_is_found(
    db: Database, removed: list[Quad], added: list[Quad], said: str
) -> None:
    advance(db)
    assert db.verify().ok
    tamper(db, removed, added)
    assert said in " ".join(problem.what for problem in db.verify().problems)
    assert "does not fold" in " ".join(problem.what for problem in db.verify().problems)


def test_an_unused_graph_that_holds_something_is_found() -> None:
    with treadle.open(":memory:") as db:
        tamper(db, [], [Quad(IRI("urn:s"), NAMES.run_of, IRI("urn:p"), None)])
        assert not db.verify().ok


def test_signatures_are_judged_by_the_keys_of_their_time(db: Database) -> None:
    advance(db, 0)
    registered = R.registration_quads()
    old = next(iter(quad for quad in registered if quad.p == NAMES.public_key))
    new = old._replace(o=text(public_key_of(NEW_SEED)))
    db.graph.update(f"DELETE DATA {{ {block([old])} }} ; {insert([new])}", principal="tests")
    refused(db, advance_text(loop(R, 1)), "signature_invalid")
    rotated = advance_text(R.advance("reject", "Review", "Draft", revision=1, signer=NEW_SEED))
    assert db.graph.update(rotated, principal="tests").asserted == 12
    assert state_of(db) == ("Draft", "2")
    db.graph.update(f"DELETE WHERE {{ <{R.registration}> ?p ?o }}", principal="tests")
    refused(db, advance_text(loop(R, 2)), "signer_unregistered")
    assert db.verify().ok


# Archives, and history that is brought in.


def finish(db: Database, release: Release = R) -> None:
    advance(db, 0, release)
    approve = release.advance("approve", "Review", "Released", revision=1)
    db.graph.update(advance_text(approve), principal="tests")


def test_an_archive_is_exported_folded_and_logged(db: Database, tmp_path: Path) -> None:
    target = tmp_path / "archive.nq"
    planned, done = db.graph.archive(target)
    assert (planned.runs, done.tx) == ((), None)
    assert target.read_text() == ""
    finish(db)
    with pytest.raises(InvalidInput, match="exists"):
        db.graph.archive(target)
    target = tmp_path / "second.nq"
    planned, done = db.graph.archive(target, plans=[R.plan], principal="ann")
    assert len(planned.runs) == len(planned.plans) == 1
    assert len(target.read_text().splitlines()) == done.retracted == len(planned.delta.removed)
    assert target.stat().st_mode & 0o777 == 0o600
    assert (list(db.log())[-1].name, list(db.log())[-1].principal) == ("archive", "ann")
    assert {quad.p for quad in table(db) if quad.s == R.run} == {ARCHIVED}
    db.graph.update(insert(R.plan_quads()), principal="tests")
    refused(db, insert(R.run_quads()), "run_not_initial")
    assert db.verify().ok


def exported(release: Release) -> str:
    """A run that was finished in another database, with its plan, as N-Quads."""
    with treadle.open(":memory:", graph=ENFORCED) as other:
        other.graph.update(insert(release.setup()), principal="tests")
        finish(other, release)
        return other.graph.export()


def bring(db: Database, document: str) -> Any:
    return db.graph.bring_history(document, "nquads", principal="tests")


def test_history_is_brought_in_and_folded(db: Database) -> None:
    document = "\n".join(
        line for line in exported(B).splitlines() if B.registration.value not in line.split(" ")[0]
    )
    with pytest.raises(Refused) as caught:
        bring(db, document)
    assert caught.value.reason == "run_differs"
    db.graph.update(insert(B.registration_quads()), principal="tests")
    done = bring(db, document)
    assert done.asserted == len(document.splitlines())
    assert state_of(db, B) == ("Released", "2")
    assert (list(db.log())[-1].kind, list(db.log())[-1].name) == ("graph", "history")
    assert bring(db, document).asserted == 0
    assert db.verify().ok


def changed(document: str, old: str, new: str) -> str:
    assert old in document
    return document.replace(old, new)


def without_line(document: str, part: str) -> str:
    return "\n".join(line for line in document.splitlines() if part not in line)


EVENT = "urn:x:other-event"
STATE = "currentState> "
FORGED = {
    "another state": (
        lambda d: changed(d, STATE + '"Released"', STATE + '"Draft"'),
        "run_differs",
    ),
    "no event": (lambda d: without_line(d, "/event/1-"), "run_differs"),
    "no signature": (lambda d: without_line(d, "ontology/signature>"), "run_differs"),
    "an accepted one": (
        lambda d: d + f'\n{B.run.n3()} {ACCEPTED_UNSIGNED.n3()} "2" {B.graph.n3() if B.graph else ""} .',
        "run_immutable",
    ),
    "an event of nobody": (
        lambda d: d + f"\n<{EVENT}> <{RDF_TYPE_IRI}> <{NAMES.event}> .",
        "event_without_advance",
    ),
    "the run in the default graph": (
        lambda d: d.replace(f"{B.run.n3()} ", f"{R.run.n3()} "),
        "run_differs",
    ),
    "a broken plan": (lambda d: without_line(d, "terminalState"), "definition_incomplete"),
}


@pytest.mark.parametrize("name", FORGED)
def test_history_that_does_not_fold_stays_out(db: Database, name: str) -> None:
    forge, reason = FORGED[name]
    db.graph.update(insert(B.registration_quads()), principal="tests")
    document = without_line(exported(B), f"{B.registration.n3()} ")
    before = table(db)
    with pytest.raises(Refused) as caught:
        bring(db, forge(document))
    assert caught.value.reason == reason
    assert table(db) == before


def test_history_cannot_grow_what_is_here(db: Database) -> None:
    advance(db)
    document = without_line(exported(R), f"{R.registration.n3()} ")
    with pytest.raises(Refused) as caught:
        bring(db, document)
    assert caught.value.reason == "run_incomplete"


def test_a_restored_backup_is_folded(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "x.db", graph=ENFORCED) as db:
        db.graph.update(insert(R.setup()), principal="tests")
        advance(db)
        db.backup(tmp_path / "good.db")
        tamper(db, [Quad(R.run, NAMES.current_state, text("Review"), None)], [])
        db.backup(tmp_path / "bad.db")
    restored = treadle.restore(tmp_path / "good.db", tmp_path / "again.db")
    with treadle.open(restored.path) as db:
        assert db.graph.capabilities()["processing"] == "enabled"
        advance(db, 1)
        assert db.verify().ok
    with pytest.raises(DatabaseCorrupt, match="run_incomplete|does not fold"):
        treadle.restore(tmp_path / "bad.db", tmp_path / "never.db")
    assert not (tmp_path / "never.db").exists()
