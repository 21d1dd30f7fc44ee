"""What the database keeps of a consumer: a header, and an entry for each event it was given and is not past.

Four spaces of ordered entries (docs/formats/streams.md): `consumer` has the headers, `delivery` the entries
by place, `due` the same entries by the time at which they may be given again, `letter` the dead letters.
Every event of the stream between the checkpoint and the frontier has an entry; there is none before or after,
but for dead letters that were put back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from treadle import limits
from treadle.errors import DatabaseCorrupt
from treadle.model.packing import pack, unpack
from treadle.ports.store import ReadTx, WriteTx
from treadle.streams.positions import BEGINNING, Position

CONSUMERS: Final = "consumer"
DELIVERIES: Final = "delivery"
DUE: Final = "due"
LETTERS: Final = "letter"
NEXT_ID: Final = "streams.consumers"
PAGE: Final = 256

HELD: Final = 1
"""Given to somebody, who has it until a time."""
WAITING: Final = 2
"""Given back; to be given again from a time on."""
DONE: Final = 3
"""Acknowledged, or a dead letter; kept until everything before it is."""

LONGEST: Final = max(limits.NACK_SECONDS, limits.STREAM_LEASE_SECONDS[1]) * 1_000_000
"""No event is held, or rests, for longer, in microseconds."""

_ENTRY: Final = struct.Struct(">BHQq")


def comes_again(until: int, now: int) -> bool:
    """Whether an event that is not to be given before `until` may be given `now`.

    One that would have to wait for longer than any may wait was given while the clock was wrong, and the
    clock was set back since: it does not wait for that time to come.
    """
    return until <= now or until > now + LONGEST


class Entry(NamedTuple):
    """An event that was given: `attempts` times, last with `fence`, and not again before `until`."""

    state: int
    attempts: int
    fence: int
    until: int

    def encode(self) -> bytes:
        return _ENTRY.pack(*self)

    @staticmethod
    def decode(data: bytes) -> Entry:
        try:
            return Entry(*_ENTRY.unpack(data))
        except struct.error as error:
            raise DatabaseCorrupt("an entry of a consumer cannot be read") from error


class Header(msgspec.Struct, frozen=True):
    """A consumer. Everything up to `checkpoint` is settled, everything up to `frontier` was given.

    `partition` is the canonical partition in hex, None for all partitions; `open` counts entries that are
    not done, `kept` all; `fence` counts deliveries. `incarnation` is the history in which it was last used,
    `created` the time of its making in microseconds.
    """

    id: int
    event: str
    name: str
    partition: str | None
    created: int
    incarnation: int
    checkpoint: tuple[int, int] = BEGINNING
    frontier: tuple[int, int] = BEGINNING
    open: int = 0
    kept: int = 0
    fence: int = 0

    @property
    def partition_bytes(self) -> bytes | None:
        return None if self.partition is None else bytes.fromhex(self.partition)


_DECODER: Final = msgspec.json.Decoder(Header)


def _decode(data: bytes) -> Header:
    try:
        return _DECODER.decode(data)
    except msgspec.MsgspecError as error:
        raise DatabaseCorrupt(f"what the database keeps of a consumer cannot be read: {error}") from error


def header_key(event: str, name: str, partition: bytes | None) -> bytes:
    """The key of a consumer's header: consumers of one event stand together, those of one name in it too."""
    return pack((event, name, partition))


def find_header(tx: ReadTx, event: str, name: str, partition: bytes | None) -> Header | None:
    """The header of a consumer, or None."""
    data = tx.entries_at(CONSUMERS, [header_key(event, name, partition)])[0]
    return None if data is None else _decode(data)


def headers(tx: ReadTx, event: str | None = None) -> Iterator[Header]:
    """All consumers, or those of one event, in the order of event, name and partition."""
    prefix = b"" if event is None else pack((event,))
    for _, value in pages(tx, CONSUMERS, prefix):
        yield _decode(value)


