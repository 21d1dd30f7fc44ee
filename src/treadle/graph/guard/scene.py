"""One request as the rules see it: its guarded subjects before and after, and which events move which run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from treadle.errors import check
from treadle.graph.after import After, Change, Place, changes_of
from treadle.graph.agents import Before
from treadle.graph.delta import Delta
from treadle.graph.entities import Event, Plan, Registration, read_event, read_plan
from treadle.graph.guard.context import Context, Refusal
from treadle.graph.guard.reasons import BY_NAME
from treadle.graph.remembered import Remembered
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import Graph, Lookups
from treadle.graph.vocabulary import RDF_TYPE, Kind


class Touched(NamedTuple):
    """A guarded subject in a graph that the request changes: its kinds before and after, and the change."""

    graph: Graph
    subject: Resource
    was: frozenset[Kind]
    now: frozenset[Kind]
    change: Change


class Move(NamedTuple):
    """A new event and the run whose state and revision it moves."""

    graph: Graph
    run: IRI
    event: Event
    definition: IRI


class Scene:
    """A request: the states before and after it, its delta and context, and its guarded subjects in order.

    `kinds` are those that a guarded subject is of, before or after. `removed` and `added` are the delta's
    types, registration facts, process facts and records.
    `verified` remembers what `signers` found, by event.
    """

    def __init__(self, before: Before, delta: Delta, context: Context) -> None:
        self.agents = before
        self.before = Remembered(before)
        self.delta = delta
        self.context = context
        self.names = context.names
        self.changes = changes_of(delta)
        self.after = Remembered(After(self.before, delta, self.changes))
        guarded = (self._touched(before, change) for change in self.changes.values())
        self.guarded = sorted(
            (touched for touched in guarded if touched is not None),
            key=lambda touched: (touched.graph or (), touched.subject),
        )
        self.kinds = frozenset(kind for touched in self.guarded for kind in (*touched.was, *touched.now))
        watched = self.names.watched
        self.removed = [quad for quad in delta.removed if quad[1] in watched]
        self.added = [quad for quad in delta.added if quad[1] in watched]
        self.verified: dict[tuple[Graph, Resource], Registration | None] = {}
        self._by_place = {(touched.graph, touched.subject): touched for touched in self.guarded}

    def committed(self, *kinds: Kind) -> Iterator[tuple[Touched, Kind]]:
        """The touched subjects that were of a kind before the request."""
        return ((touched, kind) for touched in self.guarded for kind in kinds if kind in touched.was)

    def new(self, kind: Kind) -> Iterator[Touched]:
        """The touched subjects that are of a kind only after the request."""
        return (t for t in self.guarded if kind in t.now and kind not in t.was)

    def present(self, kind: Kind) -> Iterator[Touched]:
        """The touched subjects that are of a kind after the request."""
        return (touched for touched in self.guarded if kind in touched.now)

    def was(self, kind: Kind, subject: Resource, graph: Graph) -> bool:
        """Whether a subject was of a kind in the graph before the request."""
        marker = self.names.entities[kind].marker
        return self.before.exists(Quad(subject, RDF_TYPE, marker, graph))

    def now(self, kind: Kind, subject: Resource, graph: Graph) -> bool:
        """Whether a subject is of a kind in the graph after the request."""
        touched = self._by_place.get((graph, subject))
        if touched is not None:
            return kind in touched.now
        if (graph, subject) in self.changes:
            return False
        return self.was(kind, subject, graph)

    def is_new(self, kind: Kind, subject: Resource, graph: Graph) -> bool:
        """Whether a subject is of a kind in the graph only after the request."""
        touched = self._by_place.get((graph, subject))
        return touched is not None and kind in touched.now and kind not in touched.was

    def moves(self, run: Resource, graph: Graph) -> bool:
        """Whether the request changes the state or revision of a run that was committed before."""
        change = self.changes.get((graph, run))
        moving = (self.names.current_state, self.names.current_revision)
        return change is not None and change.touches(moving) and self.was(Kind.RUN, run, graph)

    @cached_property
    def plans(self) -> list[Plan]:
        """The new definitions as plans, once every one is known to be complete."""
        found = []
        for touched in self.new(Kind.DEFINITION):
            if isinstance(touched.subject, IRI):
                plan = read_plan(self.after, touched.subject, touched.graph, self.names)
                check(plan is not None, "a complete definition can be read")
                if plan is not None:
                    found.append(plan)
        return found

    @cached_property
    def events(self) -> list[tuple[Touched, Event]]:
        """The new events with their fields.  Asked for only once every new event is known to be complete."""
        found = []
        for touched in self.new(Kind.EVENT):
            event = read_event(touched.subject, self.after.facts(touched.subject, touched.graph), self.names)
            check(event is not None, "a complete event can be read")
            if event is not None:
                found.append((touched, event))
        return found

    @cached_property
    def events_of(self) -> dict[Place, list[Event]]:
        """The new events by graph and run; see `events`."""
        found: dict[Place, list[Event]] = {}
        for touched, event in self.events:
            found.setdefault((touched.graph, event.run), []).append(event)
        return found

    @cached_property
    def advances(self) -> list[Move]:
        """Each new event with its run's definition, once every event is known to move a complete run."""
        found = []
        for touched, event in self.events:
            definition = next(iter(self.after.objects(event.run, self.names.run_of, touched.graph)))
            check(isinstance(definition, IRI), "a complete run names its definition")
            if isinstance(definition, IRI):
                found.append(Move(touched.graph, event.run, event, definition))
        return found

    def refuse(
        self, reason: str, entity: Resource, graph: Graph, field: IRI | str | None, detail: str = ""
    ) -> Refusal:
        """A refusal; without a detail it says what the table says."""
        name = self.names.short(field) if isinstance(field, IRI) else field
        return Refusal(reason, entity, graph, name, detail or BY_NAME[reason].when)

    def _touched(self, before: Lookups, change: Change) -> Touched | None:
        """What a change does to a guarded subject; None for other data, of which there may be a million."""
        markers = self.names.markers
        types = before.objects(change.subject, RDF_TYPE, change.graph)
        was = frozenset([markers[term] for term in types if isinstance(term, IRI) and term in markers])
        come = _kinds(change.added, markers)
        if not (was or come):
            return None
        now = was.difference(_kinds(change.removed, markers)).union(come)
        return Touched(change.graph, change.subject, was, now, change)


def _kinds(facts: Iterable[tuple[IRI, Term]], markers: Mapping[IRI, Kind]) -> frozenset[Kind]:
    types = [term for predicate, term in facts if predicate == RDF_TYPE and isinstance(term, IRI)]
    return frozenset([markers[term] for term in types if term in markers])
