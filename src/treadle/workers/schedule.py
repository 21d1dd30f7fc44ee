"""Schedules: a command of the contract that is run at certain times, once each, whoever comes to it.

Every process that runs a schedule runs the command when it is due, under the key of the attempt: the first
one is evaluated, the others get its receipt. There is nothing else behind it: no table, no leader, no right
that the command's own role does not have.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from treadle.access.presence import with_next
from treadle.errors import ConfigError, InvalidInput, KeyReused, TerminalFailure, TreadleError
from treadle.model.contract import Command
from treadle.model.scalars import microseconds
from treadle.model.types import TIMESTAMP, Optional
from treadle.model.values import Codec, datetime_of
from treadle.workers.attempts import SCHEDULE, Attempt, Due
from treadle.workers.client import Client, client_of
from treadle.workers.counters import Counters
from treadle.workers.cron import Cron, Every, Rule
from treadle.workers.fitness import check_usable, explained, warn_of_standstill
from treadle.workers.handlers import given
from treadle.workers.patience import Pace, certainly, final, passing
from treadle.workers.steps import command_of

_LOG: Final = logging.getLogger("treadle.schedule")

Missed = Literal["latest", "all", "none"]
"""What becomes of times that passed while nobody ran the schedule."""

GRACE: Final = timedelta(minutes=1)
"""A fire that is so late is still in time."""
MOST: Final = 1_000
"""So many missed times are looked at, at most."""
KNOWN: Final = 8
"""So many due times are looked through for the last recorded fire, however long ago they are."""
_MICROSECOND: Final = timedelta(microseconds=1)
_POLL: Final = 1.0
_ASKING: Final = 30.0
"""How long, in seconds, one fire is repeated while the database does not answer; then again after a pause."""

Inputs = Mapping[str, Any] | Callable[[datetime], Mapping[str, Any]]


class _Bound(NamedTuple):
    """A schedule on a database: what is deployed, its command, and which inputs are key and due time."""

    client: Client
    generation: object
    key: str
    due: str | None


class Schedule:
    """Runs `command` when `cron` (in `zone`) or `every` says so.

    `input` gives the command's inputs, or is a function of the due time that does; the key is filled in, and
    a timestamp input called `due` with the due time. What is the same due time must give the same input.
    `missed` says what happens to times at which nobody ran the schedule, up to `horizon` back: "all" runs
    each in order, "latest" the last of those that are more than a minute late, "none" none of these. What
    was missed is read off the last fire that is recorded; before the first one, `start` says since when the
    schedule applies (without it, since the first process that runs it).
    Raises `ConfigError` for what contradicts itself.
    """

    def __init__(
        self,
        name: str,
        *,
        command: str,
        cron: str | None = None,
        zone: str = "UTC",
        every: timedelta | None = None,
        input: Inputs | None = None,
        missed: Missed = "latest",
        start: datetime | None = None,
        horizon: timedelta = timedelta(days=1),
        pace: Pace | None = None,
    ) -> None:
        if not name:
            raise ConfigError("give the schedule a name that stays; it identifies what it does")
        if missed not in ("latest", "all", "none"):
            raise ConfigError(f"missed={missed!r}: write latest, all or none")
        if start is not None and start.tzinfo is None:
            raise ConfigError("start needs a time zone, such as datetime(2030, 1, 1, tzinfo=UTC)")
        self.name = name
        self.command = command
        self.rule = _rule(cron, zone, every, start)
        self.input: Inputs = input or {}
        self.missed = missed
        self.start = start
        self.horizon = horizon
        self.counters = Counters()
        self._pace = pace or Pace()
        self._stop = threading.Event()

    def __repr__(self) -> str:
        return f"<treadle.Schedule {self.name}: {self.rule!r}>"

    def check(self, on: Any) -> None:
        """See whether the schedule fits what is deployed; raises `ConfigError` with what does not."""
        client = client_of(on)
        check_usable(client, (self.command,))
        self._bind(client)

    def key(self, due: datetime) -> str:
        """The idempotency key of the fire that is due at a time."""
        moment = Due.of(microseconds(due.astimezone(UTC)))
        return Attempt(self.name, SCHEDULE, bytes(32), self.command, moment, ()).business(self.command)

    def run(self, on: Any, *, until_idle: bool = False) -> None:
        """Run on `db.acting_as(…)` or `treadle.connect(…)` until `stop` is called; or, `until_idle`, until
        nothing is due now.

        Raises `ConfigError` at the beginning for a schedule that does not fit the contract.
        """
        firing = self.firing(on)
        while not self._stop.is_set():
            firing.catch_up()
            if until_idle:
                return
            self._pace.wait(self._stop, min(max(firing.left(), 0.01), _POLL))

    def firing(self, on: Any) -> Firing:
        """The schedule at work on a database, from the last fire on that is recorded there."""
        client = client_of(on)
        warn_of_standstill(client, self.name, _LOG)
        with explained(client, (self.command,)):
            return Firing(self, self._bind(client))

    def stop(self) -> None:
        """Fire no more; `run` returns. From any thread."""
        self._stop.set()

    # What is due.

    @staticmethod
    def _now(bound: _Bound) -> datetime:
        return datetime_of(bound.client.now())

    def _last(self, bound: _Bound) -> datetime:
        """The time up to which everything was fired: the last recorded fire, `start`, or now."""
        now = self._now(bound)
        back = list(self._back(now, KNOWN))
        for begin in range(0, len(back), 64):
            page = back[begin : begin + 64]
            answers = self._recalled(bound, [self.key(due) for due in page])
            for due, answer in zip(page, answers, strict=True):
                if answer is not None:
                    return due
        if self.start is not None and self.start <= now:
            return max(self.start, now - self.horizon) - _MICROSECOND
        return now

    def _recalled(self, bound: _Bound, keys: list[str]) -> list[Any]:
        return list(self._patiently(lambda: bound.client.recall(self.command, keys)))

    def _back(self, now: datetime, least: int = 0) -> Iterator[datetime]:
        """Due times up to now, the last one first, to the horizon; and beyond it for at least so many."""
        moment: datetime | None = self.rule.before(now)
        for count in range(MOST):
            if moment is None or (count >= least and moment < now - self.horizon):
                return
            if self.start is not None and moment < self.start:
                return
            yield moment
            moment = self.rule.before(moment - _MICROSECOND)

    def _catch_up(self, bound: _Bound, last: datetime) -> datetime:
        """Fire what is due since `last`; the time up to which everything is done."""
        now = self._now(bound)
        due = [moment for moment in self._back(now) if moment > last][::-1]
        if not due:
            return max(last, self.rule.before(now) or last)
        wanted = self._wanted(due, now)
        self.counters.add("missed", len(due) - len(wanted))
        for moment in wanted:
            if self._stop.is_set() or not self._fire(bound, moment):
                return moment - _MICROSECOND
        return due[-1]

    def _wanted(self, due: list[datetime], now: datetime) -> list[datetime]:
        if self.missed == "all":
            return due
        in_time = [moment for moment in due if now - moment <= GRACE]
        return in_time or (due[-1:] if self.missed == "latest" else [])

    # Firing.

    def _input(self, due: datetime) -> dict[str, Any]:
        """The command's inputs for a due time; raises `InvalidInput` where they cannot be had."""
        found = given(self.input, due, path="input") if callable(self.input) else self.input
        if not isinstance(found, Mapping):
            raise InvalidInput("a mapping of the command's inputs is wanted", path="input")
        return dict(found)

    def _fire(self, bound: _Bound, due: datetime) -> bool:
        """Run the command for a due time; false if it could not be said whether it ran."""
        found = self._input(due)
        found[bound.key] = self.key(due)
        if bound.due is not None:
            found.setdefault(bound.due, due)
        client = bound.client.presenting(with_next(self.name, self.rule.after(due)))
        try:
            answer = self._patiently(lambda: client.run(self.command, found))
        except KeyReused:
            _LOG.warning("%s: another process fired %s with another input", self.name, due.isoformat())
        except TerminalFailure as failure:
            _LOG.warning("%s: %s ended in %s", self.name, self.command, failure.code)
        except TreadleError as error:
            if final(error):
                raise
            self.counters.add("errors")
            _LOG.warning("%s: %s; trying again", self.name, error.message)
            self._pace.wait(self._stop, _POLL if passing(error) else _ASKING)
            return False
        else:
            self.counters.add("fired", 0 if answer.replayed else 1)
            if not answer.ok:
                _LOG.warning("%s: %s answered %s", self.name, self.command, answer.outcome)
        return True

    def _patiently(self, call: Callable[[], Any]) -> Any:
        return certainly(
            lambda left: call(), self._pace.now() + _ASKING, self._pace, lambda: self.counters.add("repeated")
        )

    # Fitting.

    def _current(self, bound: _Bound) -> _Bound:
        """The schedule fitted to what is deployed now; as it was, while the database does not answer."""
        try:
            return bound if bound.client.generation() == bound.generation else self._bind(bound.client)
        except TreadleError as error:
            if final(error) or not passing(error):
                raise
            self.counters.add("errors")
            return bound

    def _bind(self, client: Client) -> _Bound:
        """Fit the schedule to what is deployed."""
        generation = client.generation()
        contract = client.contract()
        command = command_of(contract, self.command)
        if command.idempotency_key is None:
            raise ConfigError(
                f"command {command.name} has no idempotency key; a schedule could fire it twice"
            )
        due = _due_input(command)
        example = self.rule.after(datetime_of(client.now()))
        found = self._input(example)
        taken = {command.idempotency_key} | ({due} if due is not None else set())
        _check(command, found, taken, Codec(contract))
        return _Bound(client, generation, command.idempotency_key, due)


