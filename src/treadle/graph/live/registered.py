"""Which registrations counted when an event was committed: read from the log, kept by agent and commit.

A signature is judged by the keys of its time. A key that was removed since verifies what it signed then, and
one that was registered later verifies nothing before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from treadle.graph.delta import Delta
from treadle.graph.enrollment import Enrollment
from treadle.graph.entities import Event, Registration, is_registration_fact, read_registration
from treadle.graph.fold import is_numbered
from treadle.graph.live import stored
from treadle.graph.memory import Statements
from treadle.graph.terms import Quad, Resource
from treadle.graph.view import Graph
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary
from treadle.model import canonical
from treadle.model.record import LogRecord
from treadle.ports.store import ReadTx

Graphs = frozenset[Graph] | None


class Registrations:
    """The registrations of a history. Feed it every record that changed the graph or its rules, in order."""

    def __init__(self, names: Vocabulary) -> None:
        self._names = names
        self._facts = Statements((), names)
        self._places: dict[Resource, list[Registration]] = {}
        self._held: dict[str, dict[tuple[Graph, Resource], Registration]] = {}
        self._history: dict[str, list[tuple[int, tuple[Registration, ...]]]] = {}
        self._committed: dict[tuple[Graph, Resource], int] = {}
        self._graphs: list[tuple[int, Graphs]] = []

    @classmethod
    def of(cls, tx: ReadTx, names: Vocabulary) -> Registrations:
        """Those of a database's whole history; linear in what changed its graph."""
        found = cls(names)
        for item in stored.changes(tx, 0):
            found.follow(item)
        return found

    def follow(self, item: LogRecord) -> None:
        """Take a record over."""
        if item.kind == "enroll":
            fields = canonical.decode(item.body or b"")
            if isinstance(fields, dict):
                known = Enrollment.from_fields({"identity_graphs": None, "event_predicates": [], **fields})
                self._graphs.append((item.number, known.graphs))
        elif item.quads_added or item.quads_removed:
            self._change(stored.delta_of(item), item.number)

    def _change(self, delta: Delta, number: int) -> None:
        for s, p, o, g in delta.added:
            if p == RDF_TYPE and o == self._names.event:
                self._committed[g, s] = number
        own = Delta(tuple(filter(self._is_ours, delta.removed)), tuple(filter(self._is_ours, delta.added)))
        if own:
            self._facts.apply(own)
            touched = {quad.s for quad in (*own.removed, *own.added)}
            for name in {name for subject in touched for name in self._register(subject)}:
                now = tuple(self._held.get(name, {}).values())
                self._history.setdefault(name, []).append((number, now))

    def _is_ours(self, quad: Quad) -> bool:
        return is_registration_fact(quad.p, quad.o, self._names)

    def _register(self, subject: Resource) -> set[str]:
        """Take in what a subject is registered as now; the names that this concerns."""
        before = self._places.pop(subject, [])
        for old in before:
            del self._held[old.verifier][old.graph, subject]
        now = [
            found
            for graph in self._facts.graphs(subject)
            if (found := read_registration(self._facts, subject, graph, self._names)) is not None
        ]
        for new in now:
            self._held.setdefault(new.verifier, {})[new.graph, subject] = new
        if now:
            self._places[subject] = now
        return {one.verifier for one in (*before, *now)}

    def registered(self, event: Event, graph: Graph) -> Iterable[Registration]:
        """The registrations of an event's agent that were committed before it, as `treadle.graph.fold` asks.

        For an event from before enrollment, which was accepted by whatever was registered then: all there
        ever were.
        """
        history = self._history.get(event.agent, [])
        if not is_numbered(event):
            return dict.fromkeys(one for _, state in history for one in state)
        number = self._committed.get((graph, event.iri), 0)
        place = bisect_left(history, number, key=lambda change: change[0])
        graphs = self._counting(number)
        state = history[place - 1][1] if place else ()
        return [one for one in state if graphs is None or one.graph in graphs]

    def _counting(self, number: int) -> Graphs:
        """The identity graphs that were in force before a record."""
        place = bisect_left(self._graphs, number, key=lambda change: change[0])
        return self._graphs[place - 1][1] if place else None
