"""Why of a signed run: its state and revision, the legal steps, who may sign them, the last refusals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from treadle.access.caller import Caller
from treadle.errors import InvalidInput, UnknownName
from treadle.graph.dataset import Index
from treadle.graph.entities import (
    Event,
    Registration,
    grouped,
    only_iri,
    only_text,
    read_event,
    read_plan,
    read_registration,
)
from treadle.graph.evaluation import Stopped
from treadle.graph.guard.context import Context
from treadle.graph.live.core import Core
from treadle.graph.live.refusals import cut
from treadle.graph.terms import IRI, Literal, Resource
from treadle.graph.view import ANY, Graph
from treadle.graph.vocabulary import RDF_TYPE
from treadle.history import MASK, entries
from treadle.why.reply import LegalStep, Refused, Signed, Signer, WhyRun
from treadle.why.tail import TAIL

MOST: Final = 10


def why_run(core: Core, caller: Caller, run: str, graph: str | None = None) -> WhyRun:
    """Say where a signed run stands, which steps may be taken now, and who may sign them.

    `graph` is the run's graph, needed where runs of that IRI are in several. Names of other principals are
    shown to an `admin` alone. Raises `Denied` without the `read` permission, `InvalidInput` for what is no
    IRI, `UnknownName` where there is no such run.
    """
    wanted, place = _iri(run, "run"), None if graph is None else _iri(graph, "graph")
    with core.engine.store.read() as tx:
        context = core.live.rules(tx).context(identity=False, define=False)

    def look(index: Index, stopped: Stopped) -> WhyRun:
        return _look(index, context, wanted, _place(index, context, wanted, place))

    found = core.read(caller, look)
    return found._replace(refusals=tuple(islice(_refusals(core, caller, found), MOST)))


def _iri(text: str, path: str) -> IRI:
    try:
        return IRI(text)
    except ValueError as error:
        raise InvalidInput(str(error), path=path) from error


def _place(index: Index, context: Context, run: IRI, graph: IRI | None) -> Graph:
    """The graph that the run is in; raises `UnknownName` for none, `InvalidInput` for several."""
    names = context.names
    found = [
        each
        for each in index.graphs(run)
        if names.run in grouped(index.facts(run, each)).get(RDF_TYPE, ()) and graph in (None, each)
    ]
    if not found:
        raise UnknownName("there is no run of that IRI; check it, and the graph, or start it")
    if len(found) > 1:
        listed = ", ".join("the default graph" if each is None else each.value for each in found)
        raise InvalidInput(f"runs of that IRI are in {listed}; name one graph", path="graph")
    return found[0]


def _look(index: Index, context: Context, run: IRI, graph: Graph) -> WhyRun:
    names = context.names
    facts = grouped(index.facts(run, graph))
    definition = only_iri(facts.get(names.run_of, ()))
    plan = read_plan(index, definition, graph, names) if definition is not None else None
    if plan is None:
        raise UnknownName("the run has no definition in its graph, so it has no steps")
    state = only_text(facts.get(names.current_state, ()))
    legal = plan.legal(state) if state is not None else ()
    return WhyRun(
        run=run.value,
        graph=None if graph is None else graph.value,
        enforced=context.enrolled,
        plan=plan.iri.value,
        state=state,
        revision=only_text(facts.get(names.current_revision, ())),
        finished=state in plan.terminal,
        legal=tuple(LegalStep(one.iri.value, one.name, one.from_state, one.to_state) for one in legal),
        signers=tuple(_signer(one) for one in _registered(index, context, plan.iri)),
        events=tuple(islice(_events(index, context, run, graph), MOST)),
        refusals=(),
    )


def _registered(index: Index, context: Context, plan: IRI) -> Iterator[Registration]:
    """The registrations that count for a plan, by agent."""
    names, graphs = context.names, context.identity_graphs
    places: dict[tuple[Resource, Graph], None] = {}
    for term in (plan, Literal(plan.value)):
        places |= dict.fromkeys(index.subjects(names.attests, term, ANY))
    found = [
        registration
        for subject, graph in places
        if graphs is None or graph in graphs
        if (registration := read_registration(index, subject, graph, names)) is not None
    ]
    yield from sorted(found, key=lambda one: (one.verifier, str(one.subject)))


def _signer(one: Registration) -> Signer:
    agent = None if one.agent is None else one.agent.value
    return Signer(one.verifier, agent, one.public_key, str(one.subject))


def _events(index: Index, context: Context, run: IRI, graph: Graph) -> Iterator[Signed]:
    """The run's events, newest first: by revision, those of version 1 before, by their times."""
    found = [
        event
        for subject, _ in index.subjects(context.names.in_run, run, graph)
        if (event := read_event(subject, index.facts(subject, graph), context.names)) is not None
    ]
    for event in sorted(found, key=_age, reverse=True):
        yield Signed(
            event=str(event.iri),
            step=event.step.value,
            from_state=event.from_state,
            to_state=event.to_state,
            revision=event.from_revision,
            at=event.at,
            agent=event.agent,
        )


def _age(event: Event) -> tuple[int, str]:
    revision = event.from_revision
    return (int(revision) if revision is not None and revision.isdecimal() else -1, event.at)


def _refusals(core: Core, caller: Caller, found: WhyRun) -> Iterator[Refused]:
    """Refusals at the end of the log about the run, or in its graph and about no run; newest first."""
    with core.engine.store.read() as tx:
        head = tx.head().number
    this = cut(str(IRI(found.run)))
    admin = core.engine.refresh().roles.permits(caller, "admin")
    tail = list(entries(core.engine, max(1, head - TAIL + 1), head)) if head else []
    for entry in reversed(tail):
        body = entry.body if entry.kind == "refusal" and isinstance(entry.body, dict) else None
        if body is None or body.get("graph") != _graph_text(found.graph):
            continue
        about = body.get("run") or (body["entity"] if body.get("entity") == this else None)
        if about not in (None, this):
            continue
        mine = admin or entry.principal == caller.principal
        yield Refused(
            commit=entry.number,
            time=entry.time,
            reason=entry.name,
            entity=str(body.get("entity")),
            field=body.get("field"),
            about_run=about is not None,
            principal=entry.principal if mine else MASK,
        )


def _graph_text(graph: str | None) -> str | None:
    return None if graph is None else str(IRI(graph))
