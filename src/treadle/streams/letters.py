"""Dead letters: events that failed too often for a consumer, set aside until somebody decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from treadle.model.packing import pack, unpack
from treadle.ports.store import ReadTx, WriteTx
from treadle.streams.events import Event
from treadle.streams.ledger import LETTERS, WAITING, Entry, Header, Ledger, pages
from treadle.streams.positions import Position


class Letter(msgspec.Struct, frozen=True):
    """What is kept of a dead letter: how often it was given, when it was given up (microseconds), and why."""

    attempts: int
    time: int
    reason: str = ""


class DeadLetter(NamedTuple):
    """An event that a consumer gave up. `attempts` deliveries failed; `reason` is what the last one said."""

    event: Event
    attempts: int
    reason: str

    def to_json(self, *, integers_as_strings: bool = False) -> dict[str, Any]:
        """The letter as JSON-ready values."""
        shown = self.event.to_json(integers_as_strings=integers_as_strings)
        return shown | {"attempts": self.attempts, "reason": self.reason}


_DECODE = msgspec.json.Decoder(Letter).decode


def _key(header: Header, position: Position) -> bytes:
    return pack((header.id, *position))


def bury(tx: WriteTx, header: Header, positions: Sequence[Position], letter: Letter) -> None:
    """Keep events as dead letters."""
    data = msgspec.json.encode(letter)
    from_entries = [(_key(header, position), data) for position in positions]
    tx.write_entries(LETTERS, from_entries)


def listed(tx: ReadTx, header: Header, after: Position | None = None) -> Iterator[tuple[Position, Letter]]:
    """A consumer's dead letters, in the order of their events."""
    start = None if after is None else _key(header, after)
    for key, data in pages(tx, LETTERS, pack((header.id,)), start):
        yield position_of(key), _DECODE(data)


def position_of(key: bytes) -> Position:
    """The place that the key of an entry or a letter names."""
    return Position(*unpack(key)[1:])


def found(tx: ReadTx, header: Header, positions: Sequence[Position]) -> list[Position]:
    """Those of the places at which there is a dead letter."""
    values = tx.entries_at(LETTERS, [_key(header, position) for position in positions])
    return [position for position, value in zip(positions, values, strict=True) if value is not None]


def discard(tx: WriteTx, header: Header, positions: Sequence[Position]) -> None:
    """Forget dead letters."""
    tx.write_entries(LETTERS, [(_key(header, position), None) for position in positions])


def put_back(ledger: Ledger, positions: Sequence[Position], now: int) -> None:
    """Let events be given again at once, with all their attempts before them."""
    for position, entry in zip(positions, ledger.entries(positions), strict=True):
        ledger.put(position, entry, Entry(WAITING, 0, 0, now))
