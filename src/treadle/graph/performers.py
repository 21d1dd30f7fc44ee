"""The index behind `Before.performers`: which IRIs perform events, by the agent name that they end in."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from treadle.graph.delta import Delta
from treadle.graph.signatures import agent_name
from treadle.graph.terms import IRI, Quad, Resource, Term
from treadle.graph.view import ANY, Before, Graph
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary


class Performers:
    """Counts, for each agent name, the committed events that each IRI performs.

    Only subjects typed as events count, so that other data cannot take a name.  Build it once from the
    dataset and call `apply` with every committed delta, before the dataset itself changes.
    """

    def __init__(self, names: Vocabulary) -> None:
        self._names = names
        self._counts: dict[str, dict[IRI, int]] = {}

    def build(self, before: Before) -> None:
        """Count a whole dataset anew, in time linear in its events."""
        self._counts.clear()
        for subject, graph in before.subjects(RDF_TYPE, self._names.event, ANY):
            self._add(before.objects(subject, self._names.performed_by, graph), 1)

    def named(self, name: str) -> Collection[IRI]:
        """The IRIs of that agent name that perform a counted event."""
        return self._counts.get(name, {}).keys()

    def apply(self, before: Before, delta: Delta) -> None:
        """Follow a delta; `before` is the state that it was computed from.

        The cost follows the events in the delta.
        """
        removed, added = self._touched(delta.removed), self._touched(delta.added)
        for subject, graph in removed.keys() | added.keys():
            gone, come = removed.get((subject, graph), ()), added.get((subject, graph), ())
            facts = self._facts(before, subject, graph)
            self._count(facts, -1)
            self._count((facts - set(gone)) | set(come), 1)

    def _facts(self, before: Before, subject: Resource, graph: Graph) -> set[tuple[IRI, Term]]:
        performers = before.objects(subject, self._names.performed_by, graph)
        facts: set[tuple[IRI, Term]] = {(self._names.performed_by, term) for term in performers}
        if before.exists(Quad(subject, RDF_TYPE, self._names.event, graph)):
            facts.add((RDF_TYPE, self._names.event))
        return facts

    def _touched(self, quads: Iterable[Quad]) -> dict[tuple[Resource, Graph], list[tuple[IRI, Term]]]:
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
