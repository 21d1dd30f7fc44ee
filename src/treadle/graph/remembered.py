"""Look-ups remembered for the length of one request, because several rules ask the same."""

from __future__ import annotations

from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import AnyGraph, Graph, Lookups


class Remembered:
    """A view that asks each question once.  What it reads from must not change while it lives."""

    def __init__(self, view: Lookups) -> None:
        self._view = view
        self._facts: dict[tuple[Resource, Graph], list[tuple[IRI, Term]]] = {}
        self._objects: dict[tuple[Resource, IRI, Graph], list[Term]] = {}
        self._exists: dict[Quad, bool] = {}
        self._subjects: dict[tuple[IRI, Term, Graph | AnyGraph], list[tuple[Resource, Graph]]] = {}
        self._graphs: dict[Resource, list[Graph]] = {}

    def facts(self, subject: Resource, graph: Graph) -> list[tuple[IRI, Term]]:
        found = self._facts.get((subject, graph))
        if found is None:
            found = self._facts[subject, graph] = list(self._view.facts(subject, graph))
        return found

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> list[Term]:
        found = self._objects.get((subject, predicate, graph))
        if found is None:
            found = list(self._view.objects(subject, predicate, graph))
            self._objects[subject, predicate, graph] = found
        return found

    def exists(self, quad: Quad) -> bool:
        found = self._exists.get(quad)
        if found is None:
            known = self._objects.get((quad.s, quad.p, quad.g))
            found = self._exists[quad] = self._view.exists(quad) if known is None else quad.o in known
        return found

    def subjects(self, predicate: IRI, value: Term, graph: Graph | AnyGraph) -> list[tuple[Resource, Graph]]:
        found = self._subjects.get((predicate, value, graph))
        if found is None:
            found = list(self._view.subjects(predicate, value, graph))
            self._subjects[predicate, value, graph] = found
        return found

    def graphs(self, subject: Resource) -> list[Graph]:
        found = self._graphs.get(subject)
        if found is None:
            found = self._graphs[subject] = list(self._view.graphs(subject))
        return found
