"""Renewals in the background: one thread watches all turns of a worker, and others wait for the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Final

from treadle.errors import LeaseLost, TreadleError
from treadle.workers.patience import Pace, final
from treadle.workers.turn import Turn

SHARE: Final = 3
"""A lease is renewed when a third of it has passed, so that two renewals may fail."""
BUSY_SECONDS: Final = 0.2
"""How soon a renewal is tried again while a command is under way, or the database does not answer."""


class Renewer:
    """Keeps the leases of turns alive, and tells a turn when its lease is lost.

    `extend` is called with a turn whose lease was renewed, so that the source holds its item as long. Up to
    `most` turns are renewed at once: one whose answer does not come must not keep the others waiting.
    """

    def __init__(
        self,
        pace: Pace,
        seconds: int,
        most: int,
        extend: Callable[[Turn], None],
        renewed: Callable[[], None],
    ) -> None:
        self._pace = pace
        self._every = seconds / SHARE
        self._extend = extend
        self._renewed = renewed
        self._turns: dict[Turn, float] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._ended = False
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="treadle-renew")
        self._thread = threading.Thread(target=self._loop, name="treadle-renew", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def add(self, turn: Turn) -> None:
        """Begin to renew a turn's lease."""
        with self._lock:
            self._turns[turn] = self._pace.now() + self._every
        self._wake.set()

    def remove(self, turn: Turn) -> None:
        """Stop renewing a turn's lease."""
        with self._lock:
            self._turns.pop(turn, None)

    def end(self) -> None:
        """Stop everything."""
        self._ended = True
        self._wake.set()
        self._thread.join()
        self._pool.shutdown()

    def _loop(self) -> None:
        while not self._ended:
            with self._lock:
                turns = dict(self._turns)
            now = self._pace.now()
            for turn, due in turns.items():
                turn.watch()
                if turn.lost.is_set():
                    self.remove(turn)
                elif due <= now and not self._ended:
                    self._put_off(turn, inf)  # until there is an answer
                    self._pool.submit(self._answer, turn)
            with self._lock:
                # The deadline of what was released has passed for good: waiting for it would be no waiting.
                next_due = min(
                    (due if turn.released else min(due, turn.deadline) for turn, due in self._turns.items()),
                    default=None,
                )
            wait = self._every if next_due is None else max(0.0, next_due - self._pace.now())
            self._pace.wait(self._wake, min(wait, self._every))
            self._wake.clear()

    def _answer(self, turn: Turn) -> None:
        self._put_off(turn, self._renew(turn))
        self._wake.set()

    def _put_off(self, turn: Turn, seconds: float) -> None:
        with self._lock:
            if turn in self._turns:
                self._turns[turn] = self._pace.now() + seconds

    def _renew(self, turn: Turn) -> float:
        """Renew a lease; how long until it is to be done again."""
        try:
            if not turn.renew():
                return BUSY_SECONDS
            self._extend(turn)
        except LeaseLost:
            return self._every
        except TreadleError as error:
            if final(error):
                turn.lose()
                return self._every
            return BUSY_SECONDS  # until the lease ends by our own clock, it may still come right
        self._renewed()
        return self._every
