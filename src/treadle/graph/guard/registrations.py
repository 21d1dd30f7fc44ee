"""Rules about registrations of verifiers: who may write them, and that each is whole and in one place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from treadle.graph.entities import elsewhere, is_registration_fact
from treadle.graph.guard.context import Entry, Refusal
from treadle.graph.guard.fields import entity_problem
from treadle.graph.guard.scene import Scene
from treadle.graph.terms import Quad, Resource
from treadle.graph.view import Graph
from treadle.graph.vocabulary import RDF_TYPE, Kind


def registration_forbidden(scene: Scene) -> Iterator[Refusal]:
    """Only a caller with the identity permission writes a registration fact, on whatever subject."""
    if scene.context.identity:
        return
    for s, p, o, g in chain(scene.removed, scene.added):
        if is_registration_fact(p, o, scene.names):
            detail = "may be written with the identity permission only"
            yield scene.refuse("registration_forbidden", s, g, p, detail)


def registration_incomplete(scene: Scene) -> Iterator[Refusal]:
    """After the write each touched registration is whole, with a sound key, in one graph."""
    for graph, subject in touched(scene):
        if scene.now(Kind.REGISTRATION, subject, graph):
            yield from _incomplete(scene, subject, graph)
        elif _second_graph(scene, subject, graph):
            detail = "the subject is a registration in another graph, and all its facts belong there"
            yield scene.refuse("registration_incomplete", subject, graph, None, detail)


def _incomplete(scene: Scene, subject: Resource, graph: Graph) -> Iterator[Refusal]:
    entity = scene.names.entities[Kind.REGISTRATION]
    problem = entity_problem(entity, scene.after.facts(subject, graph))
    if problem is not None:
        field, detail = problem
        yield scene.refuse("registration_incomplete", subject, graph, field, detail)
    elif elsewhere(scene.after, subject, graph, scene.names):
        detail = "facts of the registration stand in a second graph"
        yield scene.refuse("registration_incomplete", subject, graph, None, detail)


def _second_graph(scene: Scene, subject: Resource, graph: Graph) -> bool:
    facts = scene.after.facts(subject, graph)
    if not any(is_registration_fact(predicate, term, scene.names) for predicate, term in facts):
        return False
    marker = scene.names.registration
    return any(
        scene.after.exists(Quad(subject, RDF_TYPE, marker, other))
        for other in scene.after.graphs(subject)
        if other != graph
    )


def touched(scene: Scene) -> list[Entry]:
    """Every subject in a graph of which the request changes a registration fact, in order."""
    places = {
        Entry(g, s)
        for s, p, o, g in chain(scene.removed, scene.added)
        if is_registration_fact(p, o, scene.names)
    }
    return sorted(places, key=lambda entry: (entry.graph or (), entry.subject))
