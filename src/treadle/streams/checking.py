"""What verification asks of streams: they hold what the log emitted, and no consumer skipped any of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treadle import limits
from treadle.model.packing import pack
from treadle.model.record import LogRecord
from treadle.ports.store import ReadTx, StoredEvent
from treadle.streams import letters, retention
from treadle.streams.events import stored_at
from treadle.streams.ledger import DELIVERIES, DONE, DUE, HELD, WAITING, Entry, Header, headers, pages
from treadle.streams.letters import position_of
from treadle.streams.positions import Position

PAGE: Final = 1_000


class EventCheck:
    """Compares the stored events with the log's, in the order of the log, as it is walked."""

    def __init__(self, tx: ReadTx) -> None:
        self._tx = tx
        self._stored: dict[str, Iterator[StoredEvent]] = {}
        self._next: dict[str, StoredEvent | None] = {}
        self._floors: dict[str, Position] = {}

    def judge(self, stored: LogRecord) -> Iterator[str]:
        """What is wrong with the stored events of one record."""
        for ordinal, image in enumerate(stored.events):
            expected = StoredEvent(stored.number, ordinal, image.name, image.partition, image.fields)
            yield from self._judge(expected)

    def _judge(self, expected: StoredEvent) -> Iterator[str]:
        name, place = expected.name, Position(expected.number, expected.ordinal)
        self._begin(name)
        while (found := self._next[name]) is not None and (found.number, found.ordinal) < place:
            yield f"an event {name} at {found.number}:{found.ordinal} is stored that the log did not emit"
            self._go_on(name)
        if found is not None and (found.number, found.ordinal) == place:
            self._go_on(name)
            if found != expected:
                yield f"its event {name} at {place.id} is not stored as it was emitted"
        elif place > self._floors[name]:
            yield f"its event {name} at {place.id} is not in its stream"

    def rest(self, names: Iterator[str]) -> Iterator[str]:
        """Stored events of these names that the log did not emit, after the whole log was judged."""
        for name in names:
            self._begin(name)
            found = self._next[name]
            if found is not None:
                yield f"an event {name} at {found.number}:{found.ordinal} is stored that the log did not emit"

    def _begin(self, name: str) -> None:
        if name not in self._stored:
            self._stored[name] = _all(self._tx, name)
            self._floors[name] = retention.floor(self._tx, name)
            self._go_on(name)

    def _go_on(self, name: str) -> None:
        self._next[name] = next(self._stored[name], None)


def _all(
    tx: ReadTx, name: str, partition: bytes | None = None, after: Position | None = None
) -> Iterator[StoredEvent]:
    place: tuple[int, int] = after or (-1, 0)
    while page := tx.events(name, partition, place, PAGE):
        yield from page
        place = (page[-1].number, page[-1].ordinal)


def problems(tx: ReadTx, incarnation: int) -> Iterator[str]:
    """What is wrong with the consumers: events skipped, entries that contradict one another."""
    seen: set[int] = set()
    for header in headers(tx):
        named = f"consumer {header.name} of {header.event}"
        if header.id in seen:
            yield f"{named}: another consumer has the same number"
        seen.add(header.id)
        if header.incarnation > incarnation:
            yield f"{named}: it was used in a history that is yet to come"
        for what in _consumer(tx, header):
            yield f"{named}: {what}"


def _consumer(tx: ReadTx, header: Header) -> Iterator[str]:
    entries = {
        position_of(key): Entry.decode(data) for key, data in pages(tx, DELIVERIES, pack((header.id,)))
    }
    still_open = {place: entry for place, entry in entries.items() if entry.state != DONE}
    if (header.kept, header.open) != (len(entries), len(still_open)):
        yield "its counts are not those of its entries"
    due = {key for key, _ in pages(tx, DUE, pack((header.id,)))}
    if due != {pack((header.id, entry.until, *place)) for place, entry in still_open.items()}:
        yield "its events that wait are not listed by their times"
    if any(not _sound(entry, header) for entry in entries.values()):
        yield "an entry is out of its bounds"
    if any(place > header.frontier for place in entries) or header.checkpoint > header.frontier:
        yield "it settled events that it was not given"
    yield from _skipped(tx, header, entries)
    dead = [place for place, _ in letters.listed(tx, header)]
    if len(stored_at(tx, header.event, header.partition_bytes, dead)) != len(dead):
        yield "the event of a dead letter is gone"


def _sound(entry: Entry, header: Header) -> bool:
    known = entry.state in (HELD, WAITING, DONE)
    return known and entry.attempts <= limits.DELIVERIES and entry.fence <= header.fence


def _skipped(tx: ReadTx, header: Header, entries: dict[Position, Entry]) -> Iterator[str]:
    """Events between checkpoint and frontier have an entry each, and the other way round."""
    checkpoint = Position(*header.checkpoint)
    listed = set()
    for event in _all(tx, header.event, header.partition_bytes, checkpoint):
        place = Position(event.number, event.ordinal)
        if place > header.frontier:
            break
        listed.add(place)
    if listed != {place for place in entries if place > checkpoint}:
        yield "an event was skipped, or is listed that does not exist"
