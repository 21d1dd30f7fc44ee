"""The graph as the store keeps it: statements and names in N-Quads spelling, and where they changed.

Beside the statement table stand, in the same transaction, the numbers of the records that changed the graph
(so that an index that is behind reads only those), and for each graph the last one (its version).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from treadle.engine import retained
from treadle.errors import DatabaseCorrupt, check
from treadle.graph.delta import Delta
from treadle.graph.terms import (
    IRI,
    RDF_LANG_STRING,
    XSD_STRING,
    Literal,
    Quad,
    Resource,
    Term,
    sorted_quads,
    trusted_blank,
    trusted_iri,
    trusted_literal,
)
from treadle.graph.view import Graph
from treadle.model import record
from treadle.model.record import LogRecord
from treadle.ports.store import QuadText, ReadTx, WriteTx

COMMIT: Final = "graph.commit"
"""The last record that changed the graph, and how many statements there are since: `b"4182 120"`."""

CHANGES: Final = "graph.changes"
"""The space whose keys are the numbers of the records that changed the graph, eight bytes each."""

VERSIONS: Final = "graph.versions"
"""The space that holds, by a graph's name ('' for the default graph), the last record that changed it."""

PAGE: Final = 256
Item = TypeVar("Item")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-F]{4})|(.))")
_PLAIN: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "\\": "\\"}


class GraphHead(NamedTuple):
    """The last record that changed the graph (0 where none did), and the number of statements."""

    number: int
    size: int


def quad_text(quad: Quad) -> QuadText:
    """A statement as the statement table and the log spell it."""
    return quad.s.n3(), quad.p.n3(), quad.o.n3(), graph_text(quad.g)


def graph_text(graph: Graph) -> str:
    """A graph's name in N-Quads spelling; '' for the default graph."""
    return "" if graph is None else graph.n3()


def read_quad(text: QuadText) -> Quad:
    """The statement that `quad_text` wrote."""
    subject, predicate, value, graph = text
    return Quad(
        read_resource(subject), read_name(predicate), read_term(value), read_name(graph) if graph else None
    )


def read_name(text: str) -> IRI:
    """An IRI in N-Quads spelling."""
    term = read_term(text)
    if not isinstance(term, IRI):
        raise DatabaseCorrupt("a name in the stored graph is no IRI; restore a backup")
    return term


def read_resource(text: str) -> Resource:
    """A subject in N-Quads spelling."""
    term = read_term(text)
    if isinstance(term, Literal):
        raise DatabaseCorrupt("a subject in the stored graph is a literal; restore a backup")
    return term


@lru_cache(maxsize=16_384)
def read_term(text: str) -> Term:
    """A term in N-Quads spelling; raises `DatabaseCorrupt` for what none is spelled like."""
    if text.startswith("<") and text.endswith(">"):
        return trusted_iri(text[1:-1])
    if text.startswith("_:"):
        return trusted_blank(text[2:])
    end = text.rfind('"')
    if not text.startswith('"') or end < 1:
        raise DatabaseCorrupt("a term in the stored graph cannot be read; restore a backup")
    value, rest = _unescaped(text[1:end]), text[end + 1 :]
    if rest.startswith("@"):
        return trusted_literal(value, RDF_LANG_STRING, rest[1:])
    return trusted_literal(value, rest[3:-1] if rest else XSD_STRING)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN[found[2]], text)


def line_of(text: QuadText) -> str:
    """A stored statement as one N-Quads line."""
    subject, predicate, value, graph = text
    return f"{subject} {predicate} {value} {graph} ." if graph else f"{subject} {predicate} {value} ."


# What changed, and where.


def head_of(tx: ReadTx) -> GraphHead:
    """The graph's head as of a transaction."""
    data = tx.setting(COMMIT)
    if data is None:
        return GraphHead(0, 0)
    number, size = data.split()
    return GraphHead(int(number), int(size))


def delta_of(stored: LogRecord) -> Delta:
    """The change of the graph that a record holds."""
    return Delta(
        tuple(map(read_quad, stored.quads_removed)),
        tuple(map(read_quad, stored.quads_added)),
        tuple(map(read_name, stored.graphs_created)),
        tuple(map(read_name, stored.graphs_dropped)),
    )


