"""Pull, ack, nack and extend as jobs of a batch: each may share its commit with commands and with others.

What they write is no part of the hash-chained log, with two exceptions that take an event out of a consumer's
ordinary flow or bring a consumer into being: a consumer's creation, and events that become dead letters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine.acts import act_record
from treadle.engine.batch import Batch
from treadle.engine.command import unexpected
from treadle.engine.job import Job
from treadle.engine.state import Deployed, State
from treadle.errors import InvalidInput, TreadleError, UnknownName
from treadle.model import canonical
from treadle.ports.store import ReadTx, StoredEvent
from treadle.streams import letters, retention, turns
from treadle.streams.events import check_tenant, declaration, read_partition, stored_at
from treadle.streams.ledger import NEXT_ID, Header, Ledger, find_header, save
from treadle.streams.letters import Letter
from treadle.streams.positions import BEGINNING, Position, Token, read_token
from treadle.streams.turns import Answer, Back, Given, Pull

Start: TypeAlias = str | int
"""Where a new consumer begins: with the "oldest" event, behind the "newest", or behind a commit's number."""

NEWEST: Final = 2**32 - 1
"""An ordinal behind all events of a commit."""


class Subject(NamedTuple):
    """What a call is about: a consumer of an event's stream. `partition` is as the caller gave it."""

    event: str
    name: str
    partition: Any = None
    start: Start = "oldest"


class Pulled(NamedTuple):
    """What a pull decided, for the caller to show."""

    deployed: Deployed
    history: str
    consumer: int
    given: list[Given]
    stored: list[StoredEvent]


def admit(state: State, caller: Caller, subject: Subject) -> bytes | None:
    """The canonical partition, once it is certain that the caller may consume this stream.

    Raises `Denied`, `UnknownName` and `InvalidInput`.
    """
    state.roles.check_stream(caller, subject.event)
    deployed = state.require()
    declaration(deployed, subject.event)
    cells = read_partition(deployed, subject.event, subject.partition)
    check_tenant(deployed, subject.event, cells, caller.tenant)
    return None if cells is None else deployed.codec.partition_encoder(subject.event)(cells)


def no_consumer(subject: Subject) -> UnknownName:
    """The error of a call to a consumer that never pulled."""
    named = f"no consumer {subject.name} of {subject.event} in this partition"
    return UnknownName(f"{named}; the first pull makes one")


class StreamJob(Job):
    """A call of a consumer. What goes wrong is its own answer, never its neighbours'."""

    __slots__ = ("caller", "subject")

    def __init__(self, caller: Caller, subject: Subject, size: int = 1_024) -> None:
        super().__init__(size)
        self.caller = caller
        self.subject = subject

    def step(self, batch: Batch) -> None:
        try:
            caller = batch.confirmed(self.caller)
            partition = admit(batch.state, caller, self.subject)
            self.result = self.act(batch, partition)
        except TreadleError as error:
            self.error = error
        except Exception as error:  # ours, not the caller's; the batch goes on without this call
            self.error = unexpected(error)

    def act(self, batch: Batch, partition: bytes | None) -> Any:
        """Decide, write, and return the result."""
        raise NotImplementedError

    def ledger(self, batch: Batch, partition: bytes | None) -> Ledger:
        """The consumer's ledger in this batch; raises `UnknownName` for a consumer that never pulled."""
        header = find_header(batch.tx, self.subject.event, self.subject.name, partition)
        if header is None:
            raise no_consumer(self.subject)
        return self.current(batch, header)

    @staticmethod
    def current(batch: Batch, header: Header) -> Ledger:
        """The ledger under the history that is now."""
        ledger = Ledger(batch.tx, header)
        if header.incarnation != batch.state.incarnation:
            turns.restart(ledger, batch.time, batch.state.incarnation)
            ledger.flush()
        return ledger

    def finish(self, batch: Batch, ledger: Ledger, dead: Sequence[Position], reason: str) -> None:
        """Write what was decided, and the dead letters with their record."""
        if dead:
            letter = Letter(limits.DELIVERIES, batch.time, reason)
            letters.bury(batch.tx, ledger.header, dead, letter)
            self.record(batch, ledger.header, "dead", {"events": [one.id for one in dead], "reason": reason})
        if ledger.flush():
            batch.touched = True

    def record(self, batch: Batch, header: Header, what: str, body: dict[str, Any]) -> None:
        """Append a record of kind `consumer`."""
        batch.append(act_record(batch, self.caller, "consumer", what, described(header) | body))


def described(header: Header) -> dict[str, Any]:
    """How the log names a consumer."""
    partition = header.partition_bytes
    named = {"event": header.event, "consumer": header.name}
    return named if partition is None else named | {"partition": canonical.decode(partition)}


