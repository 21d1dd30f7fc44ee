"""Events as an application reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from treadle.engine.state import Deployed
from treadle.errors import Denied, InvalidInput, UnknownName
from treadle.model import record
from treadle.model.contract import Event as Declaration
from treadle.model.facts import Cells
from treadle.model.values import datetime_of, timestamp_text
from treadle.ports.store import ReadTx, StoredEvent
from treadle.streams.positions import Position, cursor_text
from treadle.text import nearest, were_given


class Event:
    """One emitted event.

    `id` is `commit:ordinal`, `name` the event's name, `commit` the number of the commit that emitted it,
    `ordinal` its place among that commit's events, `time` the commit's time, `fields` and `partition` its
    values by name, `cursor` the place after it, from which a tail goes on. Compares by id.
    """

    __slots__ = ("_declared", "_deployed", "_stored", "_time", "cursor")

    def __init__(self, deployed: Deployed, stored: StoredEvent, time: int, history: str) -> None:
        self._deployed = deployed
        self._declared = declaration(deployed, stored.name)
        self._stored = stored
        self._time = time
        self.cursor = cursor_text(history, self.position)

    @property
    def position(self) -> Position:
        return Position(self._stored.number, self._stored.ordinal)

    @property
    def id(self) -> str:
        return self.position.id

    @property
    def name(self) -> str:
        return self._stored.name

    @property
    def commit(self) -> int:
        return self._stored.number

    @property
    def ordinal(self) -> int:
        return self._stored.ordinal

    @property
    def time(self) -> datetime:
        return datetime_of(self._time)

    @property
    def fields(self) -> dict[str, Any]:
        """All fields by name, as Python values."""
        codec = self._deployed.codec
        pairs = zip(self._declared.fields, self._cells(), strict=True)
        return {field.name: codec.python(field.type)(cell) for field, cell in pairs}

    @property
    def partition(self) -> dict[str, Any]:
        """The fields that make the partition."""
        fields = self.fields
        return {name: fields[name] for name in self._declared.partition_by}

    def _cells(self) -> Cells:
        return self._deployed.codec.event_decoder(self.name)(self._stored.data)

    def to_json(self, *, integers_as_strings: bool = False) -> dict[str, Any]:
        """The wire form, as JSON-ready values."""
        codec = self._deployed.codec
        number: Any = str if integers_as_strings else int
        pairs = zip(self._declared.fields, self._cells(), strict=True)
        fields = {field.name: codec.json(field.type, integers_as_strings)(cell) for field, cell in pairs}
        return {
            "id": self.id,
            "event": self.name,
            "partition": {name: fields[name] for name in self._declared.partition_by},
            "fields": fields,
            "commit": number(self.commit),
            "time": timestamp_text(self._time),
            "cursor": self.cursor,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return (self.cursor, self.name) == (other.cursor, other.name)

    def __hash__(self) -> int:
        return hash((self.cursor, self.name))

    def __repr__(self) -> str:
        return f"<{self.name} {self.id}>"


class Delivery(Event):
    """An event that was given to a consumer, with the `token` that settles it.

    `attempt` counts deliveries of this event to this consumer, from 1, `fence` all its deliveries; `until` is
    when the event may be given to somebody else.
    """

    __slots__ = ("_until", "attempt", "fence", "token")

    def __init__(self, event: Event, token: str, attempt: int, fence: int, until: int) -> None:
        super().__init__(event._deployed, event._stored, event._time, "")
        self.cursor = event.cursor
        self.token = token
        self.attempt = attempt
        self.fence = fence
        self._until = until

    @property
    def until(self) -> datetime:
        return datetime_of(self._until)

    def to_json(self, *, integers_as_strings: bool = False) -> dict[str, Any]:
        shown = super().to_json(integers_as_strings=integers_as_strings)
        number: Any = str if integers_as_strings else int
        return shown | {
            "token": self.token,
            "attempt": self.attempt,
            "fence": number(self.fence),
            "until": timestamp_text(self._until),
        }


def declaration(deployed: Deployed, event: str) -> Declaration:
    """The declaration of an event; raises `UnknownName` that names the nearest."""
    for declared in deployed.contract.events:
        if declared.name == event:
            return declared
    known = [declared.name for declared in deployed.contract.events]
    raise UnknownName(f"no event {event} in contract {deployed.contract.name}{nearest(event, known)}")


def read_partition(deployed: Deployed, event: str, given: Any) -> Cells | None:
    """The partition's cells: from a mapping of its fields, its values in order, or a lone value.

    None is every partition. Raises `InvalidInput` with what to write.
    """
    if given is None:
        return None
    declared = declaration(deployed, event)
    names = declared.partition_by
    by_name = {field.name: field for field in declared.fields}
    if isinstance(given, Mapping):
        values = _by_name(given, names, event)
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        values = list(given)
    else:
        values = [given]
    if len(values) != len(names):
        what = f"({', '.join(names)}); {were_given(len(values))}" if names else "empty"
        raise InvalidInput(f"the partition of {event} is {what}", path="partition")
    readers = [deployed.codec.reader(by_name[name].type) for name in names]
    given_to = zip(names, readers, values, strict=True)
    return tuple(read(value, f"partition.{name}") for name, read, value in given_to)


def _by_name(given: Mapping[str, Any], names: Iterable[str], event: str) -> list[Any]:
    missing, unknown = set(names) - set(given), set(given) - set(names)
    if missing or unknown:
        wrong = ", ".join(sorted(missing or unknown))
        problem = "is missing" if missing else "is no part of it"
        raise InvalidInput(
            f"the partition of {event} is ({', '.join(names)}), and {wrong} {problem}", path="partition"
        )
    return [given[name] for name in names]


def check_tenant(deployed: Deployed, event: str, partition: Cells | None, tenant: str) -> None:
    """Raise `Denied` where a caller that is bound to a tenant asks for more than its partition."""
    if not tenant:
        return
    if partition:
        declared = declaration(deployed, event)
        kind = next(field.type for field in declared.fields if field.name == declared.partition_by[0])
        if deployed.codec.json(kind, True)(partition[0]) == tenant:
            return
    raise Denied("the caller is bound to one tenant; name a partition that is its own")


def times_of(tx: ReadTx, numbers: Iterable[int]) -> dict[int, int]:
    """The times of commits, by number, in microseconds."""
    found: dict[int, int] = {}
    for number in set(numbers):
        for entry in tx.log(number, number):
            found[number] = entry.time
    return found


def contracts_of(tx: ReadTx, numbers: Iterable[int]) -> dict[int, bytes]:
    """The identities of the contracts under which commits were made, by number, where they had one."""
    found: dict[int, bytes] = {}
    for number in set(numbers):
        for entry in tx.log(number, number):
            identity = record.decode(entry.data).contract
            if identity is not None:
                found[number] = identity
    return found


def events_of(tx: ReadTx, deployed: Deployed, stored: Sequence[StoredEvent], history: str) -> list[Event]:
    """Stored events as values, with the times of their commits."""
    times = times_of(tx, (event.number for event in stored))
    return [Event(deployed, event, times.get(event.number, 0), history) for event in stored]


def stored_at(
    tx: ReadTx, event: str, partition: bytes | None, positions: Sequence[Position]
) -> list[StoredEvent]:
    """The stored events at these places of a stream, in order; those that are gone are left out.

    Neighbours are read together: positions of a batch mostly follow one another.
    """
    found: list[StoredEvent] = []
    wanted = sorted(positions)
    at = 0
    while at < len(wanted):
        number, ordinal = wanted[at]
        before = (number, ordinal - 1)
        page = tx.events(event, partition, before, len(wanted) - at)
        kept = set(wanted[at:])
        taken = [one for one in page if Position(one.number, one.ordinal) in kept]
        found += taken
        last = Position(page[-1].number, page[-1].ordinal) if page else wanted[-1]
        at = next((place for place, one in enumerate(wanted) if one > last), len(wanted))
    return found
