"""The state at which a pruned log begins, as bytes: what a verification would have found up to there.

The state is a sequence of packed tuples (docs/formats/packing.md), sorted within each kind, so equal states
give equal bytes. It is cut into parts, each of them compressed; the digest is over the bytes before that.
docs/formats/snapshot.md lists the tuples.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

from treadle.engine.retained import Snapshot
from treadle.engine.state import Deployed
from treadle.errors import DatabaseCorrupt
from treadle.limits import KIB
from treadle.model.facts import Row
from treadle.model.packing import pack, unpack
from treadle.ports.store import ReadTx
from treadle.verify.receipts import ReceiptCheck
from treadle.verify.replay import Replay

SPACE: Final = "snapshot"
PART_BYTES: Final = 256 * KIB
DOMAIN: Final = b"treadle.snapshot/v1\n"
_LENGTH: Final = struct.Struct(">I")
_KEYS: Final = 1_000


def part_key(number: int, part: int = 0) -> bytes:
    """Where a part of the state after record `number` is kept, among the entries of `SPACE`."""
    return number.to_bytes(8) + part.to_bytes(4)


def encoded(replay: Replay, receipts: ReceiptCheck, deployed: Deployed | None) -> Iterator[bytes]:
    """The state in parts of some `PART_BYTES`, not compressed."""
    part = bytearray()
    for item in _items(replay, receipts, deployed):
        part += _LENGTH.pack(len(item)) + item
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def _items(replay: Replay, receipts: ReceiptCheck, deployed: Deployed | None) -> Iterator[bytes]:
    yield pack(("receipts", receipts.pruned, receipts.dropped))
    keys = receipts.after(receipts.dropped)
    while some := tuple(islice(keys, _KEYS)):
        yield pack(("keys", *chain.from_iterable(some)))
    yield from sorted(_rows(replay, deployed))
    yield from sorted(
        pack(("revision", entity, pack(key), revision))
        for (entity, key), revision in replay.revisions.items()
    )
    yield from sorted(
        pack(("unique", entity, name, pack(values), pack(key)))
        for (entity, name, values), key in replay.uniques.items()
    )


def _rows(replay: Replay, deployed: Deployed | None) -> Iterator[bytes]:
    for (entity, _), row in replay.rows.items():
        if deployed is not None:
            image = deployed.row_encoders[entity][1](row.cells)
            yield pack(("row", entity, row.revision, row.commit, image))


class Digest:
    """The hash of a state's parts, fed one after another."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(DOMAIN)

    def add(self, part: bytes) -> None:
        self._hash.update(part)

    @property
    def hex(self) -> str:
        return self._hash.hexdigest()


def stored_parts(tx: ReadTx, snapshot: Snapshot) -> Iterator[bytes]:
    """The parts of a stored state; raises `DatabaseCorrupt` for one that is missing or was changed."""
    digest = Digest()
    for number in range(snapshot.parts):
        data = tx.entries_at(SPACE, [part_key(snapshot.number, number)])[0]
        if data is None:
            raise _damaged(snapshot)
        try:
            part = zlib.decompress(data)
        except zlib.error:
            raise _damaged(snapshot) from None
        digest.add(part)
        yield part
    if digest.hex != snapshot.digest:
        raise _damaged(snapshot)


def _damaged(snapshot: Snapshot) -> DatabaseCorrupt:
    return DatabaseCorrupt(
        f"the state at record {snapshot.number}, where the log begins, is not what its digest says; "
        "restore a backup"
    )


def load(parts: Iterable[bytes], replay: Replay, receipts: ReceiptCheck, deployed: Deployed | None) -> None:
    """Put a stored state where a walk would have come to; raises `DatabaseCorrupt`."""
    take: dict[Any, Callable[..., None]] = {
        "receipts": receipts.begin,
        "keys": receipts.add,
        "row": lambda *row: _take_row(replay, deployed, *row),
        "revision": lambda entity, key, revision: replay.revisions.update({(entity, unpack(key)): revision}),
        "unique": lambda entity, name, values, key: replay.uniques.update(
            {(entity, name, unpack(values)): unpack(key)}
        ),
    }
    for part in parts:
        at = 0
        while at < len(part):
            (length,) = _LENGTH.unpack_from(part, at)
            at += _LENGTH.size + length
            kind, *rest = unpack(part[at - length : at])
            take[kind](*rest)


def _take_row(
    replay: Replay, deployed: Deployed | None, entity: str, revision: int, commit: int, image: bytes
) -> None:
    if deployed is None:
        raise DatabaseCorrupt("the state where the log begins has rows without a contract")
    cells = deployed.codec.row_decoder(entity)(image)
    key = cells[: deployed.tables[entity].key_count]
    replay.rows[entity, key] = Row(revision, cells, commit)
