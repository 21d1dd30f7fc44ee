"""The shipped Turtle: complete, safe under a reasoner, and of one mind with the guard."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Literal as OneOf

import owlrl
import pytest
import rdflib
from pyshacl import validate
from rdflib.namespace import RDF, RDFS, SH

from tests.support.cases import CASES, Case
from tests.support.effort import factor
from tests.support.legacy import legacy_plan, legacy_run, v1
from tests.support.quads import MemoryQuads
from tests.support.workflows import NAMES, Release, text
from treadle.graph.catalogue import property_catalogue, shapes
from treadle.graph.catalogue.safety import unsafe_axioms
from treadle.graph.terms import IRI, Quad
from treadle.graph.vocabulary import ENDED_AT, LABEL, RDF_TYPE, RDFS_NS, Kind, Value, vocabulary

R = Release()
SCHEMA = rdflib.Namespace("https://schema.org/")
OWL = "http://www.w3.org/2002/07/owl#"
Profile = OneOf["legacy", "enrolled"]


def to_rdflib(quads: Iterable[Quad]) -> rdflib.Graph:
    graph = rdflib.Graph()
    for quad in quads:
        graph.add((quad.s.to_rdflib(), quad.p.to_rdflib(), quad.o.to_rdflib()))
    return graph


def from_turtle(turtle: str) -> set[Quad]:
    """The statements between IRIs of a Turtle text, which are all that axioms are made of."""
    found = set()
    for s, p, o in rdflib.Graph().parse(data=turtle, format="turtle"):
        if isinstance(s, rdflib.URIRef) and isinstance(o, rdflib.URIRef):
            found.add(Quad(IRI(str(s)), IRI(str(p)), IRI(str(o))))
    return found


@cache
def shape_graph(profile: Profile) -> rdflib.Graph:
    return rdflib.Graph().parse(data=shapes(profile), format="turtle")


def conforms(quads: Iterable[Quad], profile: Profile) -> bool:
    verdict, _, report = validate(to_rdflib(quads), shacl_graph=shape_graph(profile), inference="none")
    assert isinstance(verdict, bool), report
    return verdict


def after(case: Case) -> set[Quad]:
    """The default graph after a case's request, for a release that lives there."""
    request = case.make(R)
    return {quad for quad in (request.setup - request.removed) | request.added if quad.g is None}


# --- the property catalogue -----------------------------------------------------------------------------


def test_every_property_is_in_the_catalogue_with_those_who_bear_it() -> None:
    graph = rdflib.Graph().parse(data=property_catalogue(), format="turtle")
    bearers: dict[IRI, set[str]] = defaultdict(set)
    for entity in NAMES.entities.values():
        for prop in entity.properties:
            bearers[prop.iri].add(entity.marker.value)
    del bearers[LABEL]
    for prop_iri, wanted in bearers.items():
        found = {str(o) for o in graph.objects(prop_iri.to_rdflib(), SCHEMA.domainIncludes)}
        assert found == wanted, prop_iri
        if prop_iri != ENDED_AT:
            assert (prop_iri.to_rdflib(), RDF.type, RDF.Property) in graph
            assert graph.value(prop_iri.to_rdflib(), RDFS.comment) is not None
    for entity in NAMES.entities.values():
        for typed in entity.types:
            assert (typed.to_rdflib(), RDF.type, RDFS.Class) in graph


@pytest.mark.parametrize("turtle", [property_catalogue(), shapes("legacy"), shapes("enrolled")])
def test_nothing_shipped_is_acted_on_by_a_reasoner(turtle: str) -> None:
    graph = rdflib.Graph().parse(data=turtle, format="turtle")
    for predicate in (RDFS.domain, RDFS.range, RDFS.subPropertyOf, RDFS.subClassOf):
        assert not list(graph.triples((None, predicate, None)))


def inferred_events(extra: str) -> set[str]:
    graph = to_rdflib(R.setup())
    graph.parse(data=property_catalogue(), format="turtle")
    graph.parse(data=extra, format="turtle")
    owlrl.DeductiveClosure(owlrl.RDFS_Semantics).expand(graph)
    return {str(subject) for subject in graph.subjects(RDF.type, NAMES.event.to_rdflib())}