class Firing:
    """A schedule at work: it knows up to when everything was fired."""

    def __init__(self, schedule: Schedule, bound: _Bound) -> None:
        self._schedule = schedule
        self._bound = bound
        self._last = schedule._last(bound)

    def catch_up(self) -> None:
        """Fire what is due."""
        self._bound = self._schedule._current(self._bound)
        self._last = self._schedule._catch_up(self._bound, self._last)

    def next(self) -> datetime:
        """The next time at which something is due."""
        return self._schedule.rule.after(self._last)

    def left(self) -> float:
        """Seconds until then."""
        return (self.next() - self._schedule._now(self._bound)) / timedelta(seconds=1)


def _rule(cron: str | None, zone: str, every: timedelta | None, start: datetime | None) -> Rule:
    if (cron is None) == (every is None):
        raise ConfigError("say when: cron='0 2 * * *', or every=timedelta(hours=1)")
    return Cron(cron, zone) if cron is not None else Every(every or timedelta(0), start)


def _due_input(command: Command) -> str | None:
    """The input that takes the due time: a timestamp called `due`."""
    for field in command.inputs:
        kind = field.type.item if isinstance(field.type, Optional) else field.type
        if field.name == "due" and kind == TIMESTAMP:
            return field.name
    return None


def _check(command: Command, given: Mapping[str, Any], taken: set[str], codec: Codec) -> None:
    """Raise `ConfigError` for an input of the command that is missing, unknown or of another type."""
    known = {field.name for field in command.inputs}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ConfigError(f"command {command.name} has no input {unknown[0]}")
    for field in command.inputs:
        if field.name in given:
            try:
                codec.reader(field.type)(given[field.name], field.name)
            except InvalidInput as error:
                raise ConfigError(f"for command {command.name}, {error.message}") from None
        elif field.name not in taken and not isinstance(field.type, Optional):
            raise ConfigError(
                f"command {command.name} needs {field.name}: {field.type}; give it in input={{…}}"
            )
