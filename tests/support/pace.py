"""Time that goes faster than it does: for the database and the worker together, so that leases end soon."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

from treadle.workers.patience import Pace

START = datetime(2026, 3, 1, tzinfo=UTC)


class FastTime(Pace):
    """`factor` seconds go by in one. It is the clock of a database, and the pace of workers."""

    manual = True

    def __init__(self, factor: float = 50) -> None:
        self.factor = factor
        self._began = time.monotonic()

    def now(self) -> float:
        return (time.monotonic() - self._began) * self.factor

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds / self.factor)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds / self.factor)

    @property
    def clock(self) -> FastClock:
        return FastClock(self)


class FastClock:
    """The database's clock of a `FastTime`."""

    manual = True

    def __init__(self, pace: FastTime) -> None:
        self._pace = pace

    def now(self) -> int:
        return int(START.timestamp() * 1_000_000 + self._pace.now() * 1_000_000)
