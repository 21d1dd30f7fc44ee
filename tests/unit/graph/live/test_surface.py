"""`db.graph`: the names that programs rely on, what it answers, what it refuses, who may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import treadle
from tests.support.engines import open_on
from tests.support.graphs import table
from treadle.access.roles import Role
from treadle.database import Database
from treadle.errors import Closed, Denied, InvalidInput, Malformed, SparqlError, SparqlLimit, SparqlSyntax
from treadle.graph import IRI, BlankNode, Literal
from treadle.graph.query import Rows, Triples
from treadle.store.memory import MemoryStore

TURTLE = "@prefix : <http://example.org/> . :a :knows :b , :c ; :age 7 . :b :knows _:x ."
EX = "http://example.org/"
ROLES = [
    Role(name="reader", graph=("read",)),
    Role(name="writer", graph=("read", "update")),
    Role(name="tenant", graph=("read", "update"), tenant=True),
]


@pytest.fixture
def db() -> Database:
    found = open_on(MemoryStore())
    found.graph.load(TURTLE, principal="tests")
    return found


def test_updates_answer_counts(db: Database) -> None:
    done = db.graph.update("DELETE WHERE { ?s <http://example.org/age> ?o }", principal="tests")
    assert (done.tx, done.asserted, done.retracted, done.ok) == (2, 0, 1, True)
    assert done.to_json() == {
        "tx": 2,
        "asserted": 0,
        "retracted": 1,
        "graphs": [{"graph": None, "tx": 2, "asserted": 0, "retracted": 1}],
    }
    again = db.graph.update("DELETE WHERE { ?s <http://example.org/age> ?o }", principal="tests")
    assert again.to_json() == {"tx": None, "asserted": 0, "retracted": 0, "graphs": []}
    done = db.graph.update("INSERT DATA { GRAPH <g> { <a> <b> 1 } }", base=EX, principal="tests")
    assert [change.graph for change in done.graphs] == [EX + "g"]


def test_queries_answer_terms(db: Database) -> None:
    rows = db.graph.query(
        "SELECT ?o WHERE { ?who <http://example.org/knows> ?o }", bindings={"who": IRI(EX + "a")}
    )
    assert isinstance(rows, Rows) and rows.variables == ("o",)
    assert {row["o"] for row in rows} == {IRI(EX + "b"), IRI(EX + "c")}
    assert '"vars": ["o"]' in rows.to_json()
    assert db.graph.query("ASK { ?s ?p ?o }") is True
    triples = db.graph.query("CONSTRUCT WHERE { ?s <http://example.org/age> ?o }")
    assert isinstance(triples, Triples)
    assert [quad.o for quad in triples] == [Literal("7", "http://www.w3.org/2001/XMLSchema#integer")]
    update = "INSERT { ?who <urn:is> ?what } WHERE { ?who ?p ?o }"
    assert (
        db.graph.update(
            update, bindings={"who": IRI(EX + "a"), "what": Literal("} ; DROP ALL")}, principal="tests"
        ).asserted
        == 1
    )


def test_documents(db: Database) -> None:
    before = db.graph.export()
    assert len(before.splitlines()) == 4
    done = db.graph.load("<urn:a> <urn:b> <rel> .", graph=EX + "g", base=EX, principal="tests")
    assert done.created == (EX + "g",)
    assert db.graph.export("ntriples", EX + "g") == f"<urn:a> <urn:b> <{EX}rel> .\n"
    done = db.graph.load(b"<urn:a> <urn:b> 2 .", graph=IRI(EX + "g"), replace=True, principal="tests")
    assert (done.asserted, done.retracted) == (1, 1)
    assert db.graph.graphs() == [(None, 4), (EX + "g", 1)]
    other = open_on(MemoryStore())
    other.graph.load(db.graph.export("trig"), "trig", principal="tests")
    assert len(table(other)) == len(table(db)) == 5
    assert "<urn:a>" not in db.graph.export("turtle")


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda g: g.update("INSERT { ?x }", principal="t"), SparqlSyntax),
        (lambda g: g.update("LOAD <http://127.0.0.1/x>", principal="t"), SparqlSyntax),
        (lambda g: g.query("SELECT * { SERVICE <urn:x> { ?s ?p ?o } }"), SparqlSyntax),
        (lambda g: g.query("SELECT * { " + "{" * 200 + "}" * 200 + "}"), SparqlLimit),
        (lambda g: g.update("INSERT DATA { <rel> <urn:p> 1 }", principal="t"), SparqlSyntax),
        (lambda g: g.update("INSERT DATA { <urn:s> <urn:p> 1 }"), InvalidInput),
        (lambda g: g.load("<urn:s> <urn:p> 1 .", principal=None), InvalidInput),
        (lambda g: g.load("", "excel", principal="t"), InvalidInput),
        (lambda g: g.load("<urn:s> <urn:p> 1", principal="t"), SparqlSyntax),
        (lambda g: g.load("", graph="not an IRI", principal="t"), InvalidInput),
        (lambda g: g.load(b"\xff", principal="t"), SparqlSyntax),
        (lambda g: g.load("<urn:s> <urn:p> 1 .", base="rel", principal="t"), Malformed),
        (lambda g: g.query("ASK {}", bindings={"x y": IRI("urn:x")}), InvalidInput),
        (lambda g: g.query("ASK {}", bindings={"x": "urn:x"}), InvalidInput),
        (lambda g: g.update("DROP ALL", bindings={"x": 1}, principal="t"), InvalidInput),
        (lambda g: g.export("excel"), InvalidInput),
        (lambda g: g.export("trig", EX), InvalidInput),
        (lambda g: g.update("INSERT DATA { <urn:s> <urn:p> '\ud800' }", principal="t"), SparqlError),
    ],
)  # fmt: skip
def test_what_is_refused(db: Database, act: Any, error: type[Exception]) -> None:
    before = table(db)
    with pytest.raises(error) as caught:
        act(db.graph)
    assert isinstance(caught.value, treadle.TreadleError)
    assert table(db) == before


def test_errors_name_the_place(db: Database) -> None:
    with pytest.raises(SparqlSyntax) as caught:
        db.graph.update("INSERT DATA {\n  <urn:s> <urn:p> }", principal="tests")
    assert (caught.value.line, caught.value.column) == (2, 19)


def test_a_bound_on_what_one_update_touches() -> None:
    options = treadle.GraphOptions(update_full_copy_max_facts=3)
    with treadle.open(":memory:", graph=options) as db:
        db.graph.load(TURTLE, principal="tests")
        with pytest.raises(SparqlLimit, match="update_full_copy_max_facts"):
            db.graph.update("DELETE WHERE { ?s ?p ?o }", principal="tests")


def test_who_may_do_what(db: Database) -> None:
    db.deploy("contract C version 1 {}", roles=ROLES)
    reader, writer = (db.acting_as("tests", role=role).graph for role in ("reader", "writer"))
    bound = db.acting_as("tests", role="tenant", tenant="a").graph
    assert reader.query("ASK {}") and writer.update("INSERT DATA { <urn:s> <urn:p> 1 }").asserted == 1
    for act in (
        lambda: reader.update("INSERT DATA { <urn:s> <urn:p> 2 }"),
        lambda: reader.load("<urn:s> <urn:p> 2 ."),
        lambda: writer.bring_history(""),
        lambda: db.graph.query("ASK {}", principal="tests", role="nobody"),
        lambda: bound.query("ASK {}"),
        lambda: bound.update("INSERT DATA { <urn:s> <urn:p> 2 }"),
    ):
        with pytest.raises(Denied):
            act()
    with pytest.raises(treadle.Refused) as caught:
        writer.update("INSERT DATA { <urn:s> <http://aegis.gastown.local/ontology/verifier> 'x' }")
    assert caught.value.reason == "registration_forbidden"


def test_roles_of_another_process_count_at_once(tmp_path: Path) -> None:
    with treadle.open(tmp_path / "x.db") as one, treadle.open(tmp_path / "x.db") as two:
        one.deploy("contract C version 1 {}", roles=ROLES)
        writer = two.acting_as("tests", role="writer").graph
        writer.update("INSERT DATA { <urn:s> <urn:p> 1 }")
        one.deploy("contract C version 1 {}", roles=[Role(name="writer", graph=("read",))])
        with pytest.raises(Denied):
            writer.update("INSERT DATA { <urn:s> <urn:p> 2 }")


def test_terms() -> None:
    assert IRI("urn:a").n3() == "<urn:a>" and BlankNode("b").n3() == "_:b"
    assert Literal("x", language="en").n3() == '"x"@en'


def test_a_closed_handle() -> None:
    db = treadle.open(":memory:")
    db.graph.update("INSERT DATA { <urn:s> <urn:p> 1 }", principal="tests")
    graph = db.graph
    db.close()
    for act in (lambda: graph.query("ASK {}"), lambda: graph.update("CLEAR ALL", principal="tests")):
        with pytest.raises(Closed):
            act()


def test_it_is_a_context_of_one_principal(db: Database) -> None:
    acting = db.acting_as("release-service", instance="host-7/1").graph
    acting.update("INSERT DATA { <urn:s> <urn:p> 1 }")
    entry = list(db.log())[-1]
    assert (entry.kind, entry.name, entry.principal, entry.instance) == (
        "update",
        "python",
        "release-service",
        "host-7/1",
    )
