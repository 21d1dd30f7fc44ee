"""Bringing signed history into an enrolled database: runs come with their events, folded, not advanced.

An operator's act (`restore`). The plans and whatever else comes along pass the guard as any change does. Of
runs only whole new ones come in; their signatures must verify under keys that were registered here before,
because a document could hold any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treadle.access.caller import Caller
from treadle.engine.batch import Batch
from treadle.errors import Refused
from treadle.graph.after import After
from treadle.graph.agents import Known
from treadle.graph.delta import Delta
from treadle.graph.entities import Event
from treadle.graph.fold import Folded, current_registrations, fold_run, is_numbered
from treadle.graph.guard import Refusal, judge
from treadle.graph.guard.context import Context
from treadle.graph.live.acts import GraphAct
from treadle.graph.live.changes import Changed
from treadle.graph.live.following import Live, Turn
from treadle.graph.load import Loaded
from treadle.graph.terms import IRI, Literal, Quad, Resource
from treadle.graph.view import ANY, Graph
from treadle.graph.vocabulary import ARCHIVED, RDF_TYPE, RECORDS

REMEDY = "bring whole runs with their plans and events, after the registrations of those who signed"
Place = tuple[Graph, Resource]


class BringHistory(GraphAct):
    """Take in a document's runs with their events; the result is a `Changed`.

    Raises `Refused`: the guard's reason for the plans, or why a run does not come in.
    """

    __slots__ = ("loaded",)

    def __init__(self, caller: Caller, live: Live, loaded: Loaded) -> None:
        super().__init__(caller, live)
        self.loaded = loaded

    def step(self, batch: Batch) -> None:
        batch.check_token(self.caller)
        batch.state.roles.check_permission(self.caller, "restore")
        self.act(batch)

    def operate(self, batch: Batch, turn: Turn) -> Changed:
        delta = self.loaded.delta(turn.index)
        context = turn.rules.context_of(batch.state.roles, self.caller)
        runs = check_history(turn.known, delta, context)
        return self.change(batch, turn, delta, "history", {"runs": len(runs)})


def check_history(before: Known, delta: Delta, context: Context) -> list[Folded]:
    """The runs that a change brings, folded.

    Args:
        before: the state before.
        delta: the change; it only adds.
        context: who brings it, under which rules.

    Raises:
        Refused: see `BringHistory`.
    """
    names, after = context.names, After(before, delta)
    runs, events = _typed(delta, names.run), _typed(delta, names.event)
    rest = [quad for quad in delta.added if (quad.g, quad.s) not in runs and (quad.g, quad.s) not in events]
    verdict = judge(before, Delta.of(added=rest, respelled=delta.respelled), context)
    if isinstance(verdict, Refusal):
        raise verdict.error()
    _check_new(before, after, delta, runs, events)
    registered = current_registrations(before, names, context.identity_graphs)
    found = [
        fold_run(after, run, graph, names, registered, honour_accepted=False) for graph, run in sorted_(runs)
    ]
    for folded in found:
        if folded.legacy or folded.problems:
            detail = folded.problems[0].detail if folded.problems else "it has no revision"
            raise refused("run_differs", folded.run, folded.graph, detail)
        _check_elsewhere(before, folded, context)
    _check_within(found)
    orphans = events - {(folded.graph, event.iri) for folded in found for event in folded.events}
    for graph, event in sorted_(orphans):
        raise refused("event_without_advance", event, graph, "belongs to no run that comes with it")
    return found


def _typed(delta: Delta, marker: IRI) -> set[Place]:
    return {(quad.g, quad.s) for quad in delta.added if quad.p == RDF_TYPE and quad.o == marker}


def sorted_(places: Iterable[Place]) -> list[Place]:
    """Places in code-point order, the default graph first."""
    return sorted(places, key=lambda place: (place[0] or (), place[1]))


def _check_new(before: Known, after: After, delta: Delta, runs: set[Place], events: set[Place]) -> None:
    """Runs and events come whole: nothing of them is here before, and they bear no other role."""
    for graph, subject in sorted_(runs | events):
        if any(True for _ in before.facts(subject, graph)):
            raise refused("run_immutable", subject, graph, "something about it is here already")
        if (graph, subject) in runs & events:
            raise refused("entity_two_roles", subject, graph, "is run and event at once")
        if any(predicate in RECORDS for predicate, _ in after.facts(subject, graph)):
            raise refused("run_immutable", subject, graph, "bears a record of an operator's act elsewhere")
    for graph, run in sorted_(runs):
        if any(True for where in before.graphs(run) for _ in before.objects(run, ARCHIVED, where)):
            raise refused("run_not_initial", run, graph, "bears the IRI of an archived run")


def _check_elsewhere(before: Known, folded: Folded, context: Context) -> None:
    """What a run's events share with committed ones: no signature, and no agent's name with another IRI."""
    for event in filter(is_numbered, folded.events):
        signed = before.subjects(context.names.signature, Literal(event.signature), ANY)
        if any(before.exists(Quad(s, RDF_TYPE, context.names.event, g)) for s, g in signed):
            raise refused(
                "signature_reused", event.iri, folded.graph, "its signature stands on another event"
            )
        if set(before.performers(event.agent)) - {event.performer}:
            raise refused(
                "signer_mismatch", event.iri, folded.graph, "its agent's name bears another IRI here"
            )


def _check_within(found: Iterable[Folded]) -> None:
    """The same, among the runs that come together."""
    seen: set[str] = set()
    agents: dict[str, IRI] = {}
    for graph, event in _numbered(found):
        if event.signature in seen:
            raise refused("signature_reused", event.iri, graph, "its signature stands on another event")
        if agents.setdefault(event.agent, event.performer) != event.performer:
            raise refused("signer_mismatch", event.iri, graph, "its agent's name bears two IRIs")
        seen.add(event.signature)


def _numbered(found: Iterable[Folded]) -> Iterator[tuple[Graph, Event]]:
    for folded in found:
        for event in folded.events:
            if is_numbered(event):
                yield folded.graph, event


def refused(reason: str, entity: Resource, graph: Graph, detail: str) -> Refused:
    """Why a run does not come in."""
    return Refused(
        f"{reason}: {entity}: {detail}; {REMEDY}",
        reason=reason,
        entity=str(entity),
        graph=None if graph is None else str(graph),
        remedy=REMEDY,
    )
