"""A dataset in memory that counts what it is asked, so that a test can see what the guard's cost follows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from treadle.graph.delta import Delta
from treadle.graph.entities import Registration
from treadle.graph.memory import Statements
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import AnyGraph, Graph
from treadle.graph.vocabulary import Vocabulary


class MemoryQuads(Statements):
    """Statements; `asked` counts the look-ups and `yielded` the statements that they gave."""

    def __init__(self, quads: Iterable[Quad] = (), names: Vocabulary | None = None) -> None:
        self.asked = self.yielded = 0
        super().__init__(quads, names)
        self.asked = self.yielded = 0

    def delta(self, removed: Iterable[Quad] = (), added: Iterable[Quad] = ()) -> Delta:
        """The net change of removing, then adding: what a request that does both would come to."""
        gone, come = set(removed), set(added)
        removed = [quad for quad in gone - come if self.exists(quad)]
        return Delta.of(removed, [quad for quad in come if not self.exists(quad)])

    def facts(self, subject: Resource, graph: Graph) -> Iterator[tuple[IRI, Term]]:
        self.asked += 1
        for fact in super().facts(subject, graph):
            self.yielded += 1
            yield fact

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> Iterator[Term]:
        self.asked += 1
        for term in super().objects(subject, predicate, graph):
            self.yielded += 1
            yield term

    def exists(self, quad: Quad) -> bool:
        self.asked += 1
        return super().exists(quad)

    def subjects(
        self, predicate: IRI, value: Term, graph: Graph | AnyGraph
    ) -> Iterator[tuple[Resource, Graph]]:
        self.asked += 1
        for place in super().subjects(predicate, value, graph):
            self.yielded += 1
            yield place

    def graphs(self, subject: Resource) -> Iterator[Graph]:
        self.asked += 1
        return super().graphs(subject)

    def performers(self, name: str) -> Collection[IRI]:
        self.asked += 1
        return super().performers(name)

    def registered(self, name: str) -> Collection[Registration]:
        self.asked += 1
        return super().registered(name)