def changes(tx: ReadTx, after: int) -> Iterator[LogRecord]:
    """The records behind `after`, which are in the log, that changed the graph or its rules, in order."""
    check(after >= retained.floor(tx), "what changed the graph is read from the log's beginning on")
    key: bytes | None = number_key(after)
    while page := tx.entries(CHANGES, b"", key, PAGE):
        for key, _ in page:
            number = int.from_bytes(key)
            entry = next(tx.log(number, number), None)
            if entry is None:
                raise DatabaseCorrupt(
                    f"record {number} of the log, which changed the graph, is missing; run `treadle verify`"
                )
            yield record.decode(entry.data)


def drop_changes(tx: WriteTx, last: int, limit: int) -> int:
    """Forget at most `limit` of the earliest changes, of none after record `last`; how many they were."""
    keys = [key for key, _ in tx.entries(CHANGES, b"", None, limit) if int.from_bytes(key) <= last]
    if keys:
        tx.write_entries(CHANGES, [(key, None) for key in keys])
    return len(keys)


def number_key(number: int) -> bytes:
    """A record's number as a key that sorts like it."""
    return number.to_bytes(8)


def version_of(tx: ReadTx, graph: Graph) -> int:
    """The last record that changed a graph, 0 where none did."""
    found = tx.entries_at(VERSIONS, [graph_text(graph).encode()])[0]
    return 0 if found is None else int.from_bytes(found)


class Part(NamedTuple):
    """A change or a part of one, with its record's number; `commit` is the number of its last part."""

    number: int
    delta: Delta
    commit: int


def write(tx: WriteTx, parts: Iterable[Part]) -> None:
    """Write what records changed: each change computed from the state that those before it left."""
    head = head_of(tx)
    size, last, versions = head.size, head.number, dict[str, int]()
    entries: list[tuple[bytes, bytes | None]] = []
    for number, delta, commit in parts:
        tx.write_quads([quad_text(quad) for quad in delta.removed], [quad_text(quad) for quad in delta.added])
        if delta.graphs_created or delta.graphs_dropped:
            dropped = [name.n3() for name in delta.graphs_dropped]
            tx.write_graphs(dropped, [name.n3() for name in delta.graphs_created])
        size, last = size + len(delta.added) - len(delta.removed), number
        entries.append((number_key(number), b""))
        versions |= dict.fromkeys(map(graph_text, graphs_of(delta)), commit)
    tx.write_entries(CHANGES, entries)
    tx.write_entries(VERSIONS, [(name.encode(), number_key(commit)) for name, commit in versions.items()])
    tx.put_setting(COMMIT, b"%d %d" % (last, size))


def graphs_of(delta: Delta) -> set[Graph]:
    """The graphs that a change touches."""
    named: set[Graph] = {quad.g for quad in (*delta.removed, *delta.added)}
    return named.union(delta.graphs_created, delta.graphs_dropped)


def merged(deltas: Iterable[Delta]) -> Delta:
    """Changes that follow one another as one."""
    statements: dict[Quad, bool] = {}
    names: dict[IRI, bool] = {}
    for delta in deltas:
        _merge(statements, delta.removed, present=False)
        _merge(statements, delta.added, present=True)
        _merge(names, delta.graphs_dropped, present=False)
        _merge(names, delta.graphs_created, present=True)
    return Delta(
        sorted_quads(quad for quad, present in statements.items() if not present),
        sorted_quads(quad for quad, present in statements.items() if present),
        tuple(sorted(name for name, present in names.items() if present)),
        tuple(sorted(name for name, present in names.items() if not present)),
    )


def _merge(known: dict[Item, bool], items: Iterable[Item], *, present: bool) -> None:
    for item in items:
        if item in known:
            del known[item]  # each change is net, so the later one takes the earlier one back
        else:
            known[item] = present


def inverse(delta: Delta) -> Delta:
    """The change that takes a change back."""
    return Delta(delta.added, delta.removed, delta.graphs_dropped, delta.graphs_created)
