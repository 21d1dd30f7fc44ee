"""A guarded dataset behind a transport that loses requests and answers on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from tests.support.workflows import NAMES, OPERATOR
from treadle.errors import Denied
from treadle.graph.client import Applied, NoAnswer, Unreachable
from treadle.graph.delta import Delta
from treadle.graph.guard import Context, Refusal, judge
from treadle.graph.memory import Statements
from treadle.graph.terms import IRI, BlankNode, Literal, Quad, Resource, Term

ENABLED: Mapping[str, Any] = {"processing": "enabled", "signatureVersions": [2]}


class GuardedServer:
    """A dataset whose updates are executed by Oxigraph on a copy, judged, and then committed.

    `faults` are taken one for each update, in order: `lost` (never executed), `answer lost` (executed, and
    the answer is gone), `late` (executed just before the next update), `unreachable` (nothing is sent), and
    `denied`, `ok`.  `query_faults` likewise for queries.  `before_update` runs once, just before the next
    update: another writer.
    """

    def __init__(self, quads: Iterable[Quad] = (), context: Context = OPERATOR) -> None:
        self.store = ox.Store()
        self.context = context
        self.tx = 0
        self.offered: Mapping[str, Any] | None = ENABLED
        self.faults: list[str] = []
        self.query_faults: list[str] = []
        self.updates: list[str] = []
        self.before_update: Callable[[], object] | None = None
        self._late: list[str] = []
        for quad in quads:
            self.store.add(to_ox(quad))

    def capabilities(self) -> Mapping[str, Any] | None:
        return self.offered

    def query(self, text: str) -> Mapping[str, Any]:
        fault = self.query_faults.pop(0) if self.query_faults else "ok"
        fail(fault, before=True)
        results = self.store.query(text)
        assert isinstance(results, ox.QuerySolutions)
        found = results.serialize(format=ox.QueryResultsFormat.JSON)
        answer: Mapping[str, Any] = json.loads(found or b"{}")
        return answer

    def update(self, text: str) -> Applied:
        fault = self.faults.pop(0) if self.faults else "ok"
        fail(fault, before=True)
        self.updates.append(text)
        if fault == "late":
            self._late.append(text)
            raise NoAnswer("late")
        for late in self._late:
            self._apply(late)
        self._late.clear()
        if self.before_update is not None:
            act, self.before_update = self.before_update, None
            act()
        answer = self._apply(text)
        fail(fault, before=False)
        return answer

    def quads(self) -> set[Quad]:
        return {from_ox(quad) for quad in self.store}

    def _apply(self, text: str) -> Applied:
        before = set(self.store)
        copy = ox.Store()
        copy.extend(before)
        copy.update(text)
        after = set(copy)
        delta = Delta.of(map(from_ox, before - after), map(from_ox, after - before))
        answer = judge(Statements(map(from_ox, before), NAMES), delta, self.context)
        if isinstance(answer, Refusal):
            raise answer.error()
        self.store = copy
        if not delta:
            return Applied(None, 0, 0)
        self.tx += 1
        return Applied(self.tx, len(delta.added), len(delta.removed))


def fail(fault: str, *, before: bool) -> None:
    if before and fault == "denied":
        raise Denied("denied")
    if before and fault == "unreachable":
        raise Unreachable("unreachable")
    if (before and fault == "lost") or (not before and fault == "answer lost"):
        raise NoAnswer(fault)


def to_ox(quad: Quad) -> ox.Quad:
    graph = ox.DefaultGraph() if quad.g is None else ox.NamedNode(quad.g.value)
    return ox.Quad(_node(quad.s), ox.NamedNode(quad.p.value), _ox_term(quad.o), graph)


def _node(term: Resource) -> ox.NamedNode | ox.BlankNode:
    return ox.NamedNode(term.value) if isinstance(term, IRI) else ox.BlankNode(term.value)


def _ox_term(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if not isinstance(term, Literal):
        return _node(term)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype))


def from_ox(quad: Any) -> Quad:
    graph = None if isinstance(quad.graph_name, ox.DefaultGraph) else IRI(quad.graph_name.value)
    subject = _term(quad.subject)
    assert not isinstance(subject, Literal)
    return Quad(subject, IRI(quad.predicate.value), _term(quad.object), graph)


def _term(term: Any) -> Term:
    if isinstance(term, ox.NamedNode):
        return IRI(term.value)
    if isinstance(term, ox.BlankNode):
        return BlankNode(term.value)
    if term.language:
        return Literal(term.value, language=term.language)
    return Literal(term.value, term.datatype.value)
