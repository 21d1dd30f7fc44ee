"""Durable streams: events in the order of their commits, and named consumers that lose none.

Reading order: `positions` (where an event stands, and the texts that name the place), `ledger` (what the
database keeps of a consumer), `turns` (what pull, ack, nack and extend decide), `letters` (dead letters),
`retention`, `jobs` and `operations` (all of it as jobs of a batch), `events` (events as values), `reading`
(tails), `consumer` (what an application holds), `checking` (what verification asks).
docs/howto/streams.md shows how it is used, docs/formats/streams.md what is stored.
"""

from __future__ import annotations

from treadle.streams.consumer import Consumer, Settled
from treadle.streams.events import Delivery, Event
from treadle.streams.letters import DeadLetter
from treadle.streams.operations import Streams
from treadle.streams.reading import Tail

__all__ = ["Consumer", "DeadLetter", "Delivery", "Event", "Settled", "Streams", "Tail"]