def pages(tx: ReadTx, space: str, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
    """All entries of a space under a prefix, read a page at a time."""
    while page := tx.entries(space, prefix, after, PAGE):
        yield from page
        after = page[-1][0]


class Ledger:
    """A consumer in a transaction: what is read from it, and what is to be written at `flush`."""

    def __init__(self, tx: WriteTx, header: Header) -> None:
        self._tx = tx
        self._prefix = pack((header.id,))
        self._changed: dict[Position, Entry | None] = {}
        self._due: list[tuple[bytes, bytes | None]] = []
        self._flushed: Header | None = header
        self.header = header

    def update(self, **fields: object) -> None:
        """Change fields of the header."""
        self.header = msgspec.structs.replace(self.header, **fields)

    def entries(self, positions: Sequence[Position]) -> list[Entry | None]:
        """The entries at these places, in order, as they are now."""
        stored = self._tx.entries_at(DELIVERIES, [self._key(position) for position in positions])
        return [
            self._changed[position]
            if position in self._changed
            else None
            if data is None
            else Entry.decode(data)
            for position, data in zip(positions, stored, strict=True)
        ]

    def changed(self, position: Position, stored: Entry | None) -> Entry | None:
        """The entry at a place as it is now, given how it was when it was read."""
        return self._changed.get(position, stored)

    def walk(self, after: Position | None = None) -> Iterator[tuple[Position, Entry]]:
        """Entries in the order of their places, as they are now; entries that are new in this transaction
        are not among them."""
        start = None if after is None else self._key(after)
        for key, data in pages(self._tx, DELIVERIES, self._prefix, start):
            position = Position(*unpack(key)[1:])
            entry = self._changed.get(position, _STORED)
            if entry is _STORED:
                yield position, Entry.decode(data)
            elif entry is not None:
                yield position, entry

    def due(self, now: int, limit: int) -> list[tuple[Position, Entry]]:
        """At most `limit` entries whose time has come, the longest due first."""
        places = _due(self._tx, self.header, now, limit)
        found = zip(places, self.entries(places), strict=True)
        return [(position, entry) for position, entry in found if entry is not None]

    @staticmethod
    def first_due(tx: ReadTx, header: Header) -> int | None:
        """The earliest time at which an entry of a consumer may be given again."""
        page = tx.entries(DUE, pack((header.id,)), None, 1)
        return unpack(page[0][0])[1] if page else None

    @staticmethod
    def any_due(tx: ReadTx, header: Header, now: int) -> bool:
        """Whether the time of an entry of a consumer has come."""
        return bool(_due(tx, header, now, 1))

    def has_letter(self, position: Position) -> bool:
        """Whether the event at a place is a dead letter."""
        return self._tx.entries_at(LETTERS, [self._key(position)])[0] is not None

    def put(self, position: Position, before: Entry | None, after: Entry | None) -> None:
        """Replace an entry; None for one that is not there."""
        opened = (after is not None and after.state != DONE) - (before is not None and before.state != DONE)
        kept = (after is not None) - (before is not None)
        if before is not None and before.state != DONE:
            self._due.append((self._due_key(position, before), None))
        if after is not None and after.state != DONE:
            self._due.append((self._due_key(position, after), b""))
        self._changed[position] = after
        if opened or kept:
            self.update(open=self.header.open + opened, kept=self.header.kept + kept)

    def advance(self) -> None:
        """Move the checkpoint over everything that is done without a gap."""
        checkpoint = Position(*self.header.checkpoint)
        gap = False
        for position, entry in self.walk(checkpoint):
            if entry.state != DONE:
                gap = True
                break
            checkpoint = position
            self.put(position, entry, None)
        if not gap:
            checkpoint = max(checkpoint, Position(*self.header.frontier))
        if checkpoint != self.header.checkpoint:
            self.update(checkpoint=checkpoint)

    def clear(self) -> None:
        """Forget every entry."""
        for position, entry in list(self.walk()):
            self.put(position, entry, None)

    def flush(self) -> bool:
        """Write what changed; false if nothing did."""
        if self._changed:
            changes = [
                (self._key(position), None if entry is None else entry.encode())
                for position, entry in self._changed.items()
            ]
            self._tx.write_entries(DELIVERIES, changes)
            self._tx.write_entries(DUE, self._due)
        if self.header is self._flushed and not self._changed:
            return False
        save(self._tx, self.header)
        self._changed, self._due, self._flushed = {}, [], self.header
        return True

    def _key(self, position: Position) -> bytes:
        return pack((self.header.id, *position))

    def _due_key(self, position: Position, entry: Entry) -> bytes:
        return pack((self.header.id, entry.until, *position))


def _due(tx: ReadTx, header: Header, now: int, limit: int) -> list[Position]:
    """The places of at most `limit` entries whose time has come: the longest due first, the far ones last."""
    prefix = pack((header.id,))
    first = tx.entries(DUE, prefix, None, limit)
    keys = [key for key, _ in first if unpack(key)[1] <= now]
    if len(keys) == len(first) < limit:
        return [position_in(key) for key in keys]  # these are all that there are
    far = pack((header.id, now + LONGEST, limits.U64_MAX, limits.U64_MAX))
    keys += [key for key, _ in tx.entries(DUE, prefix, far, limit - len(keys))] if len(keys) < limit else []
    return [position_in(key) for key in keys]


def position_in(key: bytes) -> Position:
    """The place in a key of `due`."""
    return Position(*unpack(key)[2:])


def save(tx: WriteTx, header: Header) -> None:
    """Write a header."""
    key = header_key(header.event, header.name, header.partition_bytes)
    tx.write_entries(CONSUMERS, [(key, msgspec.json.encode(header))])


_STORED: Final = Entry(0, 0, 0, 0)
"""Stands for an entry that is as it is stored."""
