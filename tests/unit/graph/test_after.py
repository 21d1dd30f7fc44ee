"""The state after a delta: every look-up answers as if the delta had been applied."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, number, text
from treadle.graph.after import After, Draft
from treadle.graph.terms import IRI, BlankNode, Quad, Resource, Term
from treadle.graph.view import ANY, AnyGraph, Graph
from treadle.graph.vocabulary import RDF_TYPE

SUBJECTS: list[Resource] = [IRI("urn:s:1"), IRI("urn:s:2"), BlankNode("b")]
PREDICATES = [RDF_TYPE, NAMES.performed_by, NAMES.run_of]
VALUES: list[Term] = [NAMES.event, IRI("urn:a:x"), text("x"), number(1)]
GRAPHS: list[Graph] = [None, IRI("urn:g:1")]
QUADS = [Quad(s, p, o, g) for s in SUBJECTS for p in PREDICATES for o in VALUES for g in GRAPHS]
quads = st.sets(st.sampled_from(QUADS), max_size=20)
WHERE: list[Graph | AnyGraph] = [*GRAPHS, ANY]


@given(quads, quads, quads)
def test_every_look_up(start: set[Quad], removed: set[Quad], added: set[Quad]) -> None:
    before = MemoryQuads(start)
    delta = before.delta(removed, added)
    after = After(before, delta)
    applied = MemoryQuads(start)
    applied.apply(delta)
    for s in SUBJECTS:
        assert sorted(after.graphs(s), key=str) == sorted(applied.graphs(s), key=str)
        for g in GRAPHS:
            assert sorted(after.facts(s, g)) == sorted(applied.facts(s, g))
            for p in PREDICATES:
                assert sorted(after.objects(s, p, g)) == sorted(applied.objects(s, p, g))
    for quad in QUADS:
        assert after.exists(quad) == applied.exists(quad)
    for p in PREDICATES:
        for o in VALUES:
            for where in WHERE:
                assert sorted(after.subjects(p, o, where), key=str) == sorted(
                    applied.subjects(p, o, where), key=str
                )


@given(quads, st.lists(st.tuples(st.booleans(), st.sampled_from(QUADS)), max_size=30))
def test_a_draft_is_the_net_of_its_steps(start: set[Quad], steps: list[tuple[bool, Quad]]) -> None:
    before = MemoryQuads(start)
    draft = Draft(before)
    state = set(start)
    for add, quad in steps:
        assert (draft.add(quad) if add else draft.remove(quad)) == ((quad in state) != add)
        state = state | {quad} if add else state - {quad}
        assert draft.view.exists(quad) == add
    delta = draft.delta()
    assert set(delta.added) == state - start
    assert set(delta.removed) == start - state
