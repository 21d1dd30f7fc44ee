"""What a worker counts and tells: plain numbers to export, and places to look in."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

COUNTED: Final = {
    "pages": "pages of items asked for",
    "claims_tried": "claims tried",
    "claims_won": "claims that got the row",
    "claims_lost": "claims that somebody else was faster with, or that were stale",
    "handled": "handlers that ended well",
    "failed": "handlers that failed, or whose result was refused",
    "finished": "attempts concluded by this worker",
    "settled": "attempts that were found concluded already",
    "renewed": "leases renewed",
    "lost": "turns that lost their lease",
    "retried": "items that will be tried again",
    "dead_letters": "items given up as dead letters",
    "capped": "items left for later because a cap was reached",
    "repeated": "calls repeated because their answer was lost or the database busy",
    "errors": "turns or pages ended by an error of the database",
    "fired": "schedule fires that this worker was first with",
    "missed": "schedule fires that came too late and were left out",
}
"""Every count, with what it means. All only rise."""


class Counters:
    """Counts by name; safe for threads. `turns` is the number of turns that are going on now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(COUNTED, 0)
        self.turns = 0

    def add(self, name: str, count: int = 1) -> None:
        """Count."""
        with self._lock:
            self._counts[name] += count

    def entered(self, change: int) -> None:
        """A turn began (1) or ended (-1)."""
        with self._lock:
            self.turns += change

    def __getitem__(self, name: str) -> int:
        return self._counts[name]

    def snapshot(self) -> Mapping[str, int]:
        """All counts as they are now, with `turns`."""
        with self._lock:
            return {**self._counts, "turns": self.turns}


class Hooks:
    """Places in a worker's life; override what you want to see. None of them may take long or raise."""

    def at(self, boundary: str, item: Any) -> None:
        """A turn has come to a boundary.

        In order: `selected`, `claimed`, `started` (where there is a start command), `handled`, `finished`,
        `released`, `acknowledged`; what failed goes on with `failed`, `retried` or `buried`, and a turn that
        lost its lease with `lost`. `item` has `.key`, `.row` and `.attempt`.
        """

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, Any]) -> Iterator[None]:
        """Around each step that takes time: `page`, `claim`, `handle`, `finish`, `release`, `renew`."""
        yield
