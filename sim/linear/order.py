"""The order of commits as witness of a linear order of everything that was answered."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

FOREVER: Final = 1 << 62


class Witness(NamedTuple):
    """An operation between `invoked` and `answered`, and the spans of places where it may stand.

    A command stands at its own commit; a read between two, in one of the spans whose rows it saw.
    """

    invoked: int
    answered: int
    spans: Sequence[tuple[int, int]]
    what: str


def command(commit: int) -> list[tuple[int, int]]:
    """Where the command of a commit stands."""
    return [(2 * commit, 2 * commit)]


def read(first: int, last: int) -> tuple[int, int]:
    """Where a read may stand that saw all of commit `first` and nothing after commit `last`."""
    return 2 * first + 1, 2 * last + 1


def disorder(witnesses: Iterable[Witness]) -> str | None:
    """What stands before something that had been answered before it began; None if nothing does.

    Each is put at its earliest place not before the places of all that had ended when it began. The
    earliest leaves the most room for what follows, so if this fails, everything does.
    """
    ended: list[tuple[int, int, str]] = []
    floor, by = 0, "the beginning"
    for one in sorted(witnesses):
        while ended and ended[0][0] < one.invoked:
            _, place, what = heapq.heappop(ended)
            if place > floor:
                floor, by = place, what
        places = [max(floor, first) for first, last in one.spans if last >= floor]
        if not places:
            return f"{one.what} stands before {by}, which had been answered before it was asked"
        heapq.heappush(ended, (one.answered, min(places), one.what))
    return None
