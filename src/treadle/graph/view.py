"""What the guard, the fold, the migration and doctor read: look-ups of committed statements.

Each of the `Lookups` must be answered from an index, at a cost that follows the answer and not the dataset.
`Survey` adds the scans that only doctor needs; `treadle.graph.agents.Before` what the guard asks of agents.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final, Protocol, TypeAlias

from treadle.graph.terms import IRI, Quad, Resource, Term

Graph: TypeAlias = IRI | None
"""The name of a graph; None is the default graph."""


class AnyGraph(Enum):
    """The wild card for look-ups over every graph."""

    ANY = "any"


ANY: Final = AnyGraph.ANY


class Lookups(Protocol):
    """Committed statements, asked one by one."""

    def facts(self, subject: Resource, graph: Graph) -> Iterable[tuple[IRI, Term]]:
        """Predicate and object of every statement about the subject in the graph."""

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> Iterable[Term]:
        """The objects of the subject's statements with the predicate in the graph."""

    def exists(self, quad: Quad) -> bool:
        """Whether the statement is committed."""

    def subjects(
        self, predicate: IRI, value: Term, graph: Graph | AnyGraph
    ) -> Iterable[tuple[Resource, Graph]]:
        """Subject and graph of every statement with the predicate and object, in one graph or `ANY`."""

    def graphs(self, subject: Resource) -> Iterable[Graph]:
        """The graphs in which there are statements about the subject, each once."""


class Survey(Lookups, Protocol):
    """A whole dataset, for acts that look at all of it."""

    def scan(self, predicate: IRI) -> Iterable[Quad]:
        """Every statement with the predicate, in every graph."""
