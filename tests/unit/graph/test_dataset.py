"""The index: build, look-ups, deltas at once, counts, and when a new one is due."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given

from tests.support.sparql import canonical_state, index_of
from tests.support.updates import quads
from treadle.errors import InvariantBroken
from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.terms import IRI, BlankNode, Literal, Quad, sorted_quads
from treadle.graph.view import ANY

E = "http://example.org/"
A, B, P, Q, G, H = (IRI(E + name) for name in "abpqgh")
NODE = BlankNode("n")
DATA = [
    Quad(A, P, B),
    Quad(A, P, B, G),
    Quad(A, Q, Literal('x"\n'), G),
    Quad(NODE, P, NODE, G),
    Quad(NODE, P, A),
]


@given(quads())
def test_what_is_built_is_what_was_given(statements: list[Quad]) -> None:
    index = index_of(statements, graphs=[H])
    assert sorted_quads(index.quads()) == sorted_quads(statements)
    assert len(index) == len(statements) and index.dead == 0
    assert {graph: index.size(graph) for graph in (None, G, H)} == {
        graph: sum(quad.g == graph for quad in statements) for graph in (None, G, H)
    }
    assert set(index.named_graphs()) == {quad.g for quad in statements if quad.g} | {H}


def test_building_reports_progress_and_keeps_labels() -> None:
    seen: list[int] = []
    lines = (Quad(BlankNode(f"b{at}"), P, Literal(str(at))).n3() for at in range(100_001))
    index = Index.build(lines, commit=7, progress=seen.append)
    assert (seen, len(index), index.commit) == ([100_000, 100_001], 100_001, 7)
    assert index.exists(Quad(BlankNode("b100000"), P, Literal("100000")))


def test_look_ups() -> None:
    index = index_of(DATA)
    assert index.exists(DATA[1]) and not index.exists(Quad(B, P, B))
    assert set(index.facts(A, G)) == {(P, B), (Q, Literal('x"\n'))}
    assert index.objects(A, P, None) == [B] and index.objects(A, Q, None) == []
    assert set(index.subjects(P, B, ANY)) == {(A, None), (A, G)}
    assert index.subjects(P, B, G) == [(A, G)] and index.subjects(P, NODE, None) == []
    assert set(index.graphs(A)) == {None, G} and index.graphs(B) == []
    assert set(index.scan(Q)) == {DATA[2]}
    assert set(index.quads(graph=None)) == {DATA[0], DATA[4]}
    assert index.has_graph(G) and not index.has_graph(H)


@given(quads(), quads())
def test_a_delta_gives_the_new_state(before: list[Quad], after: list[Quad]) -> None:
    index = index_of(before)
    old, new = set(before), set(after)
    index.apply(Delta.of(old - new, new - old), commit=1)
    assert sorted_quads(index.quads()) == sorted_quads(new)
    assert len(index) == len(new) and index.dead == len(old - new) and index.commit == 1
    assert all(index.size(graph) == sum(quad.g == graph for quad in new) for graph in (None, G, H))


def test_graphs_of_a_delta() -> None:
    index = index_of([Quad(A, P, A, G)])
    index.apply(Delta.of(graphs_created=[H]))
    assert index.named_graphs() == [G, H]
    index.apply(Delta.of([Quad(A, P, A, G)], graphs_dropped=[G, H]))
    assert index.named_graphs() == [] and len(index) == 0
    index.apply(Delta.of(added=[Quad(A, P, A, G)]))
    index.apply(Delta.of([Quad(A, P, A, G)]))
    assert index.named_graphs() == [G], "an emptied graph stays until it is dropped"


def test_terms_that_only_escapes_can_write() -> None:
    odd = "".join(map(chr, range(1, 0x20))) + "\x7f\\\"' \u2028😀"
    statements = [
        Quad(A, P, Literal(odd)),
        Quad(A, P, Literal(odd, language="en"), G),
        Quad(IRI(E + "'ü%20"), P, A),
    ]
    index = index_of(statements)
    index.apply(Delta.of(removed=statements[:1], added=[Quad(B, P, Literal(odd))]))
    assert set(index.quads()) == {*statements[1:], Quad(B, P, Literal(odd))}


def test_readers_see_a_delta_whole() -> None:
    """Every reader sees one of the two states, however often they follow one another."""
    states = [
        [Quad(A, P, Literal(f"{name}{at}"), G) for at in range(50)] + [Quad(NODE, P, Literal(name))]
        for name in "xy"
    ]
    index = index_of(states[0])
    torn: list[set[str]] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            found: list[Any] = list(index.store.quads_for_pattern(None, None, None))
            seen = {quad.object.value[0] for quad in found}
            if len(seen) != 1:
                torn.append(seen)

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(100):
        index.apply(Delta.of(states[turn % 2], states[1 - turn % 2]))
    ended.set()
    reader.join()
    assert not torn
    assert canonical_state(index.store) == canonical_state(index_of(states[0]).store)


def test_a_query_keeps_the_state_it_began_with() -> None:
    index = index_of(DATA)
    rows: Any = index.store.query("SELECT ?s { ?s ?p ?o }")
    quads = index.quads()
    first = next(quads)
    index.apply(Delta.of(DATA))
    assert len(list(rows)) == 2 and {first, *quads} == set(DATA)


def test_when_a_new_index_is_due() -> None:
    index = Index()
    for turn in range(4_200):
        index.apply(
            Delta.of([Quad(A, P, Literal(str(turn)))] if turn else [], [Quad(A, P, Literal(str(turn + 1)))])
        )
    assert len(index) == 1 and index.dead == 4_199
    assert index.crowded, "one subject's replaced statements lie on its look-ups' path"
    fresh = Index.build(quad.n3() for quad in index.quads())
    assert not fresh.crowded and canonical_state(fresh.store) == canonical_state(index.store)


def test_an_index_goes_forward() -> None:
    index = Index(commit=5)
    index.apply(Delta.of(added=[Quad(A, P, A)]), commit=6)
    with pytest.raises(InvariantBroken):
        index.apply(Delta.of(), commit=5)
