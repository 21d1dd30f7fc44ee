"""A set of statements in memory, with the look-ups of `treadle.graph.view`: for exported files and parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from treadle.errors import check
from treadle.graph.agents import Agents
from treadle.graph.delta import Delta
from treadle.graph.entities import Registration
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import ANY, AnyGraph, Graph
from treadle.graph.vocabulary import Vocabulary, vocabulary


class Statements:
    """Statements by subject, by predicate and object, and by predicate.

    Args:
        quads: the statements, in any order.
        names: the vocabulary, for the agents.
    """

    def __init__(self, quads: Iterable[Quad] = (), names: Vocabulary | None = None) -> None:
        self.names = names or vocabulary()
        self._facts: dict[tuple[Graph, Resource], dict[IRI, set[Term]]] = {}
        self._subjects: dict[tuple[IRI, Term], set[tuple[Graph, Resource]]] = {}
        self._graphs: dict[Resource, set[Graph]] = {}
        self._predicates: dict[IRI, set[Quad]] = {}
        for quad in quads:
            self._insert(quad)
        self._agents = Agents(self.names)
        self._agents.build(self)

    def __iter__(self) -> Iterator[Quad]:
        for quads in self._predicates.values():
            yield from quads

    def __len__(self) -> int:
        return sum(len(quads) for quads in self._predicates.values())

    def apply(self, delta: Delta) -> None:
        """Take a delta over; it must have been computed from these statements.

        Raises:
            InvariantBroken: a removed statement is not there, or an added one is.
        """
        self._agents.apply(self, delta)
        for quad in delta.removed:
            check(self.exists(quad), "a removed statement was there")
            self._remove(quad)
        for quad in delta.added:
            check(not self.exists(quad), "an added statement was not there")
            self._insert(quad)

    def facts(self, subject: Resource, graph: Graph) -> Iterator[tuple[IRI, Term]]:
        for predicate, terms in self._facts.get((graph, subject), {}).items():
            for term in terms:
                yield predicate, term

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> Iterator[Term]:
        yield from self._facts.get((graph, subject), {}).get(predicate, ())

    def exists(self, quad: Quad) -> bool:
        return quad.o in self._facts.get((quad.g, quad.s), {}).get(quad.p, ())

    def subjects(
        self, predicate: IRI, value: Term, graph: Graph | AnyGraph
    ) -> Iterator[tuple[Resource, Graph]]:
        for where, subject in self._subjects.get((predicate, value), ()):
            if graph is ANY or where == graph:
                yield subject, where

    def graphs(self, subject: Resource) -> Iterator[Graph]:
        yield from self._graphs.get(subject, ())

    def performers(self, name: str) -> Collection[IRI]:
        return self._agents.performers(name)

    def registered(self, name: str) -> Collection[Registration]:
        return self._agents.registered(name)

    def scan(self, predicate: IRI) -> Iterator[Quad]:
        yield from self._predicates.get(predicate, ())

    def _insert(self, quad: Quad) -> None:
        s, p, o, g = quad
        self._facts.setdefault((g, s), {}).setdefault(p, set()).add(o)
        self._subjects.setdefault((p, o), set()).add((g, s))
        self._graphs.setdefault(s, set()).add(g)
        self._predicates.setdefault(p, set()).add(quad)

    def _remove(self, quad: Quad) -> None:
        s, p, o, g = quad
        facts = self._facts[(g, s)]
        facts[p].discard(o)
        if not facts[p]:
            del facts[p]
        if not facts:
            del self._facts[(g, s)]
            self._graphs[s].discard(g)
        self._subjects[(p, o)].discard((g, s))
        self._predicates[p].discard(quad)
