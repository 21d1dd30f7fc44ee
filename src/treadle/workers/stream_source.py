"""Items from a stream: each event names a row, and is acknowledged when its attempt is concluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from treadle.errors import ConfigError
from treadle.limits import NACK_SECONDS, STREAM_LEASE_SECONDS
from treadle.model import query as q
from treadle.model.contract import Event
from treadle.model.scalars import microseconds
from treadle.model.types import Type
from treadle.text import nearest
from treadle.workers.attempts import EVENTS, Attempt, Due, component
from treadle.workers.client import Client, ConsumerOf, Delivered, RowOf
from treadle.workers.items import Item, Key
from treadle.workers.steps import Leased

SECOND: Final = 1_000_000
BUSY_SECONDS: Final = 1
"""How long an event waits whose row is in work here, or went to another worker this very moment."""
HELD_SECONDS: Final = 30
"""How long it waits at most while somebody holds its row."""
_ORDINALS: Final = 1_000


class StreamSource:
    """Rows that a named consumer's events name, by fields called as the fields of the row's key.

    The row's revision is looked up: by the named query `lookup`, whose parameters are called as key fields
    too, or, by the owner of an embedded database, directly. `due` names a timestamp of the event that says
    which occasion it is about; without it each event is its own.
    """

    def __init__(
        self,
        event: str,
        consumer: str,
        partition: Any = None,
        *,
        lookup: str | None = None,
        due: str | None = None,
        lease: int = 60,
    ) -> None:
        self.event = event
        self.name = consumer
        self.partition = partition
        self.lookup = lookup
        self.due = due
        self.lease = min(max(lease, STREAM_LEASE_SECONDS[0]), STREAM_LEASE_SECONDS[1])

    @property
    def described(self) -> str:
        return f"consumer {self.name} of {self.event}"

    def bind(self, client: Client, leased: Leased, schedule: str) -> Mapping[str, Type]:
        self._client = client
        self._leased = leased
        self._schedule = schedule
        declared = _declared(client, self.event)
        types = {field.name: field.type for field in declared.fields}
        missing = [name for name in leased.key if name not in types]
        if missing:
            wanted = " and ".join(missing)
            raise ConfigError(f"event {self.event} must have {wanted}, to name a row of {leased.entity.name}")
        if self.due is not None and self.due not in types:
            raise ConfigError(f"event {self.event} has no {self.due}, which is to be `due`")
        if self.lookup is not None:
            types |= self._bind_lookup(client.named_query(self.lookup))
        else:
            types |= {field.name: field.type for field in leased.entity.members}
        self._consumer: ConsumerOf = client.consumer(self.event, self.name, self.partition)
        self._contracts: dict[int, bytes] = {}
        return types

    def _bind_lookup(self, query: q.Query) -> dict[str, Type]:
        shapes = [one for one in query.members if isinstance(one.value, q.ShapeResult)]
        one = shapes[0] if len(shapes) == 1 else None
        shape = one.value if one is not None else None
        if one is None or not isinstance(shape, q.ShapeResult) or shape.kind == "many":
            raise ConfigError(f"query {query.name} must answer one row for a look-up")
        revisions = [each.name for each in shape.members if isinstance(each.value, q.RevisionResult)]
        unknown = [field.name for field in query.parameters if field.name not in self._leased.key]
        if not revisions or unknown:
            wrong = "gives no revision" if not revisions else f"wants {', '.join(unknown)}"
            raise ConfigError(f"query {query.name} {wrong}; a look-up takes a row's key, gives its revision")
        self._answer = (one.name, revisions[0])
        types: dict[str, Type] = {}
        for each in shape.members:
            if not isinstance(each.value, q.ShapeResult):
                types[each.name] = each.value.type
        return types

    def take(self, count: int, busy: frozenset[Key]) -> Sequence[Item]:
        ready: list[Item] = []
        for delivery in self._consumer.pull(count, lease=self.lease):
            item = self._item(delivery)
            if item is None:
                self._consumer.ack(delivery)
            elif item.key in busy or any(item.key == other.key for other in ready):
                self.back(item, BUSY_SECONDS, failed=False)  # one turn at a time for a row
            elif (held := self._held_for(item)) > 0:
                self.back(item, min(held, HELD_SECONDS), failed=False)
            else:
                ready.append(item)
        return ready

    def _held_for(self, item: Item) -> float:
        """How many seconds somebody holds the row for, as far as its look-up says."""
        until = item.row.get(self._leased.lease.expires_at)
        if not isinstance(until, datetime):
            return 0
        return (microseconds(until) - self._client.now()) / SECOND

    def _item(self, delivery: Delivered) -> Item | None:
        """The item of an event; None where its row is gone."""
        fields = dict(delivery.fields)
        key = tuple(fields[name] for name in self._leased.key)
        found = self._look_up(key)
        if found is None:
            return None
        revision, row = found
        lease = self._leased.lease
        return Item(
            key=key,
            row=dict(row) | fields,
            revision=revision,
            attempt=self._attempt(delivery, key, fields),
            ordinal=min(delivery.attempt, 255),
            observed=(revision, delivery.fence),
            attempts=row.get(lease.attempts) if lease.attempts is not None else None,
            delivery=delivery,
        )

    def _look_up(self, key: Key) -> tuple[int, Mapping[str, Any]] | None:
        if self.lookup is None:
            row: RowOf | None = self._client.row(self._leased.entity.name, key)
            return None if row is None else (row.revision, row.fields)
        page = self._client.query(self.lookup, dict(zip(self._leased.key, key, strict=True)))
        member, revision = self._answer
        fields = page.fields.get(member) if page.ok else None
        return None if fields is None else (fields[revision], fields)

    def _attempt(self, delivery: Delivered, key: Key, fields: Mapping[str, Any]) -> Attempt:
        target = tuple(component(part) for part in key)
        if self.due is not None and fields[self.due] is not None:
            due = Due.of(microseconds(fields[self.due]))
        else:
            due = Due.of(microseconds(delivery.time), delivery.ordinal % _ORDINALS)
            target = (*target, delivery.commit)
        return Attempt(self._schedule, EVENTS, self._contract_of(delivery), self.event, due, target)

    def _contract_of(self, delivery: Delivered) -> bytes:
        """The contract that emitted the event: it stays, whatever is deployed before the next delivery."""
        known = self._contracts.get(delivery.commit)
        if known is None:
            self._contracts.clear()
            known = self._contracts[delivery.commit] = self._client.event_source(delivery)
        return known

    def lost(self, items: Sequence[Item], tried: int, changed: int) -> None:
        for item in items:
            self.back(item, BUSY_SECONDS, failed=False)

    def done(self, item: Item) -> None:
        self._consumer.ack(item.delivery)

    def back(self, item: Item, delay: float, *, failed: bool, reason: str = "") -> None:
        seconds = min(max(int(delay + 0.999), 0), NACK_SECONDS)
        self._consumer.nack(item.delivery, delay=seconds, reason=reason, failed=failed)

    def renew(self, item: Item, lease: int) -> None:
        least, most = STREAM_LEASE_SECONDS
        self._consumer.extend(item.delivery, lease=min(max(lease, least), most))

    def pause(self) -> float | None:
        return None


def _declared(client: Client, event: str) -> Event:
    contract = client.contract()
    for declared in contract.events:
        if declared.name == event:
            return declared
    raise ConfigError(
        f"no event {event} in contract {contract.name}{nearest(event, [one.name for one in contract.events])}"
    )
