"""The server's clock, carried on between transactions by a clock of this machine that nobody sets."""

from __future__ import annotations

import time
from typing import Final

from treadle.ports.clock import Clock


class ServerClock:
    """PostgreSQL's time, as every transaction that begins has read it.

    So hosts whose own clocks differ agree on the time, but for the way of an answer through the network.
    """

    manual: Final = False

    def __init__(self) -> None:
        self._offset = 0  # microseconds from this machine's monotonic clock to the server's time

    def note(self, now: int) -> None:
        """The server has just said that it is `now`, in microseconds since 1970 UTC."""
        self._offset = now - time.monotonic_ns() // 1_000

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return time.monotonic_ns() // 1_000 + self._offset


_IS_CLOCK: Final[type[Clock]] = ServerClock
