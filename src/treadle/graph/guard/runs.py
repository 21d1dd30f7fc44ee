"""Rules about runs: whole after every write, started at the beginning, moved by one event at a time."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.graph.entities import only_iri, only_text
from treadle.graph.guard.context import Refusal
from treadle.graph.guard.fields import property_problem
from treadle.graph.guard.scene import Scene, Touched
from treadle.graph.signatures import successor
from treadle.graph.terms import IRI, Quad
from treadle.graph.vocabulary import ARCHIVED, RDF_TYPE, RECORDS, Kind


def run_immutable(scene: Scene) -> Iterator[Refusal]:
    """A committed run keeps its definition and its types and is not removed; no request writes a record."""
    fixed = (RDF_TYPE, scene.names.run_of)
    for touched, _ in scene.committed(Kind.RUN):
        for predicate, _term in (*touched.change.removed, *touched.change.added):
            if predicate in fixed:
                detail = "does not change on a committed run"
                yield scene.refuse("run_immutable", touched.subject, touched.graph, predicate, detail)
    for s, p, _value, g in (*scene.removed, *scene.added):
        if p in RECORDS:
            yield scene.refuse("run_immutable", s, g, p, "is the record of an operator's act")


def run_incomplete(scene: Scene) -> Iterator[Refusal]:
    """Every touched run has one state, one revision, and one definition, which is in the same graph."""
    entity = scene.names.entities[Kind.RUN]
    for touched in scene.present(Kind.RUN):
        for prop in entity.properties:
            terms = list(scene.after.objects(touched.subject, prop.iri, touched.graph))
            problem = property_problem(prop, terms, texts=False)
            if problem is not None:
                yield scene.refuse("run_incomplete", touched.subject, touched.graph, prop.name, problem)
        definition = only_iri(scene.after.objects(touched.subject, scene.names.run_of, touched.graph))
        if definition is not None and not scene.now(Kind.DEFINITION, definition, touched.graph):
            detail = "names no definition in this graph"
            yield scene.refuse("run_incomplete", touched.subject, touched.graph, scene.names.run_of, detail)


def run_not_initial(scene: Scene) -> Iterator[Refusal]:
    """A new run stands at its definition's initial state with revision 0, and nothing has happened to it."""
    for touched in scene.new(Kind.RUN):
        problem = _start_problem(scene, touched)
        if problem is not None:
            field, detail = problem
            yield scene.refuse("run_not_initial", touched.subject, touched.graph, field, detail)


def _start_problem(scene: Scene, touched: Touched) -> tuple[IRI | None, str] | None:
    names, graph, run = scene.names, touched.graph, touched.subject
    definition = only_iri(scene.after.objects(run, names.run_of, graph))
    initial = only_text(scene.after.objects(definition, names.initial_state, graph)) if definition else None
    if initial is None or only_text(scene.after.objects(run, names.current_state, graph)) != initial:
        return names.current_state, "is not the definition's initial state"
    if only_text(scene.after.objects(run, names.current_revision, graph)) != "0":
        return names.current_revision, "is not 0"
    if (graph, run) in scene.events_of:
        return None, "an event of the run arrives in the same request"
    for subject, _ in scene.before.subjects(names.in_run, run, graph):
        if scene.before.exists(Quad(subject, RDF_TYPE, names.event, graph)):
            return None, "an event of a run of this IRI is committed already"
    if any(True for where in scene.before.graphs(run) for _ in scene.before.objects(run, ARCHIVED, where)):
        return None, "a run of this IRI was archived; its signed advances could be sent once more"
    return None


def advance_not_single(scene: Scene) -> Iterator[Refusal]:
    """One request carries one advance of a run: each is compared with the revision it was signed for."""
    for (graph, run), events in scene.events_of.items():
        if len(events) > 1 and scene.was(Kind.RUN, run, graph):
            detail = f"{len(events)} events of the run arrive in one request"
            yield scene.refuse("advance_not_single", run, graph, None, detail)


def advance_revision_mismatch(scene: Scene) -> Iterator[Refusal]:
    """The event is signed for the committed revision, and the run's new one is exactly one higher."""
    names = scene.names
    for move in scene.advances:
        old = only_text(scene.before.objects(move.run, names.current_revision, move.graph))
        new = only_text(scene.after.objects(move.run, names.current_revision, move.graph))
        if old is None or move.event.from_revision != old:
            detail = "is not the run's committed revision"
            subject = move.event.iri
            yield scene.refuse("advance_revision_mismatch", subject, move.graph, names.from_revision, detail)
        elif new != successor(old):
            detail = "is not exactly one higher than the committed revision"
            field = names.current_revision
            yield scene.refuse("advance_revision_mismatch", move.run, move.graph, field, detail)


def advance_state_mismatch(scene: Scene) -> Iterator[Refusal]:
    """The event leads from the run's committed state to its new one."""
    names = scene.names
    for move in scene.advances:
        old = only_text(scene.before.objects(move.run, names.current_state, move.graph))
        new = only_text(scene.after.objects(move.run, names.current_state, move.graph))
        subject = move.event.iri
        if old != move.event.from_state:
            detail = "is not the run's committed state"
            yield scene.refuse("advance_state_mismatch", subject, move.graph, names.from_state, detail)
        elif new != move.event.to_state:
            detail = "is not the run's new state"
            yield scene.refuse("advance_state_mismatch", subject, move.graph, names.to_state, detail)


def advance_without_event(scene: Scene) -> Iterator[Refusal]:
    """A run's state and revision change only together with a signed event that says so."""
    moving = (scene.names.current_state, scene.names.current_revision)
    for touched, _ in scene.committed(Kind.RUN):
        if (touched.graph, touched.subject) in scene.events_of:
            continue
        for predicate in moving:
            if touched.change.touches((predicate,)):
                detail = "changes without a new event of the run"
                yield scene.refuse("advance_without_event", touched.subject, touched.graph, predicate, detail)
