"""Rules about any guarded subject: blank nodes, spelling, roles, and process facts on other data."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.graph.guard.context import Refusal
from treadle.graph.guard.scene import Scene
from treadle.graph.terms import BlankNode, Quad
from treadle.graph.vocabulary import RDF_TYPE, Kind


def blank_node(scene: Scene) -> Iterator[Refusal]:
    """No guarded entity is a blank node.  A registration that is one may be removed, it never counts."""
    for touched in scene.guarded:
        bound = touched.now or touched.was - {Kind.REGISTRATION}
        if isinstance(touched.subject, BlankNode) and bound:
            yield scene.refuse("blank_node", touched.subject, touched.graph, None)


def literal_not_canonical(scene: Scene) -> Iterator[Refusal]:
    """A guarded property is written as it is stored, so that what was signed is what is read.

    `rdfs:label` and `prov:endedAtTime` belong to other data too: they are guarded on entities that bear them.
    """
    for respelled in scene.delta.respelled:
        quad = respelled.stored
        if _is_guarded(scene, quad):
            detail = "is not spelled canonically in the request"
            yield scene.refuse("literal_not_canonical", quad.s, quad.g, quad.p, detail)


def _is_guarded(scene: Scene, quad: Quad) -> bool:
    ours = quad.p.value.startswith(scene.names.base)
    for kind, entity in scene.names.entities.items():
        if any(prop.iri == quad.p for prop in entity.properties) and (
            ours or scene.was(kind, quad.s, quad.g) or scene.now(kind, quad.s, quad.g)
        ):
            return True
    return False


def entity_two_roles(scene: Scene) -> Iterator[Refusal]:
    """A subject is one of definition, step, run, event and registration in a graph, not several."""
    for touched in scene.guarded:
        if len(touched.now) > 1:
            roles = " and ".join(sorted(touched.now))
            yield scene.refuse(
                "entity_two_roles", touched.subject, touched.graph, RDF_TYPE, f"would be {roles} at once"
            )


def process_fact_untyped(scene: Scene) -> Iterator[Refusal]:
    """A property that only these entities have comes with the type it belongs to, or not at all.

    Else facts could be planted on a subject first and become a run or an event by one type later, or a
    reader could take them for one.
    """
    for s, p, _, g in scene.added:
        owners = scene.names.owners.get(p)
        if owners is not None and not any(scene.now(scene.names.markers[owner], s, g) for owner in owners):
            names = " or ".join(scene.names.short(owner) for owner in owners)
            yield scene.refuse("process_fact_untyped", s, g, p, f"needs the type {names} on the subject")
