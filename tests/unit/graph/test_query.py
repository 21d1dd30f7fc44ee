"""Queries: forms, datasets, bindings, formats, bounds, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
import rdflib

from tests.support.sparql import NOW, index_of
from treadle.errors import SparqlError, SparqlLimit, SparqlSyntax, TreadleError
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.evaluation import Evaluator
from treadle.graph.query import GRAPH_FORMATS, RESULT_FORMATS, UNION, Query, Rows, Triples
from treadle.graph.terms import IRI, XSD_DATETIME, XSD_INTEGER, BlankNode, Literal, Quad

E = "http://example.org/"
A, B, C, P, Q, G, H = (IRI(E + name) for name in "abcpqgh")
PREFIX = f"PREFIX : <{E}>\n"
ONE = Literal("1", XSD_INTEGER)


@pytest.fixture(scope="module")
def index() -> Index:
    return index_of(
        [
            Quad(A, P, B),
            Quad(A, Q, Literal("x", language="en")),
            Quad(B, P, BlankNode("n")),
            Quad(A, P, ONE, G),
            Quad(C, P, Literal('quote " é😀'), H),
        ]
    )


def query(text: str, **options: object) -> Query:
    return Query.read(PREFIX + text, now=NOW, **options)  # type: ignore[arg-type]


def rows(index: Index, text: str, **options: object) -> list[dict[str, object]]:
    answer = query(text, **options).run(index)
    assert isinstance(answer, Rows)
    return [dict(row) for row in answer]


def test_forms(index: Index) -> None:
    assert rows(index, "SELECT ?o { :a :p ?o }") == [{"o": B}]
    assert query("ASK { :a :p :b }").run(index) is True
    assert query("ASK { :a :p :c }").run(index) is False
    built = query("CONSTRUCT { ?o ?p ?s . ?s :q 1 } WHERE { ?s ?p ?o . FILTER(isIRI(?o)) }").run(index)
    assert isinstance(built, Triples) and set(built) == {Quad(B, P, A), Quad(A, Q, ONE)}
    assert set(query("DESCRIBE :b").run(index)) == {Quad(B, P, BlankNode("n"))}  # type: ignore[arg-type]
    assert [query(text).form for text in ("SELECT * {}", "ASK {}", "CONSTRUCT WHERE {}", "DESCRIBE :a")] == [
        "select",
        "ask",
        "construct",
        "describe",
    ]


def test_rows_are_a_sequence_of_mappings(index: Index) -> None:
    answer = query("SELECT ?s ?nothing ?o { ?s :p ?o } ORDER BY ?s").run(index)
    assert isinstance(answer, Rows)
    assert answer.variables == ("s", "nothing", "o") and len(answer) == 2
    assert answer[0] == {"s": A, "o": B} and answer[-1]["s"] == B
    assert list(answer[1:]) == [answer[1]] and next(answer.tuples()) == (A, None, B)
    assert repr(answer) == "Rows(2 of ?s, ?nothing, ?o)"


def test_answers_are_in_canonical_spelling(index: Index) -> None:
    assert rows(index, "SELECT ?x { VALUES ?x { 01 1.50 } }") == [
        {"x": ONE},
        {"x": Literal("1.5", "http://www.w3.org/2001/XMLSchema#decimal")},
    ]
    assert rows(index, "SELECT (NOW() AS ?now) { }") == [
        {"now": Literal("2025-11-30T21:00:00.123456Z", XSD_DATETIME)}
    ]


ALL = "SELECT ?s { ?s ?p ?o }"
NAMED = "SELECT ?g { GRAPH ?g { ?s ?p ?o } }"


def test_datasets(index: Index) -> None:
    assert len(rows(index, ALL)) == 3, "the default graph is the unnamed graph alone"
    assert {row["g"] for row in rows(index, NAMED)} == {G, H}
    assert rows(index, "SELECT ?s FROM :h { ?s ?p ?o }") == [{"s": C}]
    assert rows(index, "SELECT ?g FROM :g FROM NAMED :h { GRAPH ?g { ?s ?p ?o } }") == [{"g": H}]
    assert rows(index, ALL, default_graphs=[H.value]) == [{"s": C}]
    assert len(rows(index, ALL, default_graphs=[G.value, H.value])) == 2
    assert rows(index, NAMED, default_graphs=[H.value]) == []
    assert (
        rows(index, NAMED, named_graphs=[H.value]) == [{"g": H}]
        and rows(index, ALL, named_graphs=[H.value]) == []
    )
    assert rows(index, ALL, default_graphs=[E + "nothing"]) == []
    assert len(rows(index, ALL, default_graphs=[UNION])) == 5
    assert {row["g"] for row in rows(index, NAMED, default_graphs=[UNION])} == {G, H}
    assert {row["g"] for row in rows(index, NAMED, default_graphs=[UNION], named_graphs=[G.value])} == {G}
    with pytest.raises(ValueError, match="stands alone"):
        query(ALL, default_graphs=[UNION, G.value])
    with pytest.raises(ValueError):
        query(ALL, default_graphs=["not an IRI"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s FROM :g { ?s ?p ?o }",
        "SELECT ?s FROM NAMED :g WHERE { ?s ?p ?o }",
        "SELECT ?s FROM :a FROM NAMED <urn:b> { ?s ?p ?o }",
        "SELECT (?x AS ?s) FROM :g { ?x ?p ?o }",
    ],
)
def test_a_dataset_beside_the_text_is_the_one_that_counts(index: Index, text: str) -> None:
    assert rows(index, text, default_graphs=[H.value]) == [{"s": C}]


def test_bindings(index: Index) -> None:
    hostile = Literal('x" } ; DROP ALL #', language="en")
    assert rows(index, "SELECT ?o { ?s :p ?o }", bindings={"s": A}) == [{"o": B}]
    assert rows(index, "SELECT ?s ?o { ?s :p ?o }", bindings={"s": A}) == [{"s": A, "o": B}]
    assert rows(
        index, "SELECT DISTINCT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s", bindings={"s": A}
    ) == [{"s": A, "n": Literal("2", XSD_INTEGER)}]
    assert rows(
        index, "SELECT ?o { ?s ?p ?o } ORDER BY STR(?s) ?s DESC(?s) ?o LIMIT 1", bindings={"s": B}
    ) == [{"o": BlankNode("n")}]
    assert rows(index, "SELECT ?s { ?s ?p ?o }", bindings={"o": hostile}) == []
    assert rows(index, "SELECT ?o (BOUND ( ?o ) AS ?b) { }", bindings={"o": hostile})[0]["o"] == hostile
    assert rows(index, "SELECT ?o { GRAPH ?g { ?s ?p ?o } }", bindings={"g": H}) == [
        {"o": Literal('quote " é😀')}
    ]
    assert query("ASK { ?s ?p ?o FILTER(?o = ?x) }", bindings={"x": B}).run(index) is True
    described = query("DESCRIBE ?x", bindings={"x": B}).run(index)
    assert isinstance(described, Triples) and len(described) == 1
    built = query("CONSTRUCT { ?x :p ?o } { :a :p ?o }", bindings={"x": C}).run(index)
    assert isinstance(built, Triples) and list(built) == [Quad(C, P, B)]


def test_a_blank_node_as_a_binding(index: Index) -> None:
    node = {"n": BlankNode("n")}
    assert rows(index, "SELECT ?n ?s { ?s :p ?n }", bindings=node) == [{"n": BlankNode("n"), "s": B}]
    assert query("ASK { ?s :p ?n }", bindings=node).run(index) is True
    assert query("ASK { ?s :p ?n }", bindings={"n": BlankNode("other")}).run(index) is False
    with pytest.raises(SparqlError, match="must be named in SELECT"):
        query("SELECT ?s { ?s :p ?n }", bindings=node).run(index)


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("SELECT * {\n ?s ?p ?o", 2, "'{' is never closed"),
        ("SELECT * { ?s ?p ?o }\n }", 3, "closes nothing"),
        ("DELETE WHERE { }", 2, "expected SELECT or ASK or CONSTRUCT or DESCRIBE"),
        ("SELECT * {\n ?s ?p x:y }", 3, "prefix 'x:' is not declared"),
        ("SELECT * {\n ?s ?p ?o ;\n ?q }", 4, "'}' cannot stand here"),
        ("SELECT ?a ?a { }", 2, "Duplicated variable"),
        ("SELECT *\n{ ?s ?p ?o } LIMIT x:y", 3, "not declared"),
        ("SELECT *\n{ ?s ?p ?o } LIMIT ten", 3, "no SPARQL 1.1 keyword"),
        ("SELECT\n(:f(1) AS ?x) { }", 3, "there is no function <http://example.org/f>"),
        ("SELECT * {\n BIND(:f(1) AS ?x) }", 3, "there is no function"),
        ("SELECT (COUNT(*) AS ?n) ?s\n{ ?s ?p ?o }", 3, "unbound"),
        ("SELECT * { ?s ?p <<( ?a ?b ?c )>> }", 2, "at line"),
        ("SELECT * { ?s ?p ?o {| ?q ?r |} }", 2, "cannot stand here"),
        ("SELECT (TRIPLE(?a, ?b, ?c) AS ?t) { }", 2, "'TRIPLE' is no SPARQL 1.1 keyword"),
        ("", 2, "expected SELECT"),
    ],
)
def test_errors(index: Index, text: str, line: int, message: str) -> None:
    with pytest.raises(SparqlSyntax, match=message) as refused:
        query(text).run(index)
    assert refused.value.line == line and refused.value.column


@pytest.mark.parametrize("format", RESULT_FORMATS)
def test_solutions_in_every_format(index: Index, format: str) -> None:
    text = "SELECT ?s ?o { ?s :p ?o } ORDER BY ?s"
    written = query(text).serialized(index, format)
    read: Any = rdflib.query.Result.parse(__import__("io").BytesIO(written), format=format)
    assert [str(name) for name in read.vars] == ["s", "o"]
    assert [str(row[0]) for row in read] == [A.value, B.value]
    if format in ("json", "xml"):
        assert f"{query('ASK { :a :p :b }').serialized(index, format)!r}".count("true") == 1


def test_rows_as_json_are_those_of_the_store(index: Index) -> None:
    text = "SELECT ?s ?o ?x { GRAPH ?g { ?s ?p ?o } OPTIONAL { ?s :q ?x } } ORDER BY ?s"
    answer = query(text).run(index)
    assert isinstance(answer, Rows)
    assert json.loads(answer.to_json()) == json.loads(query(text).serialized(index, "json"))
    text = "SELECT * { :a :q ?o . :b :p ?n }"
    answer = query(text).run(index)
    assert isinstance(answer, Rows)
    assert json.loads(answer.to_json()) == json.loads(query(text).serialized(index, "json"))


@pytest.mark.parametrize("format", GRAPH_FORMATS)
def test_statements_in_every_format(index: Index, format: str) -> None:
    text = "CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } }"
    written = query(text).serialized(index, format)
    names = {"turtle": "turtle", "ntriples": "nt", "jsonld": "json-ld"}
    read = rdflib.Graph().parse(data=written, format=names[format])
    assert len(read) == 2 and (C.to_rdflib(), P.to_rdflib(), rdflib.Literal('quote " é😀')) in read
    answer = query(text).run(index)
    assert isinstance(answer, Triples)
    again = rdflib.Graph().parse(data=answer.serialize(format), format=names[format])
    assert set(again) == set(read)


def test_what_xml_cannot_write(index: Index) -> None:
    text = "SELECT ?x { VALUES ?x { 'a\\u0001' } }"
    with pytest.raises(SparqlError, match="ask for JSON"):
        query(text).serialized(index, "xml")
    assert (
        json.loads(query(text).serialized(index, "json"))["results"]["bindings"][0]["x"]["value"] == "a\x01"
    )


def test_a_format_of_the_other_kind(index: Index) -> None:
    with pytest.raises(ValueError, match="no format 'turtle' for this answer; there are json"):
        query(ALL).serialized(index, "turtle")
    with pytest.raises(ValueError, match="no format 'json'"):
        query("DESCRIBE :a").serialized(index, "json")
    with pytest.raises(ValueError, match="there are turtle, ntriples, jsonld"):
        Triples([]).serialize("rdfxml")


def test_bounds_on_answers(index: Index) -> None:
    with pytest.raises(SparqlLimit, match="more than 2 rows"):
        query(ALL).run(index, most=2)
    assert len(query(ALL).run(index, most=3)) == 3  # type: ignore[arg-type]
    with pytest.raises(SparqlLimit, match="more than 50 bytes"):
        query(ALL).serialized(index, "json", most=50)


def test_what_nobody_waits_for_ends(index: Index) -> None:
    for work in (
        lambda: query(ALL).run(index, stopped=lambda: True),
        lambda: query(ALL).serialized(index, "json", stopped=lambda: True),
    ):
        with pytest.raises(TreadleError) as ended:
            work()
        assert ended.value.code == "deadline"


def test_failures_leave_nothing_that_only_its_thread_may_drop(index: Index) -> None:
    """The store complains, as an unraisable exception, when an answer is dropped on another thread."""
    evaluator = Evaluator()
    for work in (
        lambda stopped: query(ALL).run(index, most=1),
        lambda stopped: query(ALL).serialized(index, "json", most=1),
        lambda stopped: query("SELECT (:f(?s) AS ?x) { ?s ?p ?o }").run(index),
    ):
        with pytest.raises(SparqlError):
            evaluator.run(work)


def test_an_answer_is_that_of_one_state() -> None:
    index = index_of([Quad(A, P, Literal(str(at))) for at in range(1_000)])
    seen = 0

    def change() -> bool:
        nonlocal seen
        seen += 1
        if seen == 10:
            index.apply(Delta.of(removed=[*index.quads()]))
        return False

    answer = query(ALL).run(index, stopped=change)
    assert isinstance(answer, Rows) and len(answer) == 1_000 and len(index) == 0
