"""What a write changes in the dataset, computed before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from typing import Literal as OneOf

from treadle.graph.terms import IRI, Quad, sorted_quads


@dataclass(frozen=True, slots=True)
class Respelled:
    """A statement of a request whose literal is spelled otherwise than the dataset keeps it.

    Attributes:
        operation: whether the request inserts or deletes the statement.
        written: the statement as the request spells it.
        stored: the same statement in the canonical spelling.
    """

    operation: OneOf["insert", "delete"]
    written: Quad
    stored: Quad


@dataclass(frozen=True, slots=True)
class GraphCount:
    """How many statements a delta adds to and removes from one graph (``graph`` None: the default graph)."""

    graph: IRI | None
    asserted: int
    retracted: int


@dataclass(frozen=True, slots=True)
class Delta:
    """The net change of a whole request: applied to the state it was computed from, it gives the new state.

    Every removed statement was there before and every added one was not; no statement is in both.  All
    literals are in canonical spelling.  Statements and graphs are sorted, so equal changes are equal values.

    Attributes:
        removed: statements that the request takes away.
        added: statements that the request brings.
        graphs_created: named graphs that exist after the request and did not before.
        graphs_dropped: named graphs that existed before the request and do not after it.
        respelled: statements of the request, also ones without effect, that were not spelled canonically.
            Evidence about the request, no part of the change: comparisons leave it out.
    """

    removed: tuple[Quad, ...] = ()
    added: tuple[Quad, ...] = ()
    graphs_created: tuple[IRI, ...] = ()
    graphs_dropped: tuple[IRI, ...] = ()
    respelled: tuple[Respelled, ...] = field(default=(), compare=False)

    @classmethod
    def of(
        cls,
        removed: Iterable[Quad] = (),
        added: Iterable[Quad] = (),
        graphs_created: Iterable[IRI] = (),
        graphs_dropped: Iterable[IRI] = (),
        respelled: Iterable[Respelled] = (),
    ) -> Delta:
        """A delta of statements and graphs in any order."""
        return cls(
            sorted_quads(removed),
            sorted_quads(added),
            tuple(sorted(graphs_created)),
            tuple(sorted(graphs_dropped)),
            tuple(respelled),
        )

    def __bool__(self) -> bool:
        """Whether anything changes at all, statements or graphs."""
        return bool(self.removed or self.added or self.graphs_created or self.graphs_dropped)

    def counts(self) -> tuple[GraphCount, ...]:
        """Statements added and removed per graph, default graph first, only graphs where there are any."""
        tally: dict[IRI | None, list[int]] = {}
        for position, quads in enumerate((self.added, self.removed)):
            for quad in quads:
                tally.setdefault(quad.g, [0, 0])[position] += 1
        ordered = sorted(tally.items(), key=lambda item: item[0] or ())
        return tuple(GraphCount(graph, asserted, retracted) for graph, (asserted, retracted) in ordered)


EMPTY_DELTA: Final = Delta()
