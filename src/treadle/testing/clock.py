"""A clock that moves only when told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Final

from treadle.ports.clock import Clock

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def _microseconds(when: datetime) -> int:
    if when.tzinfo is None:
        raise ValueError("a clock needs a time with a zone, such as datetime(2030, 1, 1, tzinfo=UTC)")
    return (when - _EPOCH) // _MICROSECOND


class ManualClock:
    """A test clock for `treadle.open(clock=…)`; the log says that it was used.

    It stands at `start`, an aware datetime, until `advance` or `set` moves it. It may go back: the store's
    time does not follow below the last commit. `as_wall_clock` lets Python's own time stand and move with it.
    """

    manual: Final = True

    def __init__(self, start: datetime) -> None:
        self._lock = threading.RLock()
        self._now = _microseconds(start)
        self.moved: list[Callable[[], None]] = []
        """Called whenever the clock was moved."""

    def __repr__(self) -> str:
        return f"<ManualClock at {self.time.isoformat()}>"

    @property
    def time(self) -> datetime:
        """Where the clock stands, in UTC."""
        return _EPOCH + timedelta(microseconds=self._now)

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return self._now

    def advance(self, step: timedelta) -> None:
        """Move the clock on by `step`, or back if it is negative."""
        with self._lock:
            self._move(self._now + step // _MICROSECOND)

    def set(self, when: datetime) -> None:
        """Put the clock to `when`, an aware datetime; raises `ValueError` for a naive one."""
        with self._lock:
            self._move(_microseconds(when))

    @contextmanager
    def as_wall_clock(self) -> Iterator[ManualClock]:
        """Make this Python's wall clock too, in all threads, for the length of the block.

        `datetime.now`, `date.today`, `time.time`, `time.time_ns` and all that rest on them tell this clock's
        time, whoever imported them when. They stand still with it. `time.monotonic`, sleeps, timeouts, event
        loops and locks go on as ever, and so do other processes and the local time zone.
        Blocks may be nested; the innermost counts. Raises `ConfigError` where time-machine is not installed
        (`pip install 'treadle[testing]'`).
        """
        with import_module("treadle.testing.wall").moved_by(self):
            yield self

    def _move(self, now: int) -> None:
        _EPOCH + timedelta(microseconds=now)  # beyond the calendar it raises, before anything has moved
        self._now = now
        for tell in tuple(self.moved):
            tell()


_IS_CLOCK: Final[type[Clock]] = ManualClock
