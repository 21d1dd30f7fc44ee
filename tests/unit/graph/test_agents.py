"""The index of agents: only events count, only usable registrations, and it follows every delta."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, Release, key, text
from treadle.graph.agents import Agents
from treadle.graph.entities import registrations
from treadle.graph.terms import IRI, Quad, Term
from treadle.graph.view import Graph
from treadle.graph.vocabulary import LABEL, RDF_TYPE

R = Release()
AGENTS: list[Term] = [IRI("urn:a:x"), IRI("urn:b:x"), IRI("urn:a:y"), text("urn:a:x")]
SUBJECTS = [IRI("urn:e:1"), IRI("urn:e:2")]
GRAPHS: list[Graph] = [None, IRI("urn:g:1")]
QUADS = [Quad(s, NAMES.performed_by, agent, g) for s in SUBJECTS for agent in AGENTS for g in GRAPHS]
QUADS += [Quad(s, RDF_TYPE, NAMES.event, g) for s in SUBJECTS for g in GRAPHS]
KEYS = [text(key("a")), text("short")]
FACTS: list[tuple[IRI, Term]] = [
    (RDF_TYPE, NAMES.registration),
    (NAMES.verifier, text("x")),
    (NAMES.verifier, text("y")),
    (NAMES.public_key, KEYS[0]),
    (NAMES.public_key, KEYS[1]),
    (NAMES.attests, R.plan),
    (NAMES.agent, IRI("urn:a:x")),
    (LABEL, text("label")),
]
REGISTERED = [Quad(s, p, o, g) for s in SUBJECTS for p, o in FACTS for g in GRAPHS]
quads = st.sets(st.sampled_from(QUADS))
registered = st.sets(st.sampled_from(REGISTERED))


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


@given(registered, st.lists(st.tuples(registered, registered), max_size=4))
def test_following_registrations_is_the_same_as_reading_them(
    start: set[Quad], steps: list[tuple[set[Quad], set[Quad]]]
) -> None:
    view = MemoryQuads(start)
    for removed, added in [(set[Quad](), set[Quad]()), *steps]:
        view.apply(view.delta(removed, added))
        for name in "xyz":
            found = sorted(view.registered(name), key=lambda one: (one.graph or (), one.subject))
            assert found == registrations(view, name, NAMES)


def test_a_registration_in_force_and_its_rotation() -> None:
    view = MemoryQuads(R.setup())
    assert [one.subject for one in view.registered(R.agent_name)] == [R.registration]
    view.apply(view.delta(removed=R.registration_quads()))
    assert list(view.registered(R.agent_name)) == []


def test_building_again_forgets_the_old() -> None:
    index = Agents(NAMES)
    index.build(MemoryQuads(R.submit().event_quads() | R.registration_quads()))
    index.build(MemoryQuads())
    assert set(index.performers(R.agent_name)) == set()
    assert set(index.registered(R.agent_name)) == set()
