"""What a verification asks of the graph: statements against the log, and every run against its events.

Only digests of the statements are kept while the log is walked, some ninety bytes for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from treadle.errors import TreadleError
from treadle.graph.dataset import Index
from treadle.graph.fold import Folded, fold_all
from treadle.graph.live import rules, stored
from treadle.graph.live.registered import Registrations
from treadle.graph.options import GraphOptions
from treadle.graph.terms import IRI
from treadle.graph.vocabulary import RDF_TYPE
from treadle.model.record import LogRecord
from treadle.ports.store import QuadText, ReadTx

KINDS = frozenset(("update", "graph", "enroll", "disenroll"))
"""The kinds of records that are about the graph."""

SHOWN = 20
"""So many statements or runs of one kind are named."""


class GraphCheck:
    """Follows the graph through a history. Each method gives what does not agree, as sentences."""

    def __init__(self, tx: ReadTx) -> None:
        self._tx = tx
        self._there: set[bytes] = set()
        self._names: set[str] = set()
        self._last = 0
        self._rules = rules.read(rules.raw_of(tx), GraphOptions())
        self._registrations = Registrations(self._rules.names)

    def record(self, item: LogRecord) -> Iterator[str]:
        """A record; those that are not about the graph pass."""
        if item.kind not in KINDS:
            return
        self._registrations.follow(item)
        if not (item.quads_removed or item.quads_added or item.graphs_created or item.graphs_dropped):
            return
        self._last = item.number
        missing = sum(not self._remove(text) for text in item.quads_removed)
        doubled = sum(not self._add(text) for text in item.quads_added)
        if missing:
            yield f"{missing} statements that it removed were not there"
        if doubled:
            yield f"{doubled} statements that it added were there already"
        if not self._names.isdisjoint(item.graphs_created) or not self._names.issuperset(item.graphs_dropped):
            yield "it made or dropped graphs that were there, or were not"
        self._names.update(item.graphs_created)
        self._names.difference_update(item.graphs_dropped)
        if self._tx.entries_at(stored.CHANGES, [stored.number_key(item.number)])[0] is None:
            yield "it is not listed among those that changed the graph"

    def _remove(self, text: QuadText) -> bool:
        key = _digest(text)
        known = key in self._there
        self._there.discard(key)
        return known

    def _add(self, text: QuadText) -> bool:
        key = _digest(text)
        known = key in self._there
        self._there.add(key)
        return not known

    def rest(self) -> Iterator[str]:
        """After the last record: the statement table, and the runs of an enrolled database."""
        count = 0
        for text in self._tx.quads():
            if _digest(text) in self._there:
                self._there.discard(_digest(text))
            elif count < SHOWN:
                count += 1
                yield f"a stored statement about {text[0]} is not what the log gives"
        if self._there:
            yield f"{len(self._there)} statements that the log gives are not stored"
        if self._names != set(self._tx.graphs()):
            yield "the stored names of graphs are not those that the log gives"
        if stored.head_of(self._tx).number != self._last:
            yield "the graph's head is not the last record that changed it"
        yield from self._runs()

    def _runs(self) -> Iterator[str]:
        if self._rules.stored is None:
            return
        shown = 0
        for folded in runs(self._tx, self._registrations):
            for problem in folded.problems:
                shown += 1
                if shown <= SHOWN:
                    yield f"run {folded.run} does not fold: {problem.subject}: {problem.detail}"


def runs(tx: ReadTx, registrations: Registrations | None = None) -> Iterator[Folded]:
    """Every run of a database, folded with the keys of each event's time; in code-point order."""
    known = rules.read(rules.raw_of(tx), GraphOptions())
    found = registrations or Registrations.of(tx, known.names)
    names: list[IRI] = [stored.read_name(name) for name in tx.graphs()]
    index = Index.build(map(stored.line_of, tx.quads()), graphs=names)
    return fold_all(index, known.names, found.registered)


def advances_after(tx: ReadTx, number: int) -> int:
    """How many signed advances were committed behind a record while processing was enforced."""
    known = rules.read(rules.raw_of(tx), GraphOptions())
    names = known.names
    count = 0
    for item in stored.changes(tx, number):
        delta = stored.delta_of(item)
        numbered = {(quad.g, quad.s) for quad in delta.added if quad.p == names.from_revision}
        events = {(q.g, q.s) for q in delta.added if q.p == RDF_TYPE and q.o == names.event}
        count += len(numbered & events)
    return count


def first_problem(tx: ReadTx) -> str | None:
    """Why an enrolled database's runs are not what their events lead to, or None."""
    if rules.raw_of(tx)[0] is None:
        return None
    try:
        for folded in runs(tx):
            if folded.problems:
                problem = folded.problems[0]
                return f"run {folded.run} does not fold: {problem.subject}: {problem.detail}"
    except TreadleError as error:
        return error.message
    return None


def _digest(text: QuadText) -> bytes:
    return blake2b("\n".join(text).encode(), digest_size=16).digest()