class PullJob(StreamJob):
    """Give events to a consumer; the first pull brings it into being. The result is a `Pulled`."""

    __slots__ = ("wanted",)

    def __init__(self, caller: Caller, subject: Subject, wanted: Pull) -> None:
        super().__init__(caller, subject)
        self.wanted = wanted

    def act(self, batch: Batch, partition: bytes | None) -> Pulled:
        event = self.subject.event
        header = find_header(batch.tx, event, self.subject.name, partition)
        ledger = self.current(batch, header or self._created(batch, partition))
        fresh = _fresh(batch.tx, event, partition)
        given, dead = turns.pull(ledger, batch.time, self.wanted, fresh)
        self.finish(batch, ledger, dead, "its deliveries ran out of time")
        retention.sweep_now_and_then(batch, event)
        stored = stored_at(batch.tx, event, partition, [one.position for one in given])
        state = batch.state
        return Pulled(state.require(), state.history, ledger.header.id, given, stored)

    def _created(self, batch: Batch, partition: bytes | None) -> Header:
        number = int(batch.tx.setting(NEXT_ID) or b"1")
        batch.tx.put_setting(NEXT_ID, b"%d" % (number + 1))
        place = beginning(batch.tx, self.subject.event, self.subject.start)
        header = Header(
            id=number,
            event=self.subject.event,
            name=self.subject.name,
            partition=None if partition is None else partition.hex(),
            created=batch.time,
            incarnation=batch.state.incarnation,
            checkpoint=place,
            frontier=place,
        )
        save(batch.tx, header)
        self.record(batch, header, "create", {"id": number, "after": place.id})
        return header


def beginning(tx: ReadTx, event: str, start: Start) -> Position:
    """The place behind which a consumer begins, never before the oldest event that is kept.

    Raises `InvalidInput` for a commit that is still to come: every event up to it would be passed over.
    """
    floor = retention.floor(tx, event)
    if start == "oldest":
        return floor
    newest = tx.head().number
    number = newest if start == "newest" else int(start)
    if number > newest:
        raise InvalidInput(f'the newest commit is {newest}; name one up to there, or "newest"', path="start")
    return max(floor, Position(number, NEWEST))


def _fresh(tx: ReadTx, event: str, partition: bytes | None) -> Callable[[Position, int], list[Position]]:
    def fresh(after: Position, limit: int) -> list[Position]:
        return [Position(one.number, one.ordinal) for one in tx.events(event, partition, after, limit)]

    return fresh


class SettleJob(StreamJob):
    """Something about deliveries, named by their tokens. The result has one answer a token, in order."""

    __slots__ = ("tokens",)

    def __init__(self, caller: Caller, subject: Subject, tokens: Sequence[str]) -> None:
        super().__init__(caller, subject, size=1_024 + 64 * len(tokens))
        self.tokens = tuple(tokens)

    def act(self, batch: Batch, partition: bytes | None) -> list[Answer]:
        read = [
            read_token(text, batch.state.history, f"tokens[{place}]")
            for place, text in enumerate(self.tokens)
        ]
        return self.settle(batch, self.ledger(batch, partition), read)

    def settle(self, batch: Batch, ledger: Ledger, tokens: Sequence[Token]) -> list[Answer]:
        """Decide about the deliveries and write it."""
        raise NotImplementedError


class AckJob(SettleJob):
    """Settle deliveries for good."""

    __slots__ = ()

    def settle(self, batch: Batch, ledger: Ledger, tokens: Sequence[Token]) -> list[Answer]:
        answers = turns.acknowledge(ledger, tokens)
        self.finish(batch, ledger, (), "")
        return answers


class NackJob(SettleJob):
    """Give deliveries back."""

    __slots__ = ("back", "reason")

    def __init__(
        self, caller: Caller, subject: Subject, tokens: Sequence[str], back: Back, reason: str
    ) -> None:
        super().__init__(caller, subject, tokens)
        self.back = back
        self.reason = reason

    def settle(self, batch: Batch, ledger: Ledger, tokens: Sequence[Token]) -> list[Answer]:
        answers, dead = turns.give_back(ledger, batch.time, tokens, self.back)
        self.finish(batch, ledger, dead, self.reason)
        return answers


class ExtendJob(SettleJob):
    """Hold deliveries for longer."""

    __slots__ = ("lease",)

    def __init__(self, caller: Caller, subject: Subject, tokens: Sequence[str], lease: int) -> None:
        super().__init__(caller, subject, tokens)
        self.lease = lease

    def settle(self, batch: Batch, ledger: Ledger, tokens: Sequence[Token]) -> list[Answer]:
        answers = turns.extend(ledger, batch.time, tokens, self.lease)
        self.finish(batch, ledger, (), "")
        return answers


__all__ = [
    "BEGINNING",
    "AckJob",
    "ExtendJob",
    "NackJob",
    "PullJob",
    "Pulled",
    "Start",
    "Subject",
    "admit",
    "beginning",
    "no_consumer",
]
