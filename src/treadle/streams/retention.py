"""How long a stream keeps its events.

A stream keeps everything unless an operator gives it a window. Events that are older than the window leave
it once no consumer needs them: one that has not settled an event, or has it as a dead letter, keeps it. The
log has them for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from treadle.engine.batch import Batch
from treadle.model.packing import pack
from treadle.ports.store import ReadTx, StoredEvent, WriteTx
from treadle.streams import letters
from treadle.streams.events import times_of
from treadle.streams.ledger import DELIVERIES, Header, headers
from treadle.streams.positions import BEGINNING, Position

SPACE: Final = "stream"
SECOND: Final = 1_000_000
STEP: Final = 256
"""How many events one sweep looks at; a longer backlog goes by and by."""
MOST_CONSUMERS: Final = 1_000
"""With more consumers of one event, only an operator's sweep removes anything: it may take its time."""
PAUSE: Final = 60 * SECOND


class Stream(msgspec.Struct, frozen=True):
    """What is kept about an event's stream: the window in seconds (None: for ever), the place up to which
    events are gone, and when it was last swept."""

    window: int | None = None
    floor: tuple[int, int] = BEGINNING
    swept: int = 0


_DECODE: Final = msgspec.json.Decoder(Stream).decode


def load(tx: ReadTx, event: str) -> Stream:
    """What is kept about a stream."""
    data = tx.entries_at(SPACE, [pack((event,))])[0]
    return Stream() if data is None else _DECODE(data)


def save(tx: WriteTx, event: str, stream: Stream) -> None:
    """Write what is kept about a stream."""
    tx.write_entries(SPACE, [(pack((event,)), msgspec.json.encode(stream))])


def floor(tx: ReadTx, event: str) -> Position:
    """The place up to which events of this name may be gone."""
    return Position(*load(tx, event).floor)


def sweep_now_and_then(batch: Batch, event: str) -> None:
    """Sweep a stream that has a window and was not swept for a minute."""
    stream = load(batch.tx, event)
    if stream.window is None or 0 <= batch.time - stream.swept < PAUSE:
        return
    sweep(batch, event, MOST_CONSUMERS)


def sweep(batch: Batch, event: str, most_consumers: int | None = None) -> int:
    """Remove events that are past the window and that no consumer needs; returns how many."""
    stream = load(batch.tx, event)
    gone = list(_removable(batch, event, stream, most_consumers))
    if gone:
        batch.tx.remove_events(gone)
        last = max(Position(one.number, one.ordinal) for one in gone)
        stream = msgspec.structs.replace(stream, floor=last)
    save(batch.tx, event, msgspec.structs.replace(stream, swept=batch.time))
    batch.touched = True
    return len(gone)


def _removable(batch: Batch, event: str, stream: Stream, most: int | None) -> Iterator[StoredEvent]:
    """The oldest events up to the first that is young, or that somebody needs."""
    if stream.window is None:
        return
    oldest = batch.tx.events(event, None, stream.floor, STEP)
    times = times_of(batch.tx, (one.number for one in oldest[:1]))
    if not oldest or times[oldest[0].number] > batch.time - stream.window * SECOND:
        return
    needs = _needs(batch.tx, event, most)
    if needs is None:
        return
    for one in oldest:
        position = Position(one.number, one.ordinal)
        times |= times_of(batch.tx, [] if one.number in times else [one.number])
        young = times[one.number] > batch.time - stream.window * SECOND
        if young or min(needs.get(None, position), needs.get(one.partition, position)) < position:
            return
        yield one


def _needs(tx: ReadTx, event: str, most: int | None) -> dict[bytes | None, Position] | None:
    """By partition, the last place that all its consumers are past; None with more than `most` of them."""
    found: dict[bytes | None, Position] = {}
    for count, header in enumerate(headers(tx, event), 1):
        if most is not None and count > most:
            return None
        past = _past(tx, header)
        known = found.get(header.partition_bytes, past)
        found[header.partition_bytes] = min(known, past)
    return found


class Keeper(NamedTuple):
    """A consumer that needs an event: it was not given it yet, has it open, or as a dead letter."""

    consumer: str
    open: int
    dead: bool

    def __str__(self) -> str:
        dead = " and dead letters" if self.dead else ""
        has = f"{self.open} open{dead}" if self.open or self.dead else "it is yet to come there"
        return f"{self.consumer} ({has})"


def keepers(tx: ReadTx, event: StoredEvent) -> list[Keeper]:
    """The consumers for whose sake an event is kept, whatever the stream's window."""
    position = Position(event.number, event.ordinal)
    return [
        Keeper(header.name, header.open, next(letters.listed(tx, header), None) is not None)
        for header in headers(tx, event.name)
        if header.partition_bytes in (None, event.partition) and _past(tx, header) < position
    ]


def kept(tx: ReadTx, event: StoredEvent) -> str:
    """Who keeps an event and how to go on, as the end of a sentence; empty where nobody does."""
    who = ", ".join(map(str, keepers(tx, event)))
    if not who:
        return ""
    return (
        f"kept for {who}: let it settle what is open, replay or drop its dead letters, or remove it "
        "(`treadle stream list`), then sweep"
    )


def oldest_kept(tx: ReadTx, event: str) -> str:
    """Who keeps the oldest event of a stream; empty where there is none, or nobody keeps it."""
    oldest = tx.events(event, None, (-1, 0), 1)
    return kept(tx, oldest[0]) if oldest else ""


def _past(tx: ReadTx, header: Header) -> Position:
    """The last place before everything that a consumer has open, unsettled or as a dead letter."""
    past = Position(*header.checkpoint)
    first_letter = next(letters.listed(tx, header), None)
    first_open = tx.entries(DELIVERIES, pack((header.id,)), None, 1)
    places = [first_letter[0]] if first_letter is not None else []
    if first_open:
        places.append(letters.position_of(first_open[0][0]))
    if places and min(places) <= past:
        return min(places)._replace(ordinal=min(places).ordinal - 1)
    return past
