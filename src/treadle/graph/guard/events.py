"""Rules about transition events: immutable once committed; whole, of version 2 and bare when new."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.graph.entities import grouped
from treadle.graph.guard.context import Refusal
from treadle.graph.guard.fields import property_problem, text_problem
from treadle.graph.guard.scene import Scene
from treadle.graph.signatures import unfit
from treadle.graph.terms import IRI, XSD_INTEGER, Literal, Quad, Term
from treadle.graph.vocabulary import (
    LABEL,
    RDF_TYPE,
    SIGNED_VERSION,
    Kind,
    Property,
    Value,
)


def event_immutable(scene: Scene) -> Iterator[Refusal]:
    """No fact of a committed event is added, removed or replaced."""
    for touched, _ in scene.committed(Kind.EVENT):
        for predicate, _term in (*touched.change.removed, *touched.change.added):
            detail = "a committed event does not change"
            yield scene.refuse("event_immutable", touched.subject, touched.graph, predicate, detail)


def event_unsigned(scene: Scene) -> Iterator[Refusal]:
    """A new event carries a signature."""
    for touched in scene.new(Kind.EVENT):
        if not list(scene.after.objects(touched.subject, scene.names.signature, touched.graph)):
            yield scene.refuse("event_unsigned", touched.subject, touched.graph, scene.names.signature)


def event_incomplete(scene: Scene) -> Iterator[Refusal]:
    """A new event has each of the nine fields once, of the right kind of term."""
    properties = scene.names.entities[Kind.EVENT].properties
    for touched in scene.new(Kind.EVENT):
        found = grouped(scene.after.facts(touched.subject, touched.graph))
        for prop in properties:
            problem = field_problem(prop, found.get(prop.iri, []))
            if problem is not None:
                yield scene.refuse("event_incomplete", touched.subject, touched.graph, prop.name, problem)


def field_problem(prop: Property, terms: list[Term]) -> str | None:
    """Why a field of an event is incomplete, or None.

    A text that no signature could cover is left to `field_ambiguous`, a malformed signature to
    `signature_invalid`; a time that is none is incomplete.
    """
    problem = property_problem(prop, terms, texts=False)
    if problem is None and prop.value is Value.TIME and isinstance(terms[0], Literal):
        text = terms[0].value
        return None if unfit(text) else text_problem(Value.TIME, text)
    return problem


def event_version(scene: Scene) -> Iterator[Refusal]:
    """A new event is of version 2: version 1 does not bind the revision."""
    wanted = Literal(SIGNED_VERSION, XSD_INTEGER)
    field = scene.names.transition_version
    for touched in scene.new(Kind.EVENT):
        if list(scene.after.objects(touched.subject, field, touched.graph)) != [wanted]:
            detail = "must be the integer 2"
            yield scene.refuse("event_version", touched.subject, touched.graph, field, detail)


def event_extra_fact(scene: Scene) -> Iterator[Refusal]:
    """A new event says nothing that its signature does not cover, apart from labels and listed predicates."""
    own = {prop.iri for prop in scene.names.entities[Kind.EVENT].properties}
    allowed = own | {LABEL} | scene.context.event_predicates
    for touched in scene.new(Kind.EVENT):
        for predicate, term in scene.after.facts(touched.subject, touched.graph):
            if not _is_allowed(predicate, term, allowed, scene.names.event):
                detail = "is not signed and may not stand on an event"
                yield scene.refuse("event_extra_fact", touched.subject, touched.graph, predicate, detail)


def _is_allowed(predicate: IRI, term: Term, allowed: set[IRI], marker: IRI) -> bool:
    return predicate in allowed or (predicate == RDF_TYPE and term == marker)


def event_without_advance(scene: Scene) -> Iterator[Refusal]:
    """A new event belongs to a committed run of its graph that moves in the same request."""
    for touched, event in scene.events:
        if not scene.moves(event.run, touched.graph):
            detail = "names a run that does not advance in this request and graph"
            field = scene.names.in_run
            yield scene.refuse("event_without_advance", touched.subject, touched.graph, field, detail)


def field_ambiguous(scene: Scene) -> Iterator[Refusal]:
    """No signed field could be read as two, or as another one."""
    fields = {
        "run": scene.names.in_run,
        "step": scene.names.at_step,
        "from_state": scene.names.from_state,
        "to_state": scene.names.to_state,
        "at": next(p.iri for p in scene.names.entities[Kind.EVENT].properties if p.value is Value.TIME),
        "agent": scene.names.performed_by,
        "from_revision": scene.names.from_revision,
    }
    for touched, event in scene.events:
        field = event.transition().ambiguous()
        if field is not None:
            detail = "is empty, or holds '|', a control character or, in a name, white space"
            yield scene.refuse("field_ambiguous", touched.subject, touched.graph, fields[field], detail)


def event_step_undeclared(scene: Scene) -> Iterator[Refusal]:
    """The step is declared by the run's definition in this graph, and its states are the event's."""
    names = scene.names
    for move in scene.advances:
        event, graph = move.event, move.graph
        states = (
            list(scene.after.objects(event.step, names.from_state, graph)),
            list(scene.after.objects(event.step, names.to_state, graph)),
        )
        declared = scene.after.exists(Quad(move.definition, names.has_step, event.step, graph))
        if not declared or not scene.now(Kind.STEP, event.step, graph):
            detail = "is not declared by the run's definition in this graph"
        elif states != ([Literal(event.from_state)], [Literal(event.to_state)]):
            detail = "leads from or to another state than the event"
        else:
            continue
        yield scene.refuse("event_step_undeclared", event.iri, graph, names.at_step, detail)
