"""What updates come to: effects, counts, odd spellings, datasets, bindings, errors; on both paths."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.sparql import NOW, canonical_state, copy_of, index_of
from treadle.errors import SparqlError, SparqlLimit, SparqlSyntax
from treadle.graph.dataset import Index
from treadle.graph.delta import GraphCount, Respelled
from treadle.graph.sparql.update import UpdateResult, compute_delta
from treadle.graph.terms import IRI, XSD_DATETIME, XSD_INTEGER, BlankNode, Literal, Quad

E = "http://example.org/"
A, B, C, P, Q, G, H = (IRI(E + name) for name in "abcpqgh")
PREFIX = f"PREFIX : <{E}>\n"
PATHS = ["direct", "sequence"]


def compute(index: Index, text: str, **options: object) -> UpdateResult:
    return compute_delta(index, PREFIX + text, now=NOW, labels="t", **options)  # type: ignore[arg-type]


def effect(index: Index, text: str, **options: object) -> tuple[list[str], list[str]]:
    """The lines removed and added."""
    delta = compute(index, text, **options).delta
    prefix = E
    return tuple([quad.n3().replace(prefix, "") for quad in quads] for quads in (delta.removed, delta.added))  # type: ignore[return-value]


@pytest.fixture
def index() -> Index:
    return index_of([Quad(A, P, B), Quad(B, P, C), Quad(A, Q, Literal("x")), Quad(A, P, C, G)], graphs=[H])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "text, removed, added",
    [
        ("INSERT DATA { :a :p :b }", [], []),
        ("INSERT DATA { :a :p :a , :b ; :q 1 }", [], ["<a> <p> <a> .", f'<a> <q> "1"^^<{XSD_INTEGER}> .']),
        ("INSERT DATA { GRAPH :h { :a :p :b } :a :p :d . }", [], ["<a> <p> <d> .", "<a> <p> <b> <h> ."]),
        ("DELETE DATA { :a :p :b . :a :p :nothing }", ["<a> <p> <b> ."], []),
        ("DELETE WHERE { :a ?p ?o }", ["<a> <p> <b> .", '<a> <q> "x" .'], []),
        ("DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", ["<a> <p> <c> <g> ."], []),
        ("DELETE { ?s :p ?o } INSERT { ?o :p ?s } WHERE { ?s :p ?o }",
         ["<a> <p> <b> .", "<b> <p> <c> ."], ["<b> <p> <a> .", "<c> <p> <b> ."]),
        ("DELETE { ?s ?p ?o } INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }", [], []),
        ("INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }", [], ["<b> <p> <a> .", "<c> <p> <b> ."]),
        ("INSERT { ?s :q ?nothing . ?s :q :d } WHERE { ?s :p :b }", [], ["<a> <q> <d> ."]),
        ("INSERT { ?s ?o :d } WHERE { ?s :q ?o }", [], []),
        ("INSERT { GRAPH ?o { :a :p :d } } WHERE { ?s :q ?o }", [], []),
        ("INSERT { GRAPH ?b { :a :p :d } } WHERE { BIND(BNODE() AS ?b) }", [], []),
        ("INSERT { :a :p :d } WHERE { ?s :q 'nothing' }", [], []),
        ("INSERT { ( 1 ) :p :d } WHERE { ?s :q 'nothing' }", [], []),
        ("WITH :g DELETE { ?s ?p ?o } INSERT { ?s ?p :d . GRAPH :h { ?s ?p ?o } } WHERE { ?s ?p ?o }",
         ["<a> <p> <c> <g> ."], ["<a> <p> <d> <g> .", "<a> <p> <c> <h> ."]),
        ("INSERT { ?s :q ?o } USING :g WHERE { ?s ?p ?o }", [], ["<a> <q> <c> ."]),
        ("INSERT { ?s :q ?o } USING NAMED :g WHERE { ?s ?p ?o }", [], []),
        ("INSERT { ?s :q ?g } USING NAMED :g WHERE { GRAPH ?g { ?s ?p ?o } }", [], ["<a> <q> <g> ."]),
        ("INSERT { ?s :q ?g } USING :g WHERE { GRAPH ?g { ?s ?p ?o } }", [], []),
        ("WITH :h INSERT { ?s :q ?o } USING :g WHERE { ?s ?p ?o }", [], ["<a> <q> <c> <h> ."]),
        ("CLEAR DEFAULT", ["<a> <p> <b> .", '<a> <q> "x" .', "<b> <p> <c> ."], []),
        ("COPY :g TO :h", [], ["<a> <p> <c> <h> ."]),
        ("COPY :h TO :g", ["<a> <p> <c> <g> ."], []),
        ("MOVE :g TO DEFAULT", ["<a> <p> <b> .", '<a> <q> "x" .', "<b> <p> <c> .", "<a> <p> <c> <g> ."],
         ["<a> <p> <c> ."]),
        ("ADD :g TO DEFAULT", [], ["<a> <p> <c> ."]),
        ("COPY :g TO :g", [], []),
        ("LOAD SILENT <x:y>", [], []),
        ("INSERT DATA { :a :p 'é\\n😀' , \"\"\"q\"\"\"@EN }", [], ['<a> <p> "q"@en .', '<a> <p> "é\\n😀" .']),
    ],
)  # fmt: skip
def test_effects(index: Index, path: str, text: str, removed: list[str], added: list[str]) -> None:
    assert effect(index, text, path=path) == (removed, added)


@pytest.mark.parametrize("path", PATHS)
def test_blank_nodes_of_a_template_are_new_for_each_solution(index: Index, path: str) -> None:
    delta = compute(index, "INSERT { ?s :q _:x . _:x :q _:x , [] } WHERE { ?s :p ?o }", path=path).delta
    assert len(delta.added) == 6
    made = {quad.s for quad in delta.added if quad.p == Q and isinstance(quad.s, BlankNode)}
    assert len(made) == 2
    assert (
        len({node for quad in delta.added for node in (quad.s, quad.o) if isinstance(node, BlankNode)}) == 4
    )
    counted = compute(index, "INSERT { [] :q 1 } WHERE { ?s :p ?o . ?x :p ?y }", path=path).delta
    assert len(counted.added) == 4, "a solution counts even where the template has no variable"


@pytest.mark.parametrize("path", PATHS)
def test_blank_nodes_of_the_data_are_kept(path: str) -> None:
    index = index_of([Quad(BlankNode("b"), P, BlankNode("c"), G)])
    delta = compute(
        index,
        "DELETE { GRAPH :g { ?s ?p ?o } } INSERT { ?o :q ?s } WHERE { GRAPH :g { ?s ?p ?o } }",
        path=path,
    ).delta
    assert delta.removed == (Quad(BlankNode("b"), P, BlankNode("c"), G),)
    assert delta.added == (Quad(BlankNode("c"), Q, BlankNode("b")),)
    index.apply(delta)
    assert [str(quad) for quad in index.store] == [f"_:c <{E}q> _:b"]


def test_labels_begin_with_the_prefix_and_differ(index: Index) -> None:
    delta = compute(index, "INSERT DATA { _:a :p _:b } ; INSERT { _:a :p [] } WHERE { ?s :p ?o }").delta
    labels = {node.value for quad in delta.added for node in (quad.s, quad.o) if isinstance(node, BlankNode)}
    assert len(labels) == 2 + 2 * 3 and all(label.startswith("t-") for label in labels)


def test_a_later_operation_sees_an_earlier_one(index: Index) -> None:
    text = """
    INSERT DATA { GRAPH :n { :a :q [ :q :c ] } } ;
    COPY :n TO :m ;
    INSERT { ?s :reached ?o } WHERE { GRAPH :m { ?s :q/:q ?o } } ;
    DELETE { ?s ?p ?o } WHERE { ?s :reached ?x . ?s ?p ?o FILTER(?p != :reached) } ;
    DROP GRAPH :n ; DROP GRAPH :m ; CREATE GRAPH :k
    """
    result = compute(index, text)
    assert result.path == "sequence"
    assert effect(index, text) == (["<a> <p> <b> .", '<a> <q> "x" .'], ["<a> <reached> <c> ."])
    assert result.delta.graphs_created == (IRI(E + "k"),) and result.delta.graphs_dropped == ()
    assert result.touched > result.asserted + result.retracted


@pytest.mark.parametrize("path", PATHS)
def test_graphs_come_and_go(index: Index, path: str) -> None:
    def graphs(text: str) -> tuple[tuple[IRI, ...], tuple[IRI, ...]]:
        delta = compute(index, text, path=path).delta
        return delta.graphs_created, delta.graphs_dropped

    new = IRI(E + "n")
    assert graphs("INSERT DATA { GRAPH :n { :a :p :b } }") == ((new,), ())
    assert graphs("INSERT { GRAPH :n { ?s :p :b } } WHERE { ?s :p 'nothing' }") == ((), ())
    assert graphs("DELETE WHERE { GRAPH :g { ?s ?p ?o } }") == ((), ()), "an emptied graph stays"
    assert graphs("CLEAR ALL") == ((), ())
    assert graphs("DROP ALL") == ((), (G, H))
    assert graphs("DROP NAMED") == ((), (G, H))
    assert graphs("DROP SILENT GRAPH :nothing") == ((), ())
    assert graphs("CREATE GRAPH :n") == ((new,), ()) and graphs("CREATE SILENT GRAPH :g") == ((), ())
    assert graphs("MOVE :g TO :n") == ((new,), (G,))
    assert graphs("CREATE GRAPH :n ; DROP GRAPH :n") == ((), ())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "text, message",
    [
        ("\nCLEAR GRAPH :n", "does not exist; write CLEAR SILENT"),
        ("\nDROP GRAPH :n", "does not exist; write DROP SILENT"),
        ("\nCREATE GRAPH :g", "exists already; write CREATE SILENT"),
        ("\nMOVE :n TO :g", "does not exist; write MOVE SILENT"),
        ("\nINSERT DATA { ?s :p :b }", "INSERT DATA holds no variables"),
        ("\nDELETE DATA { :s :p ?o }", "DELETE DATA holds no variables"),
        ("\nDELETE DATA { :s :p _:o }", "a blank node cannot stand in what is deleted"),
        ("\nDELETE DATA { :s :p [] }", "a blank node cannot stand in what is deleted"),
        ("\nDELETE { ?s :p [] } WHERE { ?s ?p ?o }", "a blank node cannot stand in what is deleted"),
        ("\nDELETE WHERE { ?s :p _:b }", "a blank node cannot stand in what is deleted"),
        ("\nINSERT { :a :p/:q :b } WHERE { }", "'/' cannot stand in a template"),
        ("\nINSERT { :a :p :b FILTER(1) } WHERE { }", "FILTER cannot stand in a template"),
        ("\nINSERT { { :a :p :b } } WHERE { }", "'{' cannot stand in a template"),
        ("\nINSERT { :a :p } WHERE { }", "the statement ends too early"),
        ("\nINSERT { 'a' :p 1 } WHERE { }", "not a valid subject"),
        ("\nINSERT { :a @en :b } WHERE { }", "a language tag must follow a string"),
        ("\nINSERT { GRAPH :g :a :p :b } WHERE { }", "expected GRAPH, a name and '{'"),
        ("\nINSERT { GRAPH 'g' { :a :p :b } } WHERE { }", "expected an IRI or a variable after GRAPH"),
        ("\nINSERT { :a :p 'x'@a } WHERE { }", "language subtag is invalid"),
        ("\nINSERT { } WHERE { ?s ?p }", "cannot stand here"),
        ("\nINSERT { } WHERE { ?s ?p ?o . FILTER }", "cannot stand here"),
        (
            "\nINSERT { ?s ?p ?x } WHERE { ?s ?p ?o BIND(:f(1) AS ?x) }",
            "there is no function <http://example.org/f>",
        ),
        ("\nDELETE WHERE { ?s ?p ?o FILTER(1) }", "FILTER cannot stand in a template"),
    ],
)
def test_errors_say_where(index: Index, path: str, text: str, message: str) -> None:
    before = canonical_state(index.store)
    with pytest.raises(SparqlSyntax, match=message) as refused:
        compute(index, text, path=path)
    assert refused.value.line == 3, "the line of the caller's text"
    assert refused.value.column is not None
    assert canonical_state(index.store) == before


@pytest.mark.parametrize("path", PATHS)
def test_columns_count_code_points_of_the_callers_text(index: Index, path: str) -> None:
    text = "INSERT { :a :p 'é😀' ; :q\t) } WHERE { }"
    with pytest.raises(SparqlSyntax) as refused:
        compute(index, text, path=path)
    assert (refused.value.line, refused.value.column) == (2, text.index(")") + 1)
    text = "INSERT { } WHERE { ?é :p 'é😀' . # comment ( \n  ?x ?y :z :z :z }"
    with pytest.raises(SparqlSyntax, match="':z'") as refused:
        compute(index, text, path=path)
    assert refused.value.line == 3


@pytest.mark.parametrize("path", PATHS)
def test_now_is_the_sealed_time(index: Index, path: Any) -> None:
    text = "INSERT { :a :p ?now } WHERE { BIND(NOW ( # \n ) AS ?now) FILTER(NOW() = NOW()) }"
    [quad] = compute(index, text, path=path).delta.added
    assert quad.o == Literal("2025-11-30T21:00:00.123456Z", XSD_DATETIME)
    delta = compute_delta(index, PREFIX + text, now=0, labels="t", path=path).delta
    assert delta.added[0].o == Literal("1970-01-01T00:00:00Z", XSD_DATETIME)


@pytest.mark.parametrize("path", PATHS)
def test_odd_spellings_are_reported_and_kept_canonically(path: str) -> None:
    stored = Quad(A, P, Literal("1", XSD_INTEGER))
    index = index_of([stored])
    written = stored._replace(o=Literal("01", XSD_INTEGER))
    for text, operation in (("INSERT DATA { :a :p 01 }", "insert"), ("DELETE DATA { :a :p 01 }", "delete")):
        delta = compute(index, text, path=path).delta
        assert delta.respelled == (Respelled(operation, written, stored),)  # type: ignore[arg-type]
        assert bool(delta) is (operation == "delete")
    delta = compute(
        index, "INSERT { ?s :q '2'^^<http://www.w3.org/2001/XMLSchema#int> } WHERE { ?s :p 001 }", path=path
    ).delta
    assert delta.added == (Quad(A, Q, Literal("2", XSD_INTEGER)),)
    assert [each.written.o.n3() for each in delta.respelled] == [
        '"2"^^<http://www.w3.org/2001/XMLSchema#int>'
    ]
    assert compute(index, "INSERT DATA { :a :p 1 , 'x'@EN }", path=path).delta.respelled == ()


@pytest.mark.parametrize("path", PATHS)
def test_counts(index: Index, path: str) -> None:
    result = compute(
        index, "DELETE { ?s :p ?o } INSERT { GRAPH :g { ?s :p ?o } } WHERE { ?s :p ?o }", path=path
    )
    assert (result.asserted, result.retracted) == (2, 2)
    assert result.graphs == (GraphCount(None, 0, 2), GraphCount(G, 2, 0))
    again = compute(index, "INSERT DATA { :a :p :b }", path=path)
    assert (again.asserted, again.retracted, again.graphs) == (0, 0, ())


@pytest.mark.parametrize("path", PATHS)
def test_bindings_put_terms_never_text(index: Index, path: str) -> None:
    text = "DELETE { ?s :q ?old } INSERT { ?s :q ?new ; :q ?new } WHERE { ?s :q ?old FILTER(BOUND(?new)) }"
    hostile = Literal('x" } ; DROP ALL ; INSERT DATA { <a:a> <a:a> "')
    delta = compute(index, text, path=path, bindings={"s": A, "new": hostile}).delta
    assert delta.removed == (Quad(A, Q, Literal("x")),)
    assert delta.added == (Quad(A, Q, hostile),)
    graph = compute(
        index, "INSERT { GRAPH ?g { ?s :q 1 } } WHERE { GRAPH ?g { ?s ?p ?o } }", path=path, bindings={"g": G}
    )
    assert [quad.g for quad in graph.delta.added] == [G]
    data = compute(
        index, "INSERT DATA { ?s :q ?b }", path=path, bindings={"s": B, "b": BlankNode("b7")}
    ).delta
    assert data.added == (Quad(B, Q, BlankNode("b7")),), "a node of the dataset, not a new one"


def test_a_blank_node_may_be_bound_in_a_pattern_of_one_operation() -> None:
    index = index_of([Quad(BlankNode("b"), P, A), Quad(BlankNode("c"), P, B)])
    text = "DELETE { ?n :p ?o } INSERT { ?n :q ?o } WHERE { ?n :p ?o }"
    delta = compute(index, text, bindings={"n": BlankNode("b")}).delta
    assert delta.removed == (Quad(BlankNode("b"), P, A),) and delta.added == (Quad(BlankNode("b"), Q, A),)
    with pytest.raises(SparqlSyntax, match="send the operation alone"):
        compute(index, text, bindings={"n": BlankNode("b")}, path="sequence")


@pytest.mark.parametrize(
    "text, bindings, message",
    [
        ("INSERT { } WHERE { BIND(1 AS ?x) }", {"x": A}, "cannot be assigned here"),
        ("INSERT { } WHERE { VALUES ?x { 1 } }", {"x": A}, "cannot be assigned here"),
        ("INSERT { } WHERE { VALUES ( ?y ?x ) { (1 2) } }", {"x": A}, "cannot be a VALUES column"),
        ("INSERT { GRAPH ?x { :a :p 1 } } WHERE { }", {"x": Literal("g")}, "names no graph"),
    ],
)
def test_where_a_bound_variable_cannot_stand(
    index: Index, text: str, bindings: dict[str, object], message: str
) -> None:
    with pytest.raises(SparqlSyntax, match=message):
        compute(index, text, bindings=bindings)


@pytest.mark.parametrize("bindings", [{"?x": A}, {"x": "text"}, {"x": None}, {"": A}, {"x": IRI("a:%zz")}])
def test_unfit_bindings(index: Index, bindings: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        compute(index, "INSERT DATA { }", bindings=bindings)


@pytest.mark.parametrize("path", PATHS)
def test_the_protocols_dataset(index: Index, path: str) -> None:
    text = "INSERT { ?s :seen ?o } WHERE { ?s ?p ?o }"
    assert effect(index, text, path=path, using=(G.value,)) == ([], ["<a> <seen> <c> ."])
    assert effect(index, text, path=path, using_named=(G.value,)) == ([], [])
    named = "INSERT { ?s :seen ?g } WHERE { GRAPH ?g { ?s ?p ?o } }"
    assert effect(index, named, path=path, using_named=(G.value,)) == ([], ["<a> <seen> <g> ."])
    assert effect(index, "DELETE WHERE { ?s ?p ?o }", path=path, using=(H.value,)) == ([], [])
    for clause in (
        "WITH :g INSERT { } WHERE { }",
        "INSERT { } USING :g WHERE { }",
        "INSERT { } USING NAMED :g WHERE { }",
    ):
        with pytest.raises(SparqlSyntax, match="cannot stand beside using-graph-uri"):
            compute(index, clause, path=path, using=(G.value,))


@pytest.mark.parametrize("path", PATHS)
def test_one_request_touches_so_many_statements(path: str) -> None:
    index = index_of([Quad(A, P, Literal(str(number)), G) for number in range(50)])
    before = canonical_state(index.store)
    for text in (
        "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
        "INSERT { ?s :q ?o } WHERE { GRAPH ?g { ?s ?p ?o } }",
        "DROP ALL",
        "CLEAR GRAPH :g",
        "COPY :g TO DEFAULT",
        "INSERT DATA { " + " . ".join(f":a :q {number}" for number in range(41)) + " }",
    ):
        with pytest.raises(SparqlLimit, match="update_full_copy_max_facts"):
            compute(index, text, path=path, most=40)
        compute(index, text, path=path, most=100)
    assert canonical_state(index.store) == before


def test_a_direct_path_that_does_not_apply(index: Index) -> None:
    with pytest.raises(ValueError, match="sees what an earlier operation changed"):
        compute(index, "CLEAR ALL ; DELETE WHERE { ?s ?p ?o }", path="direct")
    assert compute(index, "DELETE WHERE { ?s ?p ?o } ; CLEAR ALL").path == "direct"


@pytest.mark.parametrize("path", PATHS)
def test_an_evaluation_that_nobody_waits_for_ends(path: str) -> None:
    index = index_of([Quad(IRI(f"{E}{number}"), P, A) for number in range(300)])
    with pytest.raises(SparqlError) as ended:
        compute(index, "INSERT { ?s :q ?t } WHERE { ?s ?p ?o . ?t ?p ?o }", path=path, stopped=lambda: True)
    assert ended.value.code == "deadline"


def test_readers_see_nothing_of_a_computation(index: Index) -> None:
    """A reader that looks all the time sees one state only."""
    expected, seen, ended = canonical_state(index.store), set(), threading.Event()

    def read() -> None:
        while not ended.is_set():
            seen.add(len(list(index.store.quads_for_pattern(None, None, None))))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(100):
        compute(index, "DELETE WHERE { ?s ?p ?o } ; INSERT { :x :y ?z } WHERE { VALUES ?z { 1 2 3 4 5 } }")
    ended.set()
    reader.join()
    assert seen == {4} and canonical_state(index.store) == expected and index.dead == 0


def test_our_own_names_cannot_be_met(index: Index) -> None:
    """Placeholders and functions of ours have names that no text can hold, so these are plain IRIs."""
    text = "INSERT { ?s <urn:x-treadle:v:s> 1 } WHERE { ?s :p ?o FILTER(<urn:x-treadle:report>(0)) }"
    with pytest.raises(SparqlSyntax, match="there is no function"):
        compute(index, text, path="sequence")
    with pytest.raises(SparqlSyntax, match="there is no function"):
        compute(index, text, path="direct")
    delta = compute(
        index, "INSERT { ?nothing ?v ?s . ?s ?p :d } WHERE { ?s ?p :b BIND(:b AS ?nothing) BIND(:q AS ?v) }"
    ).delta
    assert len(delta.added) == 2


@pytest.mark.parametrize(
    "text",
    [
        "DELETE { ?x ?row ?g } INSERT { GRAPH ?g { ?x ?x0 ?xn0 } } WHERE { GRAPH ?g { ?x ?row ?xrow } }",
        "INSERT { GRAPH ?g { ?xs ?xp [] } } WHERE { GRAPH ?g { ?xs ?xp ?xo1 } }",
    ],
)
def test_names_of_variables_do_not_meet_ours(index: Index, text: str) -> None:
    native = copy_of(index)
    native.update(text)
    index.apply(compute(index, text, path="sequence").delta)
    assert canonical_state(index.store) == canonical_state(native)
