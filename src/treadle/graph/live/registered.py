"""Which registrations counted when an event was committed: read from the log, kept by agent and commit.

A signature is judged by the keys of its time. A key that was removed since verifies what it signed then, and
one that was registered later verifies nothing before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from treadle.graph.delta import Delta
from treadle.graph.enrollment import Enrollment
from treadle.graph.entities import Event, Registration, is_registration_fact, read_registration
from treadle.graph.fold import is_numbered
from treadle.graph.live import stored
from treadle.graph.memory import Statements
from treadle.graph.terms import IRI, Quad, Resource
from treadle.graph.view import Graph
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary
from treadle.model import canonical
from treadle.model.facts import Cells
from treadle.model.record import LogRecord

Graphs = frozenset[Graph] | None


class Registrations:
    """The registrations of a history. Feed it every record that changed the graph or its rules, in order."""

    def __init__(self, names: Vocabulary) -> None:
        self.names = names
        self._facts = Statements((), names)
        self._places: dict[Resource, list[Registration]] = {}
        self._held: dict[str, dict[tuple[Graph, Resource], Registration]] = {}
        self._history: dict[str, list[tuple[int, tuple[Registration, ...]]]] = {}
        self._committed: dict[tuple[Graph, Resource], int] = {}
        self._graphs: list[tuple[int, Graphs]] = []

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
            if p == RDF_TYPE and o == self.names.event:
                self._committed[g, s] = number
        own = Delta(tuple(filter(self.is_ours, delta.removed)), tuple(filter(self.is_ours, delta.added)))
        if own:
            self._facts.apply(own)
            touched = {quad.s for quad in (*own.removed, *own.added)}
            for name in {name for subject in touched for name in self._register(subject)}:
                now = tuple(self._held.get(name, {}).values())
                self._history.setdefault(name, []).append((number, now))

    def is_ours(self, quad: Quad) -> bool:
        """Whether a statement belongs to a registration."""
        return is_registration_fact(quad.p, quad.o, self.names)

    def _register(self, subject: Resource) -> set[str]:
        """Take in what a subject is registered as now; the names that this concerns."""
        before = self._places.pop(subject, [])
        for old in before:
            del self._held[old.verifier][old.graph, subject]
        now = [
            found
            for graph in self._facts.graphs(subject)
            if (found := read_registration(self._facts, subject, graph, self.names)) is not None
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

    # What is kept of them where the beginning of the log goes.

    def items(self, stands: Callable[[Quad], bool]) -> Iterator[Cells]:
        """All of it as tuples, in an order that depends on nothing else; of the events, those that stand."""
        for number, graphs in self._graphs:
            names = sorted(map(stored.graph_text, graphs or ()))
            yield ("identity", number, graphs is None, *_packed(names))
        for text in sorted(map(stored.quad_text, self._facts)):
            yield ("fact", *_packed(text))
        for agent in sorted(self._history):
            for number, state in self._history[agent]:
                yield ("keys", agent, number)
                yield from sorted(map(_key_item, state))
        for (graph, subject), number in sorted(
            self._committed.items(), key=lambda one: (one[1], *_place(one[0]))
        ):
            if stands(Quad(subject, RDF_TYPE, self.names.event, graph)):
                yield ("event", number, *_packed((subject.n3(), stored.graph_text(graph))))

    def take(self, kind: str, *rest: Any) -> None:
        """Take one of those tuples over; after the last, `taken`."""
        match kind, *rest:
            case "identity", number, every, *texts:
                graphs = frozenset(_graph(text) for text in texts)
                self._graphs.append((number, None if every else graphs))
            case "fact", *texts:
                subject, predicate, value, graph = (text.decode() for text in texts)
                self._facts.apply(Delta((), (stored.read_quad((subject, predicate, value, graph)),)))
            case "keys", agent, number:
                self._history.setdefault(agent, []).append((number, ()))
            case "key", agent, subject, graph, public_key, iri, *attests:
                one = Registration(
                    stored.read_resource(subject.decode()),
                    _graph(graph),
                    agent,
                    public_key,
                    frozenset(text.decode() for text in attests),
                    None if iri is None else IRI(iri),
                )
                number, state = self._history[agent][-1]
                self._history[agent][-1] = (number, (*state, one))
            case "event", number, subject, graph:
                self._committed[_graph(graph), stored.read_resource(subject.decode())] = number

    def taken(self) -> None:
        """After the last of those tuples."""
        for subject in {quad.s for quad in self._facts}:
            self._register(subject)

    def assume(self, standing: Iterable[Quad], number: int) -> None:
        """Take what stood in the graph after a record for what had stood there from the beginning on."""
        self._change(Delta((), tuple(standing)), number)
        self._history = {agent: [(0, history[-1][1])] for agent, history in self._history.items()}


def _packed(texts: Iterable[str]) -> Iterator[bytes]:
    """Texts as they are kept: a literal may hold what no packed text can."""
    return (text.encode() for text in texts)


def _graph(text: bytes) -> Graph:
    return stored.read_name(text.decode()) if text else None


def _place(at: tuple[Graph, Resource]) -> tuple[str, str]:
    return stored.graph_text(at[0]), at[1].n3()


def _key_item(one: Registration) -> tuple[Any, ...]:
    graph, agent = stored.graph_text(one.graph), None if one.agent is None else one.agent.value
    subject, place = _packed((one.subject.n3(), graph))
    return ("key", one.verifier, subject, place, one.public_key, agent, *_packed(sorted(one.attests)))