def test_a_reasoner_makes_no_event_of_a_step() -> None:
    assert inferred_events("") == set()
    unsafe = f"<{NAMES.from_state}> <{RDFS_NS}domain> <{NAMES.event}> ."
    assert R.step("submit").value in inferred_events(unsafe)


def test_another_namespace() -> None:
    graph = rdflib.Graph().parse(data=property_catalogue("urn:example:"), format="turtle")
    assert (rdflib.URIRef("urn:example:runOf"), RDF.type, RDF.Property) in graph
    for profile in ("legacy", "enrolled"):
        moved = shapes(profile, "urn:example:")
        assert NAMES.base not in moved
        assert vocabulary("urn:example:").base in moved
    with pytest.raises(ValueError, match="no profile"):
        shapes("strict")  # type: ignore[arg-type]


# --- the safety of loaded ontologies ----------------------------------------------------------------------

STEP, EVENT, FROM = NAMES.step.n3(), NAMES.event.n3(), NAMES.from_state.n3()
PREFIXES = f"@prefix rdfs: <{RDFS_NS}> . @prefix owl: <{OWL}> . @prefix ex: <urn:ex:> .\n"


def unsafe(turtle: str) -> list[str]:
    return [axiom.detail for axiom in unsafe_axioms(MemoryQuads(from_turtle(PREFIXES + turtle)), NAMES)]


@pytest.mark.parametrize(
    "turtle",
    [
        f"{FROM} rdfs:domain {EVENT} .",
        f"{FROM} rdfs:domain {STEP} .",
        f"{FROM} rdfs:subPropertyOf ex:p . ex:p rdfs:domain {EVENT} .",
        f"{FROM} rdfs:subPropertyOf ex:p . ex:p rdfs:subPropertyOf ex:q . ex:q rdfs:domain {EVENT} .",
        f"{FROM} owl:equivalentProperty ex:p . ex:p rdfs:domain {EVENT} .",
        f"ex:p owl:equivalentProperty {FROM} . ex:p rdfs:domain {EVENT} .",
        f"ex:p owl:inverseOf {FROM} . ex:p rdfs:range {EVENT} .",
        f"{FROM} rdfs:domain ex:Moved . ex:Moved rdfs:subClassOf {EVENT} .",
        f"{FROM} rdfs:domain ex:Moved . {EVENT} owl:equivalentClass ex:Moved .",
        f"{STEP} rdfs:subClassOf {EVENT} .",
        f"{NAMES.plain_step.n3()} rdfs:subClassOf ex:C . ex:C rdfs:subClassOf {EVENT} .",
        f"rdfs:label rdfs:domain {EVENT} .",
        f"{NAMES.has_step.n3()} rdfs:range {EVENT} .",
        f"{NAMES.at_step.n3()} rdfs:range {EVENT} .",
        f"{NAMES.run_of.n3()} rdfs:range {NAMES.run.n3()} .",
        f"ex:p owl:inverseOf {NAMES.has_step.n3()} . ex:p rdfs:domain {EVENT} .",
    ],
)
def test_an_unsafe_axiom_is_found(turtle: str) -> None:
    assert unsafe(turtle)


@pytest.mark.parametrize(
    "turtle",
    [
        "",
        f"{FROM} rdfs:domain ex:Moved .",
        f"{FROM} rdfs:range {EVENT} .",
        f"{NAMES.signature.n3()} rdfs:domain {EVENT} .",
        f"{NAMES.run_of.n3()} rdfs:domain {NAMES.run.n3()} ; rdfs:range {NAMES.definition.n3()} .",
        f"{EVENT} rdfs:subClassOf ex:Thing . {STEP} rdfs:subClassOf ex:Thing .",
        f"{STEP} rdfs:subClassOf {NAMES.plain_step.n3()} .",
        f"ex:p rdfs:subPropertyOf {FROM} . ex:p rdfs:domain {EVENT} .",
        "ex:a rdfs:subClassOf ex:b . ex:b rdfs:subClassOf ex:a .",
    ],
)
def test_a_safe_one_is_not(turtle: str) -> None:
    assert unsafe(turtle) == []


def test_the_shipped_catalogue_is_safe() -> None:
    assert unsafe(property_catalogue()) == []


