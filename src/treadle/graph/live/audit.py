"""What a verification asks of the graph: statements against the log, and every run against its events.

Only digests of the statements are kept while the log is walked, some ninety bytes for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from treadle.engine import parts
from treadle.errors import InvalidInput, TreadleError
from treadle.graph.dataset import Index
from treadle.graph.entities import read_event
from treadle.graph.fold import Folded, fold_all, is_numbered
from treadle.graph.legacy import verifies
from treadle.graph.live import kept, rules, stored
from treadle.graph.live.registered import Registrations
from treadle.graph.memory import Statements
from treadle.graph.options import GraphOptions
from treadle.graph.terms import IRI
from treadle.graph.view import ANY
from treadle.graph.vocabulary import ACCEPTED_UNSIGNED, RDF_TYPE
from treadle.model import canonical
from treadle.model.facts import Cells
from treadle.model.record import LogRecord
from treadle.ports.store import QuadText, ReadTx

KINDS = frozenset(("update", "graph", "enroll", "disenroll"))
"""The kinds of records that are about the graph."""

SHOWN = 20
"""So many statements or runs of one kind are named."""


class GraphCheck:
    """Follows the graph through a history. Each method gives what does not agree, as sentences.

    `signatures` counts those that were checked, of events that stand in the graph or left it with an archive.
    `unfinished` is the last record of a change that has several, while they are followed, else 0.
    """

    def __init__(self, tx: ReadTx) -> None:
        self._tx = tx
        self._there: set[bytes] = set()
        self._names: set[str] = set()
        self._last = 0
        self._rules = rules.read(rules.raw_of(tx), GraphOptions())
        self._registrations = Registrations(self._rules.names)
        self._enforced: str | None = None
        self._accepted: set[str] = set()
        self._leaving: list[QuadText] = []
        self._archived = 0
        self.signatures = 0
        self.unfinished = 0

    # Where the log's beginning is gone.

    def begin(self) -> None:
        """Go on from what is kept of the graph where the log begins; raises `DatabaseCorrupt`."""
        items = parts.of_graph(self._tx)
        first = next(items, None)
        if first is None:
            return
        about = kept.Header(*first[1:])
        self._last, self._archived = about.last, about.archived
        self._enforced = about.base_ns if about.enforced else None
        kept.begin(self._tx, self._registrations, about, filter(None, map(self._take, items)))

    def _take(self, item: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Take what is the check's own; what is not comes back."""
        kind, *rest = item
        if kind == "name":
            self._names.add(rest[0])
        elif kind == "accepted":
            self._accepted.add(rest[0].decode())
        elif kind == "statements":
            self._there.update(kept.digests(rest[0]))
        else:
            return item
        return None

    def items(self) -> Iterator[Cells]:
        """What has to be kept where the log's beginning goes, as of the last record that was followed."""
        names = self._registrations.names
        yield ("graph", *kept.Header(self._last, names.base, self._enforced is not None, self._archived))
        for name in sorted(self._names):
            yield ("name", name)
        yield from self._registrations.items(lambda quad: _digest(stored.quad_text(quad)) in self._there)
        for run in sorted(self._accepted):
            yield ("accepted", run.encode())
        yield from kept.blobs(sorted(self._there))

    def place(self, number: int) -> Iterator[str]:
        """After record `number`, the last one that is to go: the runs as they stood there.

        Raises `InvalidInput` where the log cannot begin there.
        """
        if self.unfinished > number:
            raise InvalidInput(
                f"record {number} is in the middle of a change of the graph; name record {self.unfinished}, "
                "its last",
                path="through",
            )
        if self._enforced is None:
            return
        if self._enforced != self._registrations.names.base:
            raise InvalidInput(
                f"at record {number} the graph was enrolled under {self._enforced}, and is not any more; "
                "name a record after that enrollment ended",
                path="through",
            )
        index = indexed(self._tx)
        since = stored.merged(stored.delta_of(item) for item in stored.changes(self._tx, number))
        index.apply(stored.inverse(since))
        if {_digest(stored.quad_text(quad)) for quad in index.quads()} != self._there:
            yield f"the stored statements do not lead back to those of record {number}"
        yield from self._folded(fold_all(index, self._registrations.names, self._registrations.registered))

    # The records.

    def record(self, item: LogRecord) -> Iterator[str]:
        """A record; those that are not about the graph pass."""
        if item.kind not in KINDS:
            return
        self._registrations.follow(item)
        body = canonical.decode(item.body) if item.body else None
        fields = body if isinstance(body, dict) else {}
        self._rule(item, fields)
        if not (item.quads_removed or item.quads_added or item.graphs_created or item.graphs_dropped):
            return
        self._last, self.unfinished = item.number, fields.get("commit", 0)
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
        yield from self._left(item)

    def _rule(self, item: LogRecord, fields: dict[Any, Any]) -> None:
        if item.kind == "enroll":
            self._enforced = str(fields.get("base_ns", ""))
        elif item.kind == "disenroll":
            self._enforced = None
        elif (item.kind, item.name) == ("graph", "migrate"):
            self._accepted.update(text[0] for text in item.quads_added if text[1] == ACCEPTED_UNSIGNED.n3())

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

    def _left(self, item: LogRecord) -> Iterator[str]:
        """What an archive takes out of the graph: the signatures, while the statements are at hand."""
        if item.kind != "graph" or (item.name != "archive" and not self._leaving):
            return
        self._leaving += item.quads_removed
        if self.unfinished:
            return
        names, left = self._registrations.names, self._leaving
        self._leaving = []
        if self._enforced != names.base:
            return
        view = Statements(map(stored.read_quad, left), names)
        for subject, graph in view.subjects(RDF_TYPE, names.event, ANY):
            event = read_event(subject, view.facts(subject, graph), names)
            if event is None or not is_numbered(event):
                continue  # from before enrollment: the operator had it accepted
            plans = {str(plan) for plan in view.objects(event.run, names.run_of, graph)}
            keys = self._registrations.registered(event, graph)
            if not verifies(event, [key for key in keys if plans & key.attests]):
                yield f"no key of its time verifies the signature of {subject}, which it archived"
            self._archived += 1
            self.signatures += 1

    # After the last record.

    def rest(self) -> Iterator[str]:
        """The statement table, and the runs of an enrolled database."""
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
        if self._rules.stored is not None:
            yield from self._folded(runs(self._tx, self._registrations))

    def _folded(self, found: Iterator[Folded]) -> Iterator[str]:
        shown = 0
        for folded in found:
            self.signatures += len(folded.events) - len(folded.unsigned)
            for problem in folded.problems:
                shown += 1
                if shown <= SHOWN:
                    yield f"run {folded.run} does not fold: {problem.subject}: {problem.detail}"


def indexed(tx: ReadTx) -> Index:
    """An index of the statement table."""
    graphs: list[IRI] = [stored.read_name(name) for name in tx.graphs()]
    return Index.build(map(stored.line_of, tx.quads()), graphs=graphs)


def runs(tx: ReadTx, registrations: Registrations | None = None) -> Iterator[Folded]:
    """Every run of a database, folded with the keys of each event's time; in code-point order."""
    known = rules.read(rules.raw_of(tx), GraphOptions())
    found = registrations or kept.all_registrations(tx, known.names)
    return fold_all(indexed(tx), known.names, found.registered)


def advances_after(tx: ReadTx, number: int) -> int:
    """How many signed advances were committed behind a record, which the log has or begins behind."""
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
    return blake2b("\n".join(text).encode(), digest_size=kept.DIGEST_BYTES).digest()
