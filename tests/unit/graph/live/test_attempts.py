"""From a text to an answer: outside the write lock first, inside where it is quick, again where it moved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.engines import START, open_on
from tests.support.graphs import index, insert, table
from tests.support.sparql import index_of
from tests.support.updates import quads
from treadle.access.caller import Caller
from treadle.database import Database
from treadle.errors import Busy, SparqlError
from treadle.graph.delta import Delta
from treadle.graph.live import attempts, jobs
from treadle.graph.live.attempts import Load, Text
from treadle.graph.live.jobs import GroundJob, TimedJob, UpdateJob
from treadle.graph.load import Loaded
from treadle.graph.terms import IRI, Literal, Quad
from treadle.store.memory import MemoryStore
from treadle.testing import ManualClock

CALLER = Caller("tests")
COPY = "INSERT { ?s <urn:copy> ?o } WHERE { ?s <urn:p> ?o }"
STAMP = "INSERT { ?s <urn:at> ?t } WHERE { ?s <urn:p> ?o BIND(NOW() AS ?t) }"


def fact(number: int, graph: IRI | None = None) -> Quad:
    return Quad(IRI(f"urn:s:{number}"), IRI("urn:p"), Literal(str(number)), graph)


@pytest.fixture
def db() -> Database:
    found = open_on(MemoryStore())
    found.graph.update(insert([fact(1)]), principal="tests")
    return found


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every evaluation outside counts as slow."""
    monkeypatch.setattr(attempts, "QUICK", 0.0)


def begun(db: Database, text: str) -> Any:
    return db.graph.core.update(CALLER, Text(text))


def meanwhile(db: Database, number: int) -> None:
    db.graph.update(insert([fact(number)]), principal="other")


def test_what_costs_no_more_than_its_text_is_evaluated_inside_alone(db: Database) -> None:
    for text in (
        insert([fact(2)]),
        "DELETE DATA { <urn:s:1> <urn:p> '1' }",
        "INSERT { <urn:a> <urn:p> 1 } WHERE { <urn:s:1> <urn:p> '1' }",
        "INSERT { GRAPH <urn:g> { <urn:a> <urn:p> 1 } } WHERE { GRAPH <urn:g> { <urn:s:1> a <urn:p> } }",
    ):
        update = begun(db, text)
        job = update.job(5.0)
        assert update.free, text
        if not isinstance(job, GroundJob):  # its shape was met before
            assert isinstance(job, UpdateJob) and job.tried is None and job.inside == "free", text
    for text in (
        COPY,
        "INSERT { <urn:a> <urn:p> 1 } WHERE { <urn:s:1> <urn:p>+ '1' }",
        "INSERT { <urn:a> <urn:p> 1 } WHERE { FILTER(1 = 1) }",
        "INSERT { <urn:a> <urn:p> 1 } WHERE { _:b <urn:p> '1' }",
        "INSERT { <urn:a> <urn:p> 1 } WHERE { { <urn:s:1> <urn:p> '1' } UNION { <urn:b> <urn:p> 1 } }",
        "DROP DEFAULT",
    ):
        assert not begun(db, text).free, text


def test_a_quick_one_is_evaluated_again_where_the_graph_moved(db: Database) -> None:
    update = begun(db, COPY)
    job = update.job(5.0)
    meanwhile(db, 2)
    assert update.take(db._engine.submit([job])[0]).asserted == 2


@pytest.mark.usefixtures("slow")
def test_a_slow_one_goes_outside_again(db: Database) -> None:
    update = begun(db, COPY)
    meanwhile(db, 2)
    job = update.job(5.0)
    meanwhile(db, 3)
    assert update.take(db._engine.submit([job])[0]) is None
    job = update.job(5.0)
    assert update.take(db._engine.submit([job])[0]).asserted == 3


@pytest.mark.usefixtures("slow")
def test_after_five_rounds_it_is_busy_and_nothing_happened(db: Database) -> None:
    update = begun(db, COPY)
    with pytest.raises(Busy):
        for number in range(2, 99):
            job = update.job(5.0)
            meanwhile(db, number)
            assert update.take(db._engine.submit([job])[0]) is None
    assert not [quad for quad in table(db) if quad.p == IRI("urn:copy")]


def clocked() -> tuple[ManualClock, Database]:
    clock = ManualClock(START)
    db = open_on(MemoryStore(), clock)
    db.graph.update(insert([fact(1)]), principal="tests")
    return clock, db


def stamps(db: Database) -> set[str]:
    return {str(quad.o) for quad in table(db) if quad.p == IRI("urn:at")}