def test_the_graph_of_an_axiom_is_named() -> None:
    graph = IRI("urn:g:1")
    quad = Quad(NAMES.from_state, IRI(RDFS_NS + "domain"), NAMES.event, graph)
    found = list(unsafe_axioms(MemoryQuads([quad]), NAMES))
    assert [(axiom.graph, axiom.subject) for axiom in found] == [(graph, NAMES.from_state)]
    assert found[0].detail == "rdfs:domain would type a step as aegis:TransitionEvent"


# --- shapes ---------------------------------------------------------------------------------------------

SHAPE_OF = {
    Kind.DEFINITION: "Definition",
    Kind.STEP: "Step",
    Kind.RUN: "Run",
    Kind.EVENT: "Event",
    Kind.REGISTRATION: "Registration",
}


@pytest.mark.parametrize("kind", Kind)
def test_the_enrolled_shapes_count_as_the_table_does(kind: Kind) -> None:
    graph = shape_graph("enrolled")
    node = rdflib.URIRef(f"urn:x-treadle:shapes/enrolled/{SHAPE_OF[kind]}")
    found = {}
    for prop in graph.objects(node, SH.property):
        least, most = graph.value(prop, SH.minCount), graph.value(prop, SH.maxCount)
        path = str(graph.value(prop, SH.path))
        if path == RDF_TYPE.value:
            continue
        found[path] = (int(str(least or 0)), None if most is None else int(str(most)))
    table = {prop.iri.value: (prop.least, prop.most) for prop in NAMES.entities[kind].properties}
    assert found == table


def test_the_legacy_shapes_ask_for_nothing_new() -> None:
    graph = shape_graph("legacy")
    required = {str(graph.value(s, SH.path)) for s, o in graph.subject_objects(SH.minCount) if int(str(o))}
    assert required == {LABEL.value, NAMES.verifier.value, NAMES.attests.value}


ACCEPTED = [case for case in CASES if case.reason is None and not case.context.event_predicates]
SAYABLE = (
    "blank_node",
    "entity_two_roles",
    "registration_incomplete",
    "definition_incomplete",
    "definition_step_unknown",
    "step_incomplete",
    "definition_step_ambiguous",
    "definition_terminal_exit",
    "definition_unreachable",
    "definition_dead_end",
    "event_unsigned",
    "event_incomplete",
    "event_version",
    "event_extra_fact",
    "run_incomplete",
)


def first_cases(reason: str) -> list[Case]:
    return [case for case in CASES if case.reason == reason][:2]


@pytest.mark.parametrize("case", ACCEPTED[:: 1 if factor() > 1 else 4], ids=str)
def test_what_the_guard_accepts_conforms(case: Case) -> None:
    assert conforms(after(case), "enrolled")


@pytest.mark.parametrize("case", [case for reason in SAYABLE for case in first_cases(reason)], ids=str)
def test_what_the_guard_refuses_for_its_shape_does_not(case: Case) -> None:
    assert not conforms(after(case), "enrolled")


def test_data_from_before_conforms_to_the_legacy_shapes_alone() -> None:
    quads = legacy_plan() | legacy_run("Review") | v1("submit", "2025-01-01T00:00:00Z", signed=False)
    assert conforms(quads, "legacy")
    assert not conforms(quads, "enrolled")


def test_enrolled_data_conforms_to_both() -> None:
    advance = R.submit()
    quads = (R.setup() - advance.removed()) | advance.added()
    assert conforms(quads, "legacy")
    assert conforms(quads, "enrolled")


@pytest.mark.parametrize(
    "quad",
    [
        Quad(R.plan, LABEL, text("second")),
        Quad(R.run, NAMES.current_revision, text("0")),
        Quad(R.run, NAMES.run_of, text("plan")),
        Quad(R.registration, NAMES.public_key, text("short")),
    ],
)
def test_the_legacy_shapes_still_refuse_the_wrong_kind(quad: Quad) -> None:
    assert not conforms(R.setup() | {quad}, "legacy")


def test_the_table_uses_every_kind_of_value() -> None:
    used = {prop.value for entity in NAMES.entities.values() for prop in entity.properties}
    assert used == set(Value)
