"""The index behind `Before.performers` and `Before.registered`: who has signed, and who may.

Both are asked for at every advance, by agent name, and neither question can be answered from an index of
statements at a bounded cost: performers because the name is only the end of an IRI, registrations because
anybody may write a million annotations on the subject of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from treadle.graph.after import After
from treadle.graph.delta import Delta
from treadle.graph.entities import Registration, is_registration_fact, read_registration
from treadle.graph.signatures import agent_name
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import ANY, Graph, Lookups
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary


class Agents:
    """Agents by name: the IRIs that perform committed events, and the usable registrations.

    Only subjects typed as events count, so that other data cannot take a name.  Build it once from the
    dataset and call `apply` with every committed delta, before the dataset itself changes.
    """

    def __init__(self, names: Vocabulary) -> None:
        self._names = names
        self._counts: dict[str, dict[IRI, int]] = {}
        self._registered: dict[str, dict[tuple[Graph, Resource], Registration]] = {}
        self._places: dict[Resource, list[Registration]] = {}

    def build(self, view: Lookups) -> None:
        """Read a whole dataset anew, in time linear in its events and registrations."""
        self._counts.clear()
        self._registered.clear()
        self._places.clear()
        for subject, graph in view.subjects(RDF_TYPE, self._names.event, ANY):
            self._add(view.objects(subject, self._names.performed_by, graph), 1)
        for subject in {subject for subject, _ in view.subjects(RDF_TYPE, self._names.registration, ANY)}:
            self._register(view, subject)

    def performers(self, name: str) -> Collection[IRI]:
        """The IRIs of that agent name that perform a committed event."""
        return self._counts.get(name, {}).keys()

    def registered(self, name: str) -> Collection[Registration]:
        """The usable registrations of that agent name, in whatever graph."""
        return self._registered.get(name, {}).values()

    def apply(self, before: Lookups, delta: Delta) -> None:
        """Follow a delta; `before` is the state that it was computed from.

        The cost follows the events and registrations in the delta.
        """
        removed, added = self._events(delta.removed), self._events(delta.added)
        for subject, graph in removed.keys() | added.keys():
            gone, come = removed.get((subject, graph), ()), added.get((subject, graph), ())
            facts = self._facts(before, subject, graph)
            self._count(facts, -1)
            self._count((facts - set(gone)) | set(come), 1)
        changed = {q.s for q in (*delta.removed, *delta.added) if is_registration_fact(q.p, q.o, self._names)}
        if changed:
            after = After(before, delta)
            for subject in changed:
                self._register(after, subject)

    # --- registrations ----------------------------------------------------------------------------------

    def _register(self, view: Lookups, subject: Resource) -> None:
        """Take in what a subject is registered as now, in place of what it was."""
        for old in self._places.pop(subject, ()):
            held = self._registered[old.verifier]
            del held[old.graph, subject]
            if not held:
                del self._registered[old.verifier]
        for graph in view.graphs(subject):
            registration = read_registration(view, subject, graph, self._names)
            if registration is not None:
                self._registered.setdefault(registration.verifier, {})[graph, subject] = registration
                self._places.setdefault(subject, []).append(registration)

    # --- performers -------------------------------------------------------------------------------------

    def _facts(self, before: Lookups, subject: Resource, graph: Graph) -> set[tuple[IRI, Term]]:
        performers = before.objects(subject, self._names.performed_by, graph)
        facts: set[tuple[IRI, Term]] = {(self._names.performed_by, term) for term in performers}
        if before.exists(Quad(subject, RDF_TYPE, self._names.event, graph)):
            facts.add((RDF_TYPE, self._names.event))
        return facts

    def _events(self, quads: Iterable[Quad]) -> dict[tuple[Resource, Graph], list[tuple[IRI, Term]]]:
        touched: dict[tuple[Resource, Graph], list[tuple[IRI, Term]]] = {}
        for s, p, o, g in quads:
            if p == self._names.performed_by or (p == RDF_TYPE and o == self._names.event):
                touched.setdefault((s, g), []).append((p, o))
        return touched

    def _count(self, facts: Collection[tuple[IRI, Term]], step: int) -> None:
        if (RDF_TYPE, self._names.event) in facts:
            self._add((term for predicate, term in facts if predicate == self._names.performed_by), step)

    def _add(self, terms: Iterable[Term], step: int) -> None:
        for term in terms:
            if not isinstance(term, IRI):
                continue
            counts = self._counts.setdefault(agent_name(term.value), {})
            counts[term] = counts.get(term, 0) + step
            if not counts[term]:
                del counts[term]
                if not counts:
                    del self._counts[agent_name(term.value)]


class Before(Lookups, Protocol):
    """The committed statements before a request, and the agents in them."""

    def performers(self, name: str) -> Collection[IRI]:
        """The IRIs that end in the agent name and perform a committed event, in any graph."""

    def registered(self, name: str) -> Collection[Registration]:
        """The usable registrations of the agent name, in any graph."""


class Known:
    """A dataset's look-ups with its agents beside them: what `judge` takes as the state before a request."""

    def __init__(self, view: Lookups, agents: Agents) -> None:
        self.facts = view.facts
        self.objects = view.objects
        self.exists = view.exists
        self.subjects = view.subjects
        self.graphs = view.graphs
        self.performers = agents.performers
        self.registered = agents.registered
