"""What of the graph is kept where the beginning of a log goes, and how who needs it goes on from there.

The statements themselves stay where they are: a digest of each is kept, by which verification tells them
from others. Kept whole is what only the records knew: which keys were registered as of which record, which
record each event came with, what an operator accepted. docs/formats/snapshot.md lists the tuples.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from treadle.engine import parts, retained
from treadle.graph.delta import Delta
from treadle.graph.live import stored
from treadle.graph.live.registered import Registrations
from treadle.graph.terms import Quad
from treadle.graph.vocabulary import RDF_TYPE, Vocabulary
from treadle.model.facts import Cells
from treadle.ports.store import ReadTx

DIGEST_BYTES: Final = 16
_TOGETHER: Final = 1_000
REGISTERED: Final = frozenset(("identity", "fact", "keys", "key", "event"))
"""The kinds of tuples that are about registrations."""


class Header(NamedTuple):
    """The first tuple: the last record that changed the graph, the namespace that keys were read under,
    whether processing was enforced, and how many signatures of archived events were checked."""

    last: int
    base_ns: str
    enforced: bool
    archived: int


def header(tx: ReadTx) -> Header | None:
    """The header of what is kept; None where all records are there, or none was about the graph."""
    first = next(parts.of_graph(tx), None)
    return None if first is None else Header(*first[1:])


def blobs(digests: list[bytes]) -> Iterator[Cells]:
    """Sorted digests as tuples, many in each."""
    source = iter(digests)
    while some := tuple(islice(source, _TOGETHER)):
        yield ("statements", b"".join(some))


def digests(blob: bytes) -> Iterator[bytes]:
    """The digests in a tuple."""
    for start in range(0, len(blob), DIGEST_BYTES):
        yield blob[start : start + DIGEST_BYTES]


def accepted(tx: ReadTx) -> Iterator[str]:
    """The runs, in N-Quads spelling, whose unsigned events an operator accepted in records that are gone."""
    for kind, *rest in parts.of_graph(tx):
        if kind == "accepted":
            yield rest[0].decode()


def registrations(tx: ReadTx, names: Vocabulary) -> Registrations:
    """The registrations of the records that are gone; to be fed the records behind them."""
    found = Registrations(names)
    items = parts.of_graph(tx)
    first = next(items, None)
    if first is not None:
        begin(tx, found, Header(*first[1:]), (item for item in items if item[0] in REGISTERED))
    return found


def begin(tx: ReadTx, found: Registrations, about: Header, items: Iterator[tuple[Any, ...]]) -> None:
    """Let registrations go on from what is kept of them."""
    same = about.base_ns == found.names.base
    for kind, *rest in items:
        if same or kind == "identity":
            found.take(kind, *rest)
    if same:
        found.taken()
    else:
        found.assume(_standing(tx, found, retained.floor(tx)), retained.floor(tx))


def _standing(tx: ReadTx, found: Registrations, number: int) -> set[Quad]:
    """The registrations and events that stood in the graph after a record, under names that it did not have
    then: those that stand there now, without what the records since then did."""

    def ours(quad: Quad) -> bool:
        return found.is_ours(quad) or (quad.p, quad.o) == (RDF_TYPE, found.names.event)

    terms = {name.n3() for name in found.names.registration_properties} | {RDF_TYPE.n3()}
    now = {quad for text in tx.quads() if text[1] in terms and ours(quad := stored.read_quad(text))}
    changes = []
    for item in stored.changes(tx, number):
        delta = stored.delta_of(item)
        changes.append(Delta(tuple(filter(ours, delta.removed)), tuple(filter(ours, delta.added))))
    since = stored.merged(changes)
    return (now - set(since.added)) | set(since.removed)


def all_registrations(tx: ReadTx, names: Vocabulary) -> Registrations:
    """The registrations of a database's whole history; linear in what changed its graph since the log's
    beginning, and in what is kept of the graph from before."""
    found = registrations(tx, names)
    for item in stored.changes(tx, retained.floor(tx)):
        found.follow(item)
    return found
