"""The index of performers: only events count, and it follows every delta."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, Release, text
from treadle.graph.performers import Performers
from treadle.graph.terms import IRI, Quad, Term
from treadle.graph.view import Graph
from treadle.graph.vocabulary import RDF_TYPE

R = Release()
AGENTS: list[Term] = [IRI("urn:a:x"), IRI("urn:b:x"), IRI("urn:a:y"), text("urn:a:x")]
SUBJECTS = [IRI("urn:e:1"), IRI("urn:e:2")]
GRAPHS: list[Graph] = [None, IRI("urn:g:1")]
QUADS = [Quad(s, NAMES.performed_by, agent, g) for s in SUBJECTS for agent in AGENTS for g in GRAPHS]
QUADS += [Quad(s, RDF_TYPE, NAMES.event, g) for s in SUBJECTS for g in GRAPHS]
quads = st.sets(st.sampled_from(QUADS))


def counted(view: MemoryQuads) -> dict[str, set[IRI]]:
    return {name: set(view.performers(name)) for name in "xyz"}


def test_only_events_count() -> None:
    view = MemoryQuads(R.submit().event_quads())
    assert set(view.performers(R.agent_name)) == {R.agent}
    planted = MemoryQuads({q for q in R.submit().event_quads() if q.p == NAMES.performed_by})
    assert set(planted.performers(R.agent_name)) == set()


@given(quads, st.lists(st.tuples(quads, quads), max_size=4))
def test_following_deltas_is_the_same_as_counting_anew(
    start: set[Quad], steps: list[tuple[set[Quad], set[Quad]]]
) -> None:
    view = MemoryQuads(start)
    for removed, added in steps:
        view.apply(view.delta(removed, added))
        assert counted(view) == counted(MemoryQuads(view))


def test_building_again_forgets_the_old() -> None:
    index = Performers(NAMES)
    index.build(MemoryQuads(R.submit().event_quads()))
    index.build(MemoryQuads())
    assert set(index.named(R.agent_name)) == set()
