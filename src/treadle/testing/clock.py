"""A clock that moves only when told to."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
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
    time does not follow below the last commit.
    """

    manual: Final = True

    def __init__(self, start: datetime) -> None:
        self._lock = threading.Lock()
        self._now = _microseconds(start)

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return self._now

    def advance(self, step: timedelta) -> None:
        """Move the clock on by `step`, or back if it is negative."""
        with self._lock:
            self._now += step // _MICROSECOND

    def set(self, when: datetime) -> None:
        """Put the clock to `when`, an aware datetime; raises `ValueError` for a naive one."""
        self._now = _microseconds(when)


_IS_CLOCK: Final[type[Clock]] = ManualClock
