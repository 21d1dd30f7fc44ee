"""Rules about signatures: who may sign for which definition, that the signature verifies, and counts once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treadle.graph import signatures
from treadle.graph.entities import Event, Registration
from treadle.graph.guard.context import Refusal
from treadle.graph.guard.scene import Scene
from treadle.graph.terms import IRI, Literal, Quad
from treadle.graph.view import ANY, Graph
from treadle.graph.vocabulary import RDF_TYPE


class Signed(NamedTuple):
    """An event in a graph with the definitions of its run: one when enrolled, any number otherwise."""

    graph: Graph
    event: Event
    definitions: tuple[IRI, ...]


def attesting(scene: Scene, signed: Signed) -> list[Registration]:
    """The usable registrations, committed before the request, that attest the definition for the agent."""
    graphs = scene.context.identity_graphs
    definitions = {definition.value for definition in signed.definitions}
    found = [
        registration
        for registration in scene.agents.registered(signed.event.agent)
        if (graphs is None or registration.graph in graphs) and registration.attests & definitions
    ]
    return sorted(found, key=lambda one: (one.graph or (), one.subject)) if len(found) > 1 else found


def bound(registration: Registration, performer: IRI) -> bool:
    """Whether a registration allows the performer's IRI."""
    return registration.agent is None or registration.agent == performer


def verifying(scene: Scene, signed: Signed) -> Registration | None:
    """The registration whose key verifies the event's signature, or None."""
    place = (signed.graph, signed.event.iri)
    if place not in scene.verified:
        scene.verified[place] = _verifying(scene, signed)
    return scene.verified[place]


def _verifying(scene: Scene, signed: Signed) -> Registration | None:
    message = signed.event.transition().message()
    for registration in attesting(scene, signed):
        if bound(registration, signed.event.performer) and signatures.verify(
            registration.public_key, signed.event.signature, message
        ):
            return registration
    return None


def unregistered(scene: Scene, events: list[Signed]) -> Iterator[Refusal]:
    """The agent has a usable registration for the definition, committed before."""
    field = scene.names.performed_by
    for signed in events:
        if not attesting(scene, signed):
            detail = "no registration committed before attests this definition for the agent"
            yield scene.refuse("signer_unregistered", signed.event.iri, signed.graph, field, detail)


def misbound(scene: Scene, events: list[Signed]) -> Iterator[Refusal]:
    """The registration, where it names an agent's IRI, names the performer's."""
    field = scene.names.performed_by
    for signed in events:
        if not any(bound(registration, signed.event.performer) for registration in attesting(scene, signed)):
            detail = "the registration names another agent IRI"
            yield scene.refuse("signer_mismatch", signed.event.iri, signed.graph, field, detail)


def renamed(scene: Scene, events: list[Signed]) -> Iterator[Refusal]:
    """One agent name stands for one IRI, in committed events and in this request."""
    seen: dict[str, IRI] = {}
    for signed in events:
        performer = signed.event.performer
        others = set(scene.agents.performers(signed.event.agent)) - {performer}
        if others or seen.setdefault(signed.event.agent, performer) != performer:
            detail = "another event of this agent's name bears another IRI"
            field = scene.names.performed_by
            yield scene.refuse("signer_mismatch", signed.event.iri, signed.graph, field, detail)


def invalid(scene: Scene, events: list[Signed]) -> Iterator[Refusal]:
    """The signature verifies under one of the agent's keys."""
    for signed in events:
        if verifying(scene, signed) is None:
            detail = "verifies under no usable key of the agent"
            field = scene.names.signature
            yield scene.refuse("signature_invalid", signed.event.iri, signed.graph, field, detail)


def signer_unregistered(scene: Scene) -> Iterator[Refusal]:
    """See `unregistered`."""
    return unregistered(scene, _moves(scene))


def signer_mismatch(scene: Scene) -> Iterator[Refusal]:
    """See `misbound` and `renamed`."""
    yield from misbound(scene, _moves(scene))
    yield from renamed(scene, _moves(scene))


def signature_invalid(scene: Scene) -> Iterator[Refusal]:
    """See `invalid`."""
    return invalid(scene, _moves(scene))


def signature_reused(scene: Scene) -> Iterator[Refusal]:
    """Signed bytes count once, in whatever graph: the message does not name the graph."""
    seen: set[str] = set()
    names = scene.names
    for touched, event in scene.events:
        committed = any(
            (subject, graph) != (event.iri, touched.graph)
            and scene.before.exists(Quad(subject, RDF_TYPE, names.event, graph))
            for subject, graph in scene.before.subjects(names.signature, Literal(event.signature), ANY)
        )
        if committed or event.signature in seen:
            detail = "stands on another event already"
            yield scene.refuse("signature_reused", event.iri, touched.graph, names.signature, detail)
        seen.add(event.signature)


def _moves(scene: Scene) -> list[Signed]:
    return [Signed(move.graph, move.event, (move.definition,)) for move in scene.advances]
