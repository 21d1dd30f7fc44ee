"""A named consumer, as an application holds it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from treadle import limits
from treadle.access.caller import Caller
from treadle.engine.core import Engine
from treadle.engine.grants import confirm
from treadle.engine.job import Job
from treadle.errors import InvalidInput, TooLarge
from treadle.streams.events import Delivery, events_of
from treadle.streams.jobs import AckJob, ExtendJob, NackJob, Pulled, PullJob, Start, Subject, admit
from treadle.streams.ledger import Ledger, find_header
from treadle.streams.operations import check_start
from treadle.streams.positions import Token, token_text
from treadle.streams.turns import Answer, Back, Pull

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
TOKENS: Final = 1_024
REASON: Final = 1_024
"""Characters that are kept of a reason."""

_PAUSES: Final = (0.005, 0.25)
"""The first and the longest pause, in seconds, between two looks of a long poll."""


class Settled(NamedTuple):
    """What became of tokens, in order: `done` now, `already` before, or `stale`.

    A stale one's event was given to somebody since, was given back, or is a dead letter.
    """

    answers: tuple[Answer, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was stale."""
        return "stale" not in self.answers

    @property
    def done(self) -> int:
        """How many were settled by this call."""
        return self.answers.count("done")


class Consumer:
    """A named consumer of one event's stream, or of one partition of it.

    Any number of threads and processes may pull under one name; each event goes to one of them at a time.
    """

    def __init__(
        self,
        engine: Engine,
        caller: Caller,
        event: str,
        name: Any,
        partition: Any = None,
        start: Start = "oldest",
    ) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InvalidInput(
                "name a consumer with 1 to 64 letters, digits, dots, hyphens and underscores", path="consumer"
            )
        check_start(start)
        self._engine = engine
        self._caller = caller
        self._subject = Subject(event, name, partition, start)

    def __repr__(self) -> str:
        return f"<Consumer {self._subject.name} of {self._subject.event}>"

    def pull(
        self,
        limit: int = limits.PULL_EVENTS,
        *,
        lease: int = 60,
        wait: float = 0,
        strict: bool = False,
        stop: threading.Event | None = None,
    ) -> list[Delivery]:
        """Take the next events, in order, at most `limit` (64), and hold each for `lease` seconds (5 to 900).

        Events whose lease ended or that were given back come first. Where there is nothing, waits up to
        `wait` seconds (30), or until `stop` is set. `strict` gives nothing that stands behind an event that
        is still held or waits, so that a caller who takes one batch at a time sees every event in order.
        The first pull brings the consumer into being, at the place where it is to start.

        Raises `Denied`, `UnknownName` (no such event), `InvalidInput`, `OverCapacity` or `Busy`.
        """
        wanted = self.wanted(limit, lease, strict)
        deadline = time.monotonic() + self.waiting(wait)
        pauses = self.pauses()
        while True:
            found = self.pull_now(wanted)
            left = deadline - time.monotonic()
            if found or left <= 0 or (stop is not None and stop.is_set()):
                return found
            pause = min(next(pauses), left)
            if stop is None:
                time.sleep(pause)
            else:
                stop.wait(pause)

    def pull_now(self, wanted: Pull) -> list[Delivery]:
        """One look, without waiting. Writes nothing where there is nothing to give."""
        if not self.ready(wanted):
            return []
        return self.deliveries(self._run(self.pull_job(wanted)))

    # The parts of these calls, for a caller that queues jobs and waits in its own way.

    @staticmethod
    def wanted(limit: Any, lease: Any, strict: Any) -> Pull:
        """What to pull; raises `InvalidInput` for what is out of bounds."""
        count = _bounded(limit, 1, limits.PULL_EVENTS, "limit", "events")
        return Pull(count, _lease(lease), _flag(strict, "strict"))

    @staticmethod
    def waiting(wait: Any) -> float:
        """How long to wait, in seconds; raises `InvalidInput` for what is out of bounds."""
        return _wait(wait)

    def pull_job(self, wanted: Pull) -> PullJob:
        """The job of a pull; its result goes to `deliveries`."""
        return PullJob(self._caller, self._subject, wanted)

    def ack_job(self, *deliveries: Delivery | str) -> AckJob:
        """The job of `ack`."""
        return AckJob(self._caller, self._subject, _tokens(deliveries))

    def nack_job(
        self, *deliveries: Delivery | str, delay: Any = 0, reason: Any = "", failed: Any = True
    ) -> NackJob:
        """The job of `nack`."""
        seconds = _bounded(delay, 0, limits.NACK_SECONDS, "delay", "seconds")
        back = Back(seconds, _flag(failed, "failed"))
        return NackJob(self._caller, self._subject, _tokens(deliveries), back, _plain(reason))

    def extend_job(self, *deliveries: Delivery | str, lease: Any = 60) -> ExtendJob:
        """The job of `extend`."""
        return ExtendJob(self._caller, self._subject, _tokens(deliveries), _lease(lease))

    @staticmethod
    def pauses() -> Iterator[float]:
        """The pauses of a long poll, in seconds, ever longer, up to a quarter of a second."""
        pause, longest = _PAUSES
        while True:
            yield pause
            pause = min(2 * pause, longest)

    def ack(self, *deliveries: Delivery | str) -> Settled:
        """Settle deliveries (or their tokens): these events will not be given again.

        Works after the lease's end too, as long as nobody else was given the event. Repeating it is safe.
        Raises `HistoryChanged` for tokens from before a restore.
        """
        return self._settle(self.ack_job(*deliveries))

    def nack(
        self, *deliveries: Delivery | str, delay: int = 0, reason: str = "", failed: bool = True
    ) -> Settled:
        """Give deliveries back, to be given again after `delay` seconds (up to 3600).

        After the tenth failed delivery an event becomes a dead letter, with `reason`. `failed` false takes
        this attempt back: for a consumer that stops before it began.
        """
        return self._settle(self.nack_job(*deliveries, delay=delay, reason=reason, failed=failed))

    def extend(self, *deliveries: Delivery | str, lease: int = 60) -> Settled:
        """Hold deliveries for `lease` seconds from now."""
        return self._settle(self.extend_job(*deliveries, lease=lease))

    def _settle(self, job: AckJob | NackJob | ExtendJob) -> Settled:
        return Settled(tuple(self._run(job))) if job.tokens else Settled(())

    def ready(self, wanted: Pull) -> bool:
        """Whether a pull would give something, as a snapshot shows it; true for a consumer that is new."""
        engine = self._engine
        state = confirm(engine, self._caller, engine.clock.now())
        partition = admit(state, self._caller, self._subject)
        event = self._subject.event
        with engine.store.read() as tx:
            header = find_header(tx, event, self._subject.name, partition)
            if header is None or header.incarnation != state.incarnation:
                return True
            if Ledger.any_due(tx, header, max(engine.clock.now(), tx.head().time)):
                return True
            blocked = header.kept >= limits.IN_FLIGHT_EVENTS or (wanted.strict and header.open > 0)
            return not blocked and bool(tx.events(event, partition, header.frontier, 1))

    def deliveries(self, pulled: Pulled) -> list[Delivery]:
        """What a pull decided, as values."""
        entries = {given.position: given.entry for given in pulled.given}
        with self._engine.store.read() as tx:
            events = events_of(tx, pulled.deployed, pulled.stored, pulled.history)
        return [
            Delivery(
                event,
                token_text(
                    pulled.history, Token(pulled.consumer, event.position, entries[event.position].fence)
                ),
                entries[event.position].attempts,
                entries[event.position].fence,
                entries[event.position].until,
            )
            for event in events
        ]

    def _run(self, job: Job) -> Any:
        answer = self._engine.submit([job])[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _bounded(value: Any, least: int, most: int, path: str, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"write {least} to {most} {unit}", path=path)
    return value


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput("write true or false", path=path)
    return value


def _lease(value: Any) -> int:
    return _bounded(value, *limits.STREAM_LEASE_SECONDS, "lease", "seconds")


def _wait(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= limits.POLL_SECONDS:
        raise InvalidInput(f"wait 0 to {limits.POLL_SECONDS} seconds", path="wait")
    return value


def _tokens(deliveries: tuple[Delivery | str, ...]) -> list[str]:
    if len(deliveries) > TOKENS:
        raise TooLarge(f"settle at most {TOKENS} deliveries in one call")
    return [one.token if isinstance(one, Delivery) else one for one in deliveries]


def _plain(reason: Any) -> str:
    """The reason as the database keeps it: its beginning, without what cannot be stored."""
    if not isinstance(reason, str):
        raise InvalidInput("a reason is text", path="reason")
    return reason[:REASON].encode("utf-8", "replace").decode().replace("\0", "")
