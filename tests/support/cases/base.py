"""What a case is, and small changes to sets of statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.workflows import OPERATOR, Release, Request
from treadle.graph.guard import Context
from treadle.graph.terms import IRI, BlankNode, Quad

Make = Callable[[Release], Request]
OTHER = IRI("http://example.org/other-graph")
COMMENT = IRI("http://www.w3.org/2000/01/rdf-schema#comment")


@dataclass(frozen=True)
class Case:
    """One request: the reason that it trips (None: accepted), the field that the refusal names, and how."""

    reason: str | None
    label: str
    make: Make
    field: str | None = None
    context: Context = OPERATOR

    def __str__(self) -> str:
        return f"{self.reason or 'accepted'}: {self.label}"


def adding(setup: set[Quad], *added: Quad) -> Request:
    return Request(set(setup), set(), set(added))


def removing(setup: set[Quad], *removed: Quad) -> Request:
    return Request(set(setup), set(removed), set())


def renamed(quads: set[Quad], old: IRI, new: IRI | BlankNode) -> set[Quad]:
    """The statements with another subject in place of `old`."""
    return {Quad(new if q.s == old else q.s, q.p, q.o, q.g) for q in quads}


def moved(quads: set[Quad], graph: IRI | None) -> set[Quad]:
    """The statements in another graph."""
    return {quad._replace(g=graph) for quad in quads}


def of_entity(setup: set[Quad], subject: IRI) -> set[Quad]:
    return {quad for quad in setup if quad.s == subject}
