"""The beginning of a log that is about the graph goes; signatures are judged by the keys of their time."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

import treadle
from tests.support.engines import open_on
from tests.support.graphs import advance_text, index, insert, state_of, table
from tests.support.pruning import FINISHED, NEW_SEED, OLD, R, advance, fill, finish
from tests.support.workflows import NAMES, key, text
from treadle.database import Database
from treadle.engine import parts
from treadle.errors import DatabaseCorrupt, InvalidInput, Refused
from treadle.graph.client import WorkflowClient
from treadle.graph.live import committing, stored
from treadle.graph.live.audit import GraphCheck
from treadle.graph.signatures import public_key_of
from treadle.graph.terms import Quad
from treadle.model import record
from treadle.model.packing import pack
from treadle.ports.store import Store
from treadle.verify.walk import Walk

ABOUT = f"?e <{NAMES.in_run}> <{R.run}>"


@pytest.fixture
def db(store: Store, tmp_path: Path) -> Database:
    made = open_on(store)
    fill(made, tmp_path)
    return made


def problems(db: Database) -> list[str]:
    return [str(one) for one in db.verify().problems]


def kinds(db: Database) -> dict[str, int]:
    """The last record of each kind and name."""
    return {f"{entry.kind} {entry.name}".strip(): entry.number for entry in db.log()}


def change(db: Database, removed: list[Quad], added: list[Quad]) -> None:
    """Behind the log."""
    with db._engine.store.write() as tx:
        tx.write_quads([stored.quad_text(one) for one in removed], [stored.quad_text(one) for one in added])
        tx.commit()


def state_at(store: Store, number: int) -> list[bytes]:
    """What a pruning would keep of the graph after a record."""
    with store.read() as tx:
        walk = Walk(tx, None, None, next(tx.log(number, number)))
        walk.records()
        graph = walk.reached.graph
        assert walk.report().ok and graph is not None
        return list(parts.cut(map(pack, graph.items())))


def test_every_record_of_it_can_be_the_last_that_goes(db: Database, store: Store) -> None:
    head, before = db.head[0], db.verify()
    assert before.ok and before.signatures == 4, before.problems
    archived = kinds(db)["graph archive"]
    expected = {number: state_at(store, number) for number in range(1, head)}
    for number in range(1, head):
        assert state_at(store, number) == expected[number]
        done = db.retention().log(through=number)
        assert done.through == number and done.state_bytes > 0
        report = db.verify()
        assert report.ok, (number, report.problems)
        assert report.signatures == (4 if number < archived else 2) and report.signatures_since == number + 1
    with store.read() as tx:
        assert int.from_bytes(tx.entries(stored.CHANGES, b"", None, 9)[0][0]) >= head
    assert index(db) == table(db)


def test_keys_count_for_what_they_signed_and_for_no_more(db: Database) -> None:
    db.retention().log(through=db.head[0] - 1)
    with pytest.raises(Refused, match="signer_unregistered"):
        advance(db, 2)
    db.graph.update(insert(R.registration_quads()), principal="tests")
    with pytest.raises(Refused, match="signature_invalid"):
        advance(db, 2)
    advance(db, 2, signer=None)
    assert not problems(db) and db.verify().signatures == 3


def test_a_run_goes_on_is_finished_and_archived(db: Database, tmp_path: Path) -> None:
    db.graph.update(insert(R.registration_quads()), principal="tests")
    db.retention().log(through=db.head[0] - 1)
    approve = R.advance("submit", "Draft", "Review", revision=2)
    db.graph.update(advance_text(approve), principal="tests")
    approve = R.advance("approve", "Review", "Released", revision=3)
    db.graph.update(advance_text(approve), principal="tests")
    planned, done = db.graph.archive(tmp_path / "second.nq", plans=[R.plan])
    assert len(planned.runs) == 1 and not planned.kept and done.tx
    report = db.verify()
    assert report.ok and report.signatures == 4, report.problems
    db.retention().log(through=db.head[0] - 1)
    assert not problems(db)


def test_what_was_accepted_stays_accepted(db: Database) -> None:
    before = [finding for finding in db.graph.doctor() if "unsigned" in finding.code]
    db.retention().log(through=db.head[0] - 1)
    assert [finding for finding in db.graph.doctor() if "unsigned" in finding.code] == before
    db.graph.disenroll()
    with pytest.raises(Refused, match=R.run.value) as caught:
        db.graph.enroll()  # the key of R's agent is gone for good
    assert OLD.run.value not in str(caught.value)
    db.graph.update(
        f"DELETE WHERE {{ <{R.run}> ?p ?o }}; DELETE WHERE {{ ?e ?p ?o . {ABOUT} }}", principal="tests"
    )
    db.graph.enroll()
    assert not problems(db)


def test_whoever_asks_about_runs_gets_the_same_answer(db: Database) -> None:
    client = WorkflowClient(db.graph)
    keys = {R.agent_name: [key(R.agent_name), public_key_of(NEW_SEED)]}
    before = client.verify(str(R.run), keys=keys), client.history(str(R.run), keys=keys)
    why = db.why_run(str(R.run))
    db.retention().log(through=db.head[0] - 1)
    assert (client.verify(str(R.run), keys=keys), client.history(str(R.run), keys=keys)) == before
    assert why.refusals and db.why_run(str(R.run)) == why._replace(refusals=())


def test_an_index_that_is_further_behind_than_the_log_is_built_anew(db: Database, store: Store) -> None:
    other = open_on(store)
    assert index(other) == table(other)
    seen = other.graph.core.live.version
    db.graph.update(insert(R.registration_quads()), principal="tests")
    advance(db, 2, signer=None)
    db.retention().log(through=db.head[0] - 1)
    assert index(other) == table(other)
    assert other.graph.core.live.since(seen) is None
    db.graph.update("INSERT DATA { <urn:x> <urn:y> <urn:z> }", principal="tests")
    db.retention().log(through=db.head[0] - 1)
    assert state_of(other) == ("Review", "3")
    advance(other, 3, signer=None)
    assert index(other) == table(db) == index(db)
    assert not problems(other)


@pytest.mark.parametrize("added", [False, True])
def test_a_statement_behind_the_log_is_found(db: Database, added: bool) -> None:
    db.retention().log(through=db.head[0] - 1)
    stray = Quad(R.run, NAMES.current_state, text("Released" if added else "Draft"), None)
    change(db, *(([], [stray]) if added else ([stray], [])))
    said = " ".join(problems(db))
    assert ("not what the log gives" if added else "not stored") in said and "does not fold" in said


def test_a_history_whose_runs_do_not_fold_is_not_pruned(db: Database) -> None:
    event = next(
        quad for quad in table(db) if quad.p == NAMES.signature and quad.s.value.startswith(R.prefix)
    )
    change(db, [event], [event._replace(o=text("0" * 128))])
    with pytest.raises(DatabaseCorrupt, match="lead back|does not fold"):
        db.retention().log(through=db.head[0] - 1)
    assert next(db.log()).number == 1


def test_a_state_that_was_changed_is_named(db: Database, store: Store) -> None:
    through = db.head[0] - 1
    db.retention().log(through=through)
    with store.read() as tx:
        (_, (key, data)) = tx.entries(parts.SPACE, b"", None, 9)
    for other in (None, b"", data[:-1], zlib.compress(b"")):
        with store.write() as tx:
            tx.write_entries(parts.SPACE, [(key, other)])
            tx.commit()
        assert problems(db)[0].startswith(f"record {through}: the state at record {through}")


def test_a_change_in_several_records_goes_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "PART", 2)
    db = open_on(store)
    db.graph.load("".join(f"<urn:s{n}> <urn:p> <urn:o> .\n" for n in range(5)), "ntriples", principal="a")
    db.graph.update("INSERT DATA { <urn:x> <urn:y> <urn:z> }", principal="tests")
    for number in (1, 2):
        with pytest.raises(InvalidInput, match="name record 3"):
            db.retention().log(through=number)
    db.retention().log(through=3)
    assert not problems(db)


def test_an_archive_in_several_records(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "PART", 7)
    other = type(FINISHED)("http://example.org/c", FINISHED.graph)
    finish(db, other)
    db.graph.archive(tmp_path / "parts.nq")
    report = db.verify()
    assert report.ok and report.signatures == 6, report.problems
    db.graph.update("INSERT DATA { <urn:x> <urn:y> <urn:z> }", principal="tests")
    db.retention().log(through=db.head[0] - 1)
    assert not problems(db)


def test_an_archived_signature_that_no_key_verifies(db: Database, store: Store) -> None:
    """As if somebody had rewritten the log, chain and all."""
    with store.read() as tx:
        check = GraphCheck(tx)
        for entry in tx.log(1, db.head[0]):
            item = record.decode(entry.data)
            if item.name == "archive":
                forged = tuple(
                    (s, p, '"' + "0" * 128 + '"' if p == NAMES.signature.n3() else o, g)
                    for s, p, o, g in item.quads_removed
                )
                assert any(
                    "no key of its time" in what for what in check.record(item._replace(quads_removed=forged))
                )
                return
            assert not list(check.record(item))
    raise AssertionError("nothing was archived")


@pytest.fixture
def renamed(store: Store) -> Database:
    """Enrolled under another namespace than that of its runs, pruned, and then enrolled under theirs."""
    other = Database(
        open_on(store)._engine, "test", treadle.GraphOptions(base_ns="http://example.org/names#")
    )
    other.graph.enroll()
    other.graph.update(insert(R.setup()), principal="tests")
    advance(other, 0, signer=None)
    other.graph.update("INSERT DATA { <urn:x> <urn:y> <urn:z> }", principal="tests")
    return other


def test_under_other_names_what_stood_there_counts_from_the_beginning(
    renamed: Database, store: Store
) -> None:
    renamed.retention().log(through=renamed.head[0] - 1)
    assert not problems(renamed)
    renamed.graph.disenroll()
    db = open_on(store)
    db.graph.enroll()
    advance(db, 1, signer=None)
    report = db.verify()
    assert report.ok and report.signatures == 2, report.problems
    db.retention().log(through=db.head[0] - 1)
    assert not problems(db)


def test_no_place_under_names_that_are_no_more(renamed: Database, store: Store) -> None:
    renamed.graph.disenroll()
    db = open_on(store)
    db.graph.update("INSERT DATA { <urn:x> <urn:y> 2 }", principal="tests")
    with pytest.raises(InvalidInput, match="example.org/names#"):
        db.retention().log(through=db.head[0] - 2)
    db.retention().log(through=db.head[0] - 1)
    assert not problems(db)
