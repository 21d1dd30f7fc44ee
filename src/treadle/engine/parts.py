"""A state as bytes, piece by piece: what is kept where the beginning of a log goes.

A section of a state is a sequence of packed tuples (docs/formats/packing.md), each with its length in front,
cut into parts of some `PART_BYTES`, each of them compressed by itself. Its digest is over the bytes before
that. Nothing here holds more than one part. docs/formats/snapshot.md lists the tuples.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from treadle.engine import retained
from treadle.engine.retained import Snapshot
from treadle.errors import DatabaseCorrupt
from treadle.limits import KIB
from treadle.model.packing import unpack
from treadle.ports.store import ReadTx

SPACE: Final = "snapshot"
PART_BYTES: Final = 256 * KIB
ROWS: Final = b"treadle.snapshot/v1\n"
GRAPH: Final = b"treadle.snapshot.graph/v1\n"
_LENGTH: Final = struct.Struct(">I")


class Section(NamedTuple):
    """What a section of a stored state came to: its digest in hex, and how many parts it has."""

    digest: str
    parts: int


def part_key(number: int, part: int = 0) -> bytes:
    """Where a part of the state after record `number` is kept, among the entries of `SPACE`."""
    return number.to_bytes(8) + part.to_bytes(4)


def cut(items: Iterable[bytes]) -> Iterator[bytes]:
    """Packed tuples as parts, not compressed."""
    part = bytearray()
    for item in items:
        part += _LENGTH.pack(len(item)) + item
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


class Cutting:
    """A section that is being made: iterate over it for its parts, compressed; then `section` is known."""

    def __init__(self, domain: bytes, items: Iterable[bytes]) -> None:
        self._items = items
        self._hash = hashlib.sha256(domain)
        self._count = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in cut(self._items):
            self._hash.update(part)
            self._count += 1
            yield zlib.compress(part)

    @property
    def section(self) -> Section:
        return Section(self._hash.hexdigest(), self._count)


def stored(tx: ReadTx, snapshot: Snapshot, domain: bytes = ROWS) -> Iterator[bytes]:
    """The parts of a section of a stored state, not compressed, one after another.

    Raises `DatabaseCorrupt` for one that is missing or was changed, at the latest after the last.
    """
    first, section = 0, Section(snapshot.digest, snapshot.parts)
    if domain == GRAPH:
        first, section = snapshot.parts, Section(snapshot.graph, snapshot.graph_parts)
    found = hashlib.sha256(domain)
    for place in range(first, first + section.parts):
        data = tx.entries_at(SPACE, [part_key(snapshot.number, place)])[0]
        if data is None:
            raise _damaged(snapshot)
        try:
            part = zlib.decompress(data)
        except zlib.error:
            raise _damaged(snapshot) from None
        found.update(part)
        yield part
    if found.hexdigest() != section.digest:
        raise _damaged(snapshot)


def items(parts: Iterable[bytes]) -> Iterator[tuple[Any, ...]]:
    """The tuples in parts."""
    for part in parts:
        at = 0
        while at < len(part):
            (length,) = _LENGTH.unpack_from(part, at)
            at += _LENGTH.size + length
            yield unpack(part[at - length : at])


def of_graph(tx: ReadTx) -> Iterator[tuple[Any, ...]]:
    """The tuples about the graph in the state that a database's log begins with; none where there is none."""
    snapshot = retained.snapshot(tx)
    if snapshot is not None and snapshot.graph:
        yield from items(stored(tx, snapshot, GRAPH))


def complete(tx: ReadTx, snapshot: Snapshot) -> bool:
    """Whether the first and the last part of a state are there: who removes parts goes from the first on."""
    last = snapshot.parts + snapshot.graph_parts - 1
    ends = [part_key(snapshot.number), part_key(snapshot.number, last)]
    return None not in tx.entries_at(SPACE, ends)


def _damaged(snapshot: Snapshot) -> DatabaseCorrupt:
    return DatabaseCorrupt(
        f"the state at record {snapshot.number}, where the log begins, is not what its digest says; "
        "restore a backup"
    )
