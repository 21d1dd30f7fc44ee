"""Workers run until there is nothing left to do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakKeyDictionary

from treadle.acting import Acting
from treadle.database import Database
from treadle.engine.core import Engine
from treadle.model.scalars import microseconds
from treadle.model.values import datetime_of
from treadle.testing.clock import ManualClock
from treadle.testing.due import next_stored
from treadle.workers import Schedule, Worker
from treadle.workers.counters import Counters
from treadle.workers.running import Running
from treadle.workers.schedule import Firing

if TYPE_CHECKING:
    from treadle.client.remote import Remote

PROGRESS: Final = ("finished", "settled", "dead_letters", "fired")
"""Counts of a worker that rise when something was brought to its end."""

_SECOND: Final = 1_000_000
_MICROSECOND: Final = timedelta(microseconds=1)

Run = Worker | Schedule | Callable[[], object]


class _Part(Protocol):
    """Something that is run again and again."""

    name: str

    def round(self) -> bool:
        """Do what there is to do now; whether anything was brought to its end."""

    def next(self) -> int | None:
        """When to look again, in microseconds, as far as it can tell."""

    def stop(self) -> None: ...


def run_until_idle(
    on: Database | Acting | Remote,
    *runs: Run,
    until: datetime | timedelta | None = None,
    seconds: float = 30.0,
) -> dict[str, int]:
    """Run workers and schedules one after another, again and again, until none of them has anything to do.

    `on` is `db.acting_as(…)`, or a database, whose workers then act as the owner of the file, or what
    `treadle.connect(…)` returned. `runs` are workers, schedules, and functions of your own without arguments,
    such as one that reads a stream: they return whether they did anything. What one makes for another is done
    too. An item whose handler fails is tried once, and left for a time that has not come, or for ever.

    Nothing waits, and the clock moves only when the test moves it; or, with `until`, it is moved from one
    moment to the next at which a row, a consumer, a schedule or a retry says that something may be due, and
    at last to `until`: a time, or how far to go from now. It is the database's `ManualClock`.

    Returns what all of them together counted meanwhile, by the names of `Worker.counters`. Raises
    `AssertionError` if they are not idle after `seconds` of real time (then they are stopped for good), and
    `ValueError` for an `until` that lies behind, or a database that has no `ManualClock`.
    """
    __tracebackhide__ = True  # pytest then shows the test's line, not these
    acting = on.acting_as("workers") if isinstance(on, Database) else on
    way = None if until is None else _Way(acting, until)
    counted = [one.counters for one in runs if isinstance(one, Worker | Schedule)]
    before = _counts(counted)
    parts = [_part(one, acting) for one in runs]
    late = threading.Event()
    timer = threading.Timer(seconds, _give_up, (parts, late))
    timer.daemon = True
    timer.start()
    try:
        while not late.is_set():
            moved = [part.round() for part in parts if not late.is_set()]
            if not any(moved) and (way is None or not way.on(parts)):
                break
    finally:
        timer.cancel()
    if late.is_set():
        names = ", ".join(part.name for part in parts)
        raise AssertionError(f"{names} still had something to do after {seconds:g} seconds")
    after = _counts(counted)
    return {name: count - before[name] for name, count in after.items()}


def _give_up(parts: Sequence[_Part], late: threading.Event) -> None:
    late.set()
    for part in parts:
        part.stop()


def _counts(counted: Sequence[Counters]) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(PROGRESS, 0)
    for counters in counted:
        for name, count in counters.snapshot().items():
            counts[name] = counts.get(name, 0) + count
    return counts


class _Way:
    """The clock's way through the moments at which something may be due."""

    def __init__(self, acting: Acting | Remote, until: datetime | timedelta) -> None:
        engine = _engine(acting)
        if engine is None or not isinstance(engine.clock, ManualClock):
            raise ValueError(
                "until=… moves the clock of a database that was opened with one that can be moved: "
                "treadle.open(url, clock=ManualClock(start))"
            )
        self._engine = engine
        self._clock = engine.clock
        now = self._clock.now()
        self._end = now + until // _MICROSECOND if isinstance(until, timedelta) else microseconds(until)
        if self._end < now:
            raise ValueError(f"until={until} lies behind: the clock stands at {self._clock.time}")

    def on(self, parts: Sequence[_Part]) -> bool:
        """Go to the next moment; false at the end."""
        now = self._clock.now()
        if now >= self._end:
            return False
        named = (next_stored(self._engine, now), *(part.next() for part in parts))
        due = min((moment for moment in named if moment is not None and moment > now), default=self._end)
        self._clock.set(datetime_of(min(due, self._end)))
        return True


def _engine(acting: Acting | Remote) -> Engine | None:
    return acting._database._engine if isinstance(acting, Acting) else None


# What is run.


def _part(one: Run, acting: Acting | Remote) -> _Part:
    if isinstance(one, Worker):
        return _OfWorker(one, acting)
    if isinstance(one, Schedule):
        return _OfSchedule(one, acting)
    if not callable(one):
        raise TypeError(f"{one!r} is no worker, no schedule and no function")
    return _OfFunction(one)


class _OfWorker:
    """A worker; what it leaves alone for a while is remembered from one round to the next."""

    def __init__(self, worker: Worker, acting: Acting | Remote) -> None:
        self.name = worker.name
        self._worker = worker
        self._running: Running = worker.running(acting)
        self._engine = _engine(acting)

    def round(self) -> bool:
        before = self._progress()
        self._running.loop(until_idle=True)
        return self._progress() > before

    def _progress(self) -> int:
        counts: Mapping[str, Any] = self._worker.counters.snapshot()
        return sum(counts[name] for name in PROGRESS)

    def next(self) -> int | None:
        pause = self._running.pause()
        if pause is None or self._engine is None:
            return None
        return self._engine.clock.now() + max(1, round(pause * _SECOND))

    def stop(self) -> None:
        self._worker.stop()


_FIRING: Final[WeakKeyDictionary[Engine, dict[Schedule, Firing]]] = WeakKeyDictionary()
"""A schedule that has never fired applies since it was first run, here as in a process that goes on."""


class _OfSchedule:
    """A schedule."""

    def __init__(self, schedule: Schedule, acting: Acting | Remote) -> None:
        self.name = schedule.name
        self._schedule = schedule
        engine = _engine(acting)
        known = {} if engine is None else _FIRING.setdefault(engine, {})
        if schedule not in known:
            known[schedule] = schedule.firing(acting)
        self._firing = known[schedule]

    def round(self) -> bool:
        before = self._schedule.counters["fired"]
        self._firing.catch_up()
        return self._schedule.counters["fired"] > before

    def next(self) -> int | None:
        return microseconds(self._firing.next().astimezone(UTC))

    def stop(self) -> None:
        self._schedule.stop()


class _OfFunction:
    """A function of the test's own."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.name = getattr(function, "__name__", repr(function))
        self._function = function

    def round(self) -> bool:
        return bool(self._function())

    def next(self) -> int | None:
        return None

    def stop(self) -> None:
        """It ends by itself."""
