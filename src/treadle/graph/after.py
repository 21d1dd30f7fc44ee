"""The state after a request, as look-ups over the state before it and the delta."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from treadle.graph.delta import EMPTY_DELTA, Delta
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import ANY, AnyGraph, Graph, Lookups

Place: TypeAlias = tuple[Graph, Resource]
"""A subject in a graph."""


class Change:
    """What a delta does to one subject in one graph."""

    __slots__ = ("added", "graph", "removed", "subject")

    def __init__(self, graph: Graph, subject: Resource) -> None:
        self.graph = graph
        self.subject = subject
        self.removed: list[tuple[IRI, Term]] = []
        self.added: list[tuple[IRI, Term]] = []

    def touches(self, predicates: Collection[IRI]) -> bool:
        """Whether a statement with one of the predicates is added or removed."""
        return any(predicate in predicates for predicate, _ in (*self.removed, *self.added))


def changes_of(delta: Delta) -> dict[Place, Change]:
    """The delta by graph and subject."""
    changes: dict[Place, Change] = {}
    for s, p, o, g in delta.removed:
        change = changes.get((g, s))
        if change is None:
            change = changes[(g, s)] = Change(g, s)
        change.removed.append((p, o))
    for s, p, o, g in delta.added:
        change = changes.get((g, s))
        if change is None:
            change = changes[(g, s)] = Change(g, s)
        change.added.append((p, o))
    return changes


class After:
    """`Lookups` with a delta applied; a look-up costs what it costs before, and its part of the delta."""

    def __init__(self, before: Lookups, delta: Delta, changes: dict[Place, Change] | None = None) -> None:
        self._before = before
        self._delta = delta
        self._changes = changes_of(delta) if changes is None else changes
        self._by_value: dict[tuple[IRI, Term], tuple[set[Place], set[Place]]] | None = None
        self._graphs: dict[Resource, set[Graph]] | None = None

    def facts(self, subject: Resource, graph: Graph) -> Iterable[tuple[IRI, Term]]:
        change = self._changes.get((graph, subject))
        if change is None:
            return self._before.facts(subject, graph)
        removed = set(change.removed)
        return [fact for fact in self._before.facts(subject, graph) if fact not in removed] + change.added

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> Iterable[Term]:
        before = self._before.objects(subject, predicate, graph)
        change = self._changes.get((graph, subject))
        if change is None:
            return before
        removed = {o for p, o in change.removed if p == predicate}
        added = [o for p, o in change.added if p == predicate]
        return [term for term in before if term not in removed] + added

    def exists(self, quad: Quad) -> bool:
        change = self._changes.get((quad.g, quad.s))
        if change is not None:
            fact = (quad.p, quad.o)
            if fact in change.added:
                return True
            if fact in change.removed:
                return False
        return self._before.exists(quad)

    def subjects(
        self, predicate: IRI, value: Term, graph: Graph | AnyGraph
    ) -> Iterator[tuple[Resource, Graph]]:
        removed, added = self._values().get((predicate, value), (set(), set()))
        for subject, where in self._before.subjects(predicate, value, graph):
            if (where, subject) not in removed:
                yield subject, where
        for where, subject in sorted(added, key=lambda place: (place[0] or (), place[1])):
            if graph is ANY or where == graph:
                yield subject, where

    def graphs(self, subject: Resource) -> Iterator[Graph]:
        if self._graphs is None:
            self._graphs = {}
            for g, s in self._changes:
                self._graphs.setdefault(s, set()).add(g)
        touched = self._graphs.get(subject, set())
        for graph in {*self._before.graphs(subject), *touched}:
            if graph not in touched or any(True for _ in self.facts(subject, graph)):
                yield graph

    def _values(self) -> dict[tuple[IRI, Term], tuple[set[Place], set[Place]]]:
        if self._by_value is None:
            self._by_value = {}
            for position, quads in enumerate((self._delta.removed, self._delta.added)):
                for s, p, o, g in quads:
                    self._by_value.setdefault((p, o), (set(), set()))[position].add((g, s))
        return self._by_value


class Draft:
    """A change that grows statement by statement; `view` shows its facts, objects and existence at any time.

    The other look-ups of `view` do not follow the draft.
    """

    def __init__(self, before: Lookups) -> None:
        self._changes: dict[Place, Change] = {}
        self.view = After(before, EMPTY_DELTA, self._changes)

    def add(self, quad: Quad) -> bool:
        """Add a statement; False when it is there already."""
        if self.view.exists(quad):
            return False
        change, fact = self._change(quad), (quad.p, quad.o)
        if fact in change.removed:
            change.removed.remove(fact)
        else:
            change.added.append(fact)
        return True

    def remove(self, quad: Quad) -> bool:
        """Remove a statement; False when it is not there."""
        if not self.view.exists(quad):
            return False
        change, fact = self._change(quad), (quad.p, quad.o)
        if fact in change.added:
            change.added.remove(fact)
        else:
            change.removed.append(fact)
        return True

    def delta(self) -> Delta:
        """The net change so far."""
        changes = self._changes.values()
        return Delta.of(
            [Quad(c.subject, p, o, c.graph) for c in changes for p, o in c.removed],
            [Quad(c.subject, p, o, c.graph) for c in changes for p, o in c.added],
        )

    def _change(self, quad: Quad) -> Change:
        return self._changes.setdefault((quad.g, quad.s), Change(quad.g, quad.s))
