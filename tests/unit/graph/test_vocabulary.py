"""The table of entities and the configurable namespace."""

from __future__ import annotations

import pytest

from treadle.graph.terms import IRI
from treadle.graph.vocabulary import BASE_NS, ENDED_AT, LABEL, RDF_TYPE, Kind, vocabulary


def test_the_default_namespace() -> None:
    names = vocabulary()
    assert names.base == BASE_NS
    assert names.run == IRI("http://aegis.gastown.local/ontology/WorkflowRun")
    assert vocabulary() is names


def test_another_namespace_moves_every_name_but_those_of_others() -> None:
    names = vocabulary("urn:example:")
    iris = [prop.iri for row in names.entities.values() for prop in row.properties]
    assert {iri for iri in iris if not iri.value.startswith("urn:example:")} == {LABEL, ENDED_AT}
    assert {marker.value for marker in names.markers} == {
        f"urn:example:{local}"
        for local in (
            "WorkflowDefinition",
            "WorkflowStep",
            "WorkflowRun",
            "TransitionEvent",
            "VerifierRegistration",
        )
    }


@pytest.mark.parametrize("base", ["", "ontology/", "http://example.org/ontology", "http://example.org/a b/"])
def test_a_bad_namespace_is_refused(base: str) -> None:
    with pytest.raises(ValueError):
        vocabulary(base)


def test_short_names() -> None:
    names = vocabulary()
    assert names.short(names.run_of) == "aegis:runOf"
    assert names.short(LABEL) == "rdfs:label"
    assert names.short(ENDED_AT) == "prov:endedAtTime"
    assert names.short(RDF_TYPE) == "rdf:type"
    assert names.short(IRI("urn:x:y")) == "urn:x:y"


def test_process_properties_belong_to_the_entities_that_bear_them() -> None:
    names = vocabulary()
    for prop, owners in names.owners.items():
        bearers = [
            row.marker for row in names.entities.values() if any(p.iri == prop for p in row.properties)
        ]
        assert set(owners) == set(bearers)
    assert set(names.owners[names.from_state]) == {names.step, names.event}


def test_each_kind_has_one_marker() -> None:
    names = vocabulary()
    assert set(names.markers.values()) == set(Kind)
    assert all(row.marker in row.types for row in names.entities.values())
