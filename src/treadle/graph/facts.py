"""The facts of subjects that were asked for lately, kept in memory beside the index.

The guard asks for the same few at every advance: a run, its plan, a step.  Reading them from the index costs
far more than the answer is worth, so the facts of a subject with few of them are read at once and kept until
a change touches it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, TypeAlias

from treadle.graph.dataset import Index
from treadle.graph.delta import Delta
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import Graph

FEW: Final = 32
"""Facts of a subject in a graph that are kept; one with more is asked of the index."""

SUBJECTS: Final = 4_096
"""That are kept."""

_Facts: TypeAlias = dict[IRI, list[Term]]


class Facts:
    """Look-ups of an index for whoever holds the right to change it, and tells of every change beforehand.

    Not for several threads at once.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: dict[tuple[Resource, Graph], _Facts | None] = {}
        self.subjects = index.subjects
        self.graphs = index.graphs
        self.has_graph = index.has_graph
        self.named_graphs = index.named_graphs
        self.size = index.size
        self.quads = index.quads

    def facts(self, subject: Resource, graph: Graph) -> list[tuple[IRI, Term]]:
        """Predicate and object of every statement about the subject in the graph."""
        known = self._of(subject, graph)
        if known is None:
            return self.index.facts(subject, graph)
        return [(predicate, term) for predicate, terms in known.items() for term in terms]

    def objects(self, subject: Resource, predicate: IRI, graph: Graph) -> Sequence[Term]:
        """The objects of the subject's statements with the predicate in the graph."""
        known = self._of(subject, graph)
        return self.index.objects(subject, predicate, graph) if known is None else known.get(predicate, ())

    def exists(self, quad: Quad) -> bool:
        """Whether the statement is there."""
        known = self._of(quad[0], quad[3])
        return self.index.exists(quad) if known is None else quad[2] in known.get(quad[1], ())

    def existing(self, quads: Collection[Quad]) -> set[Quad]:
        """Those of some statements that are there."""
        return {quad for quad in quads if self.exists(quad)}

    def changing(self, delta: Delta) -> None:
        """The index is about to change: forget the subjects that are touched."""
        known = self._known
        if len(delta.removed) + len(delta.added) > SUBJECTS:
            known.clear()  # cheaper than to look each up
            return
        for quads in (delta.removed, delta.added):
            for quad in quads:
                known.pop((quad[0], quad[3]), None)

    def _of(self, subject: Resource, graph: Graph) -> _Facts | None:
        """A subject's facts by predicate, None where there are many."""
        place = subject, graph
        if place in self._known:
            return self._known[place]
        some = self.index.some_facts(subject, graph, FEW + 1)
        found: _Facts | None = None
        if len(some) <= FEW:
            found = {}
            for predicate, term in some:
                found.setdefault(predicate, []).append(term)
        self._known[place] = found
        if len(self._known) > SUBJECTS:
            del self._known[next(iter(self._known))]
        return found
