"""A dataset in memory with the look-ups that the guard asks for, each from an index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from treadle.errors import check
from treadle.graph.delta import Delta
from treadle.graph.performers import Performers
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import ANY, AnyGraph, Graph
from treadle.graph.vocabulary import Vocabulary, vocabulary


class MemoryQuads:
    """Statements by subject, by predicate and object, and by predicate; see `treadle.graph.view.Survey`.

    `asked` counts the look-ups and `yielded` the statements that they gave, so that a test can see that
    the guard's cost does not follow the dataset.
    """

    def __init__(self, quads: Iterable[Quad] = (), names: Vocabulary | None = None) -> None:
        self.names = names or vocabulary()
        self.asked = 0
        self.yielded = 0
        self._facts: dict[tuple[Graph, Resource], dict[IRI, set[Term]]] = {}
        self._subjects: dict[tuple[IRI, Term], set[tuple[Graph, Resource]]] = {}
        self._graphs: dict[Resource, set[Graph]] = {}
        self._predicates: dict[IRI, set[Quad]] = {}
        for quad in quads:
            self._insert(quad)
        self._performers = Performers(self.names)
        self._performers.build(self)
        self.asked = self.yielded = 0

    def copy(self) -> MemoryQuads:
        return MemoryQuads(self, self.names)

    def __iter__(self) -> Iterator[Quad]:
        for quads in self._predicates.values():
            yield from quads

    def __len__(self) -> int:
        return sum(len(quads) for quads in self._predicates.values())

    def delta(self, removed: Iterable[Quad] = (), added: Iterable[Quad] = ()) -> Delta:
        """The net change of removing, then adding: what a request that does both would come to."""
        gone, come = set(removed), set(added)
        removed = [quad for quad in gone - come if self.exists(quad)]
        return Delta.of(removed, [quad for quad in come if not self.exists(quad)])

    def apply(self, delta: Delta) -> None:
        """Commit a delta."""
        self._performers.apply(self, delta)
        for quad in delta.removed:
            check(self.exists(quad), "a removed statement was there")
            self._remove(quad)
        for quad in delta.added:
            check(not self.exists(quad), "an added statement was not there")
            self._insert(quad)

    def facts(self, subject: Resource, graph: Graph) -> Iterator[tuple[IRI, Term]]:
        self.asked += 1
        for predicate, terms in self._facts.get((graph, subject), {}).items():
            for term in terms:
                self.yielded += 1
                yield predicate, term

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> Iterator[Term]:
        self.asked += 1
        for term in self._facts.get((graph, subject), {}).get(predicate, ()):
            self.yielded += 1
            yield term

    def exists(self, quad: Quad) -> bool:
        self.asked += 1
        return quad.o in self._facts.get((quad.g, quad.s), {}).get(quad.p, ())

    def subjects(
        self, predicate: IRI, value: Term, graph: Graph | AnyGraph
    ) -> Iterator[tuple[Resource, Graph]]:
        self.asked += 1
        for where, subject in self._subjects.get((predicate, value), ()):
            if graph is ANY or where == graph:
                self.yielded += 1
                yield subject, where

    def graphs(self, subject: Resource) -> Iterator[Graph]:
        self.asked += 1
        yield from self._graphs.get(subject, ())

    def performers(self, name: str) -> Collection[IRI]:
        self.asked += 1
        return self._performers.named(name)

    def scan(self, predicate: IRI) -> Iterator[Quad]:
        self.asked += 1
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