def last_time(db: Database) -> str:
    return list(db.log())[-1].time.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_now_is_the_time_of_the_commit() -> None:
    clock, db = clocked()
    update = begun(db, STAMP)
    job = update.job(5.0)
    assert type(job) is UpdateJob and job.inside == "quick"
    clock.advance(timedelta(seconds=90))
    update.take(db._engine.submit([job])[0])
    assert stamps(db) == {last_time(db)} == {"2026-03-01T00:01:30Z"}


@pytest.mark.usefixtures("slow")
def test_the_time_of_a_slow_one_is_that_of_its_try() -> None:
    clock, db = clocked()
    update = begun(db, STAMP)
    job = update.job(5.0)
    assert type(job) is TimedJob and job.exclusive
    clock.advance(timedelta(seconds=90))
    update.take(db._engine.submit([job])[0])
    assert stamps(db) == {last_time(db)} == {"2026-03-01T00:00:00Z"}


@pytest.mark.usefixtures("slow")
def test_a_try_before_the_last_commit_is_too_old() -> None:
    clock, db = clocked()
    update = begun(db, STAMP)
    job = update.job(5.0)
    clock.advance(timedelta(seconds=90))
    meanwhile(db, 2)
    assert update.take(db._engine.submit([job])[0]) is None
    assert update.take(db._engine.submit([update.job(5.0)])[0]).asserted == 2
    assert stamps(db) == {"2026-03-01T00:01:30Z"}


def test_a_deadline(db: Database) -> None:
    db.graph.update(insert(map(fact, range(45))), principal="tests")
    slow = "INSERT { ?a <urn:q> 1 } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a = ?l) }"
    with pytest.raises(SparqlError) as caught:
        db.graph.update(slow, principal="tests", timeout=0.05)
    assert caught.value.code == "deadline"
    with pytest.raises(SparqlError, match="longer"):
        db.graph.query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a = ?l) }", timeout=0.05)
    meanwhile(db, 1000)
    assert index(db) == table(db)


def test_an_evaluation_inside_that_is_quick_no_longer_goes_outside(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = begun(db, COPY)
    job = update.job(5.0)
    meanwhile(db, 2)
    monkeypatch.setattr(jobs, "LATEST", 0.0)
    assert update.take(db._engine.submit([job])[0]) is None


def test_updates_of_many_threads(db: Database) -> None:
    def count(number: int) -> None:
        text = (
            "DELETE { <urn:c> <urn:n> ?n } INSERT { <urn:c> <urn:n> ?m } "
            "WHERE { <urn:c> <urn:n> ?n BIND(?n + 1 AS ?m) }"
        )
        for _ in range(10):
            while True:
                try:
                    assert db.graph.update(text, principal="tests").asserted == 1
                    break
                except Busy:
                    continue

    db.graph.update("INSERT DATA { <urn:c> <urn:n> 0 }", principal="tests")
    together(count, 4)
    assert db.graph.query("ASK { <urn:c> <urn:n> 40 }")
    assert index(db) == table(db)
    assert db.verify().ok


def together(act: Callable[[int], None], count: int) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            act(number)
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors


# Documents.


@given(quads(), quads(), quads(), st.booleans())
@settings(max_examples=effort(60))
def test_a_change_taken_over_to_a_later_state_is_that_of_the_later_state(
    before: list[Quad], after: list[Quad], document: list[Quad], replace: bool
) -> None:
    graph = IRI("http://example.org/g")
    if replace:
        document = [quad._replace(g=graph) for quad in document]
    loaded = Loaded(dict.fromkeys(document), (), graph if replace else None, replace)
    old, new = index_of(before), index_of(after)
    since = Delta.of(set(before) - set(after), set(after) - set(before))
    assert loaded.rebased(loaded.delta(old), since, new) == loaded.delta(new)


def test_a_document_does_not_mind_what_comes_between(db: Database) -> None:
    loaded = Loaded.read("\n".join(f.n3() for f in map(fact, range(5))), "nquads", labels="x")
    load: Any = Load(db.graph.core.site, CALLER, loaded, via="load")
    job = load.job(5.0)
    meanwhile(db, 3)
    db.graph.update("DELETE DATA { <urn:s:1> <urn:p> '1' }", principal="tests")
    assert load.take(db._engine.submit([job])[0]).asserted == 4
    assert index(db) == table(db) == set(map(fact, range(5)))


def test_blank_nodes_never_meet(db: Database) -> None:
    for _ in range(2):
        db.graph.load("_:a <urn:q> _:b .", principal="tests")
        db.graph.update("INSERT DATA { _:a <urn:q> _:b }", principal="tests")
        db.graph.update("INSERT { _:a <urn:q> ?s } WHERE { ?s <urn:p> ?o }", principal="tests")
    assert len({quad.s for quad in table(db) if quad.p == IRI("urn:q")}) == 6
