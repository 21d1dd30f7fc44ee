"""What an operator does with streams: look at consumers, decide about dead letters, move or remove one.

Each change is one record of the log and needs the `admin` permission. What cannot be taken back can be
tried without doing it (`dry_run`), and answers the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from treadle.access.caller import Caller
from treadle.engine.acts import ActJob
from treadle.engine.batch import Batch
from treadle.engine.core import Engine
from treadle.engine.grants import confirm
from treadle.errors import InvalidInput
from treadle.model import canonical
from treadle.model.packing import pack
from treadle.ports.store import ReadTx
from treadle.streams import letters, retention
from treadle.streams.events import declaration, events_of, stored_at
from treadle.streams.jobs import Start, Subject, admit, beginning, described, no_consumer
from treadle.streams.ledger import CONSUMERS, LETTERS, Header, Ledger, find_header, header_key, headers
from treadle.streams.letters import DeadLetter
from treadle.streams.positions import Position, read_id

DAY = 86_400
LONGEST_WINDOW = 100 * 366 * DAY


class Status(NamedTuple):
    """A consumer as it is.

    Everything up to the event with the id `settled` is settled, everything up to `given` was given. `open`
    counts events that are held or wait, `dead` its dead letters, `behind` events that it was not given yet
    (both up to `BEHIND`).
    """

    event: str
    consumer: str
    partition: list[Any] | None
    settled: str
    given: str
    open: int
    dead: int
    behind: int


BEHIND = 1_000
"""More than so many events behind are not counted."""


class OperatorJob(ActJob):
    """An act on one consumer."""

    __slots__ = ("dry_run", "subject")

    any_clock = False

    def __init__(self, caller: Caller, subject: Subject, dry_run: bool) -> None:
        super().__init__(caller)
        self.subject = subject
        self.dry_run = dry_run

    def act(self, batch: Batch) -> None:
        partition = admit(batch.state, self.caller, self.subject)
        header = find_header(batch.tx, self.subject.event, self.subject.name, partition)
        if header is None:
            raise no_consumer(self.subject)
        self.result = self.operate(batch, header)

    def operate(self, batch: Batch, header: Header) -> Any:
        raise NotImplementedError

    def record(self, batch: Batch, header: Header, what: str, body: dict[str, Any]) -> None:
        batch.append(self.entry(batch, "consumer", what, described(header) | body))


class LettersJob(OperatorJob):
    """Replay or drop dead letters; the result is the ids of those it is about. `ids` None means all."""

    __slots__ = ("drop", "ids")

    def __init__(
        self, caller: Caller, subject: Subject, ids: Sequence[str] | None, *, drop: bool, dry_run: bool
    ) -> None:
        super().__init__(caller, subject, dry_run)
        self.ids = ids
        self.drop = drop

    def operate(self, batch: Batch, header: Header) -> list[str]:
        if self.ids is None:
            chosen = [position for position, _ in letters.listed(batch.tx, header)]
        else:
            wanted = sorted({read_id(text, f"ids[{place}]") for place, text in enumerate(self.ids)})
            chosen = letters.found(batch.tx, header, wanted)
        named = [position.id for position in chosen]
        if chosen and not self.dry_run:
            letters.discard(batch.tx, header, chosen)
            if not self.drop:
                ledger = Ledger(batch.tx, header)
                letters.put_back(ledger, chosen, batch.time)
                ledger.flush()
            self.record(batch, header, "drop" if self.drop else "replay", {"events": named})
        return named


class SeekJob(OperatorJob):
    """Let a consumer go on from another place; the result is the id behind which it goes on.

    What it has open is forgotten; its dead letters stay.
    """

    __slots__ = ()

    def operate(self, batch: Batch, header: Header) -> str:
        place = beginning(batch.tx, header.event, self.subject.start)
        if not self.dry_run:
            ledger = Ledger(batch.tx, header)
            ledger.clear()
            # Fences go on: a token from before names a delivery that is forgotten, and settles nothing.
            ledger.update(checkpoint=place, frontier=place, incarnation=batch.state.incarnation)
            ledger.flush()
            self.record(batch, header, "seek", {"after": place.id})
        return place.id


class RemoveJob(OperatorJob):
    """Forget a consumer with all that it has; the result is how many events it has open, and dead letters."""

    __slots__ = ()

    def operate(self, batch: Batch, header: Header) -> tuple[int, int]:
        dead = [position for position, _ in letters.listed(batch.tx, header)]
        if not self.dry_run:
            ledger = Ledger(batch.tx, header)
            ledger.clear()
            ledger.flush()
            letters.discard(batch.tx, header, dead)
            key = header_key(header.event, header.name, header.partition_bytes)
            batch.tx.write_entries(CONSUMERS, [(key, None)])
            self.record(batch, header, "remove", {"open": header.open, "dead": len(dead)})
        return header.open, len(dead)


class RetainJob(ActJob):
    """Give a stream its window."""

    __slots__ = ("event", "window")

    any_clock = False

    def __init__(self, caller: Caller, event: str, window: int | None) -> None:
        super().__init__(caller)
        self.event = event
        self.window = window

    def act(self, batch: Batch) -> None:
        declaration(batch.state.require(), self.event)
        stream = retention.load(batch.tx, self.event)
        if stream.window != self.window:
            retention.save(batch.tx, self.event, msgspec.structs.replace(stream, window=self.window))
            batch.append(self.entry(batch, "stream", "retain", {"event": self.event, "seconds": self.window}))


class SweepJob(ActJob):
    """Remove what a window lets go, a step of it; the result is how many events went."""

    __slots__ = ("event",)

    any_clock = False

    def __init__(self, caller: Caller, event: str) -> None:
        super().__init__(caller)
        self.event = event

    def act(self, batch: Batch) -> None:
        declaration(batch.state.require(), self.event)
        self.result = retention.sweep(batch, self.event)


class Streams:
    """The streams of a database as an operator sees them."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def consumers(self, event: str | None = None) -> list[Status]:
        """All consumers of the streams that the caller may consume, or those of one event."""
        state = confirm(self._engine, self._caller, self._engine.clock.now())
        with self._engine.store.read() as tx:
            found = list(headers(tx, event))
            allowed = state.roles.allowed(self._caller, {header.event for header in found}, "streams")
            return [_status(tx, header) for header in found if header.event in allowed]

    def dead_letters(
        self, event: str, consumer: str, *, partition: Any = None, after: str | None = None, limit: int = 64
    ) -> list[DeadLetter]:
        """Dead letters of a consumer, oldest event first, those after the event with the id `after`."""
        subject = Subject(event, consumer, partition)
        state = confirm(self._engine, self._caller, self._engine.clock.now())
        key = admit(state, self._caller, subject)
        if not 1 <= limit <= BEHIND:
            raise InvalidInput(f"ask for 1 to {BEHIND} dead letters", path="limit")
        start = None if after is None else read_id(after, "after")
        with self._engine.store.read() as tx:
            header = find_header(tx, event, consumer, key)
            if header is None:
                raise no_consumer(subject)
            page = dict(_first(letters.listed(tx, header, start), limit))
            stored = stored_at(tx, event, key, list(page))
            events = events_of(tx, state.require(), stored, state.history)
        return [DeadLetter(one, page[one.position].attempts, page[one.position].reason) for one in events]

    def replay(
        self,
        event: str,
        consumer: str,
        ids: Sequence[str] | None = None,
        *,
        partition: Any = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Give dead letters to the consumer again, by their events' ids, or all. Returns their ids."""
        job = LettersJob(self._caller, Subject(event, consumer, partition), ids, drop=False, dry_run=dry_run)
        replayed: list[str] = self._run(job)
        return replayed

    def drop(
        self,
        event: str,
        consumer: str,
        ids: Sequence[str] | None = None,
        *,
        partition: Any = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Give dead letters up for good, by their events' ids, or all. Returns their ids."""
        job = LettersJob(self._caller, Subject(event, consumer, partition), ids, drop=True, dry_run=dry_run)
        dropped: list[str] = self._run(job)
        return dropped

    def seek(
        self, event: str, consumer: str, start: Start, *, partition: Any = None, dry_run: bool = False
    ) -> str:
        """Let a consumer go on from `start`: "oldest", "newest", or behind a commit's number.

        Events may come again, or never. Returns the id behind which it goes on.
        """
        check_start(start)
        place: str = self._run(SeekJob(self._caller, Subject(event, consumer, partition, start), dry_run))
        return place

    def remove(
        self, event: str, consumer: str, *, partition: Any = None, dry_run: bool = False
    ) -> tuple[int, int]:
        """Forget a consumer. Returns how many events it had open, and how many dead letters."""
        counts: tuple[int, int] = self._run(
            RemoveJob(self._caller, Subject(event, consumer, partition), dry_run)
        )
        return counts

    def retain(self, event: str, window: timedelta | None) -> None:
        """Keep events of this name for `window` and as long as a consumer needs them; None: for ever."""
        seconds = None
        if window is not None:
            seconds = int(window.total_seconds())
            if not 1 <= seconds <= LONGEST_WINDOW:
                raise InvalidInput("a window is at least a second and at most a hundred years", path="window")
        self._run(RetainJob(self._caller, event, seconds))

    def window(self, event: str) -> timedelta | None:
        """How long events of this name are kept; None: for ever."""
        with self._engine.store.read() as tx:
            seconds = retention.load(tx, event).window
        return None if seconds is None else timedelta(seconds=seconds)

    def sweep(self, event: str) -> int:
        """Remove what the window lets go now, without waiting for a pull. Returns how many events."""
        total = 0
        while gone := self._run(SweepJob(self._caller, event)):
            total += gone
        return total

    def kept(self, event: str) -> str:
        """For whom the oldest event of the stream is kept, and how to go on; empty where for nobody."""
        confirm(self._engine, self._caller, self._engine.clock.now())
        with self._engine.store.read() as tx:
            return retention.oldest_kept(tx, event)

    def _run(self, job: ActJob) -> Any:
        answer = self._engine.submit([job])[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def check_start(start: Start) -> None:
    """Raise `InvalidInput` for what is no place to begin at."""
    number = isinstance(start, int) and not isinstance(start, bool) and 0 <= start < 2**63
    if start not in ("oldest", "newest") and not number:
        raise InvalidInput('begin at "oldest", at "newest", or behind a commit\'s number', path="start")


def _first(items: Iterable[Any], limit: int) -> list[Any]:
    return [item for item, _ in zip(items, range(limit), strict=False)]


def _status(tx: ReadTx, header: Header) -> Status:
    partition = header.partition_bytes
    values: Any = None if partition is None else canonical.decode(partition)
    behind = tx.events(header.event, partition, header.frontier, BEHIND)
    dead = tx.entries(LETTERS, pack((header.id,)), None, BEHIND)
    return Status(
        event=header.event,
        consumer=header.name,
        partition=values,
        settled=Position(*header.checkpoint).id,
        given=Position(*header.frontier).id,
        open=header.open,
        dead=len(dead),
        behind=len(behind),
    )
