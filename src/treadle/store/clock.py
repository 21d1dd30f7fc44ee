"""The operating system's clock as the store's clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from treadle.ports.clock import Clock


def _carrier() -> Callable[[], int]:
    """A clock that is never set: nanoseconds, going on while the machine sleeps where it can tell.

    On Linux only the boot-time clock goes on during suspend; on macOS the monotonic one of the C library
    does, while Python's `time.monotonic` stops.
    """
    identity: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    if identity is None:
        return time.monotonic_ns
    return lambda: time.clock_gettime_ns(identity)


class SystemClock:
    """The wall clock, read once and carried on by a clock that nobody sets.

    So a wall clock that is set back while the process runs does not keep leases from expiring, and one
    that is set forward does not expire them early. After a restart the log's last time is the floor
    (the engine sees to that). `wall` and `carrier` give nanoseconds; tests hand in their own.
    """

    manual: Final = False

    def __init__(
        self, wall: Callable[[], int] = time.time_ns, carrier: Callable[[], int] | None = None
    ) -> None:
        self._carrier = carrier or _carrier()
        self._offset = wall() - self._carrier()

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return (self._carrier() + self._offset) // 1000


_IS_CLOCK: Final[type[Clock]] = SystemClock
