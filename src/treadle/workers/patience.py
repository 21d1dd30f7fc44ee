"""Time as a worker sees it, and calls that are repeated until their answer is certain."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from treadle.errors import Busy, OutcomeUnknown, TreadleError

Result = TypeVar("Result")

_FIRST: Final = 0.01
_LONGEST: Final = 1.0
"""The first and the longest pause between two tries, in seconds."""
LONGEST_DELAY: Final = 3_600.0


class Pace:
    """The passing of time in this process; tests hand in their own."""

    def now(self) -> float:
        """Seconds on a clock that is never set."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for `event`; true if it is set."""
        return event.wait(seconds)


def final(error: TreadleError) -> bool:
    """Whether there is nothing to wait for: a token that was revoked or ran out, or a handle that was closed,
    never comes back."""
    return error.code in ("unauthenticated", "closed")


def passing(error: TreadleError) -> bool:
    """Whether the same call may well succeed a moment later, without anything being done twice."""
    return error.recovery in ("retry", "repeat_same_key") and error.code != "lease_lost"


def certainly(
    call: Callable[[float], Result], until: float, pace: Pace, repeated: Callable[[], None]
) -> Result:
    """Call, with the seconds that are left, until the answer is certain; else the last error.

    Only for calls that may be repeated: reads, and commands with an idempotency key.
    """
    pause, never = _FIRST, threading.Event()
    last: TreadleError = Busy("there was no time left for the call; nothing happened")
    while True:
        left = until - pace.now()
        if left <= 0:
            raise last
        try:
            return call(left)
        except TreadleError as error:
            if not passing(error):
                raise
            # What may have happened stays open, whatever is heard later.
            last = last if isinstance(last, OutcomeUnknown) else error
        repeated()
        pace.wait(never, pause)
        pause = min(2 * pause, _LONGEST)


def backoff(base: float, tries: int, seed: str) -> float:
    """The pause after try number `tries` (from 1), in seconds: base · 2^(tries-1), an hour at most.

    Up to a quarter is taken off, by `seed`, so that what failed together is not tried together.
    """
    delay = min(base * 2.0 ** min(tries - 1, 32), LONGEST_DELAY)
    digest = hashlib.blake2b(f"{seed}:{tries}".encode(), digest_size=4).digest()
    return delay * (1 - int.from_bytes(digest, "big") / 2**34)
