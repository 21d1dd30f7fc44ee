"""A search for a linear order that a model explains, for the operations of one row.

Operations are put in order one after another; next may come whichever began before every other one left had
ended. What was tried is remembered, so a history is searched in about linear time when few operations
overlap. (Wing and Gong's algorithm with Lowe's memory.) Two rules keep it so where answers came late:

- What fits and changes nothing comes at once: wherever else it might come, it could as well come here.
- Where answers carry a rank, such as a time, that no later one falls below, who ranks higher cannot have
  come before anything that ranks lower began, nor end after something higher did.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from sim.linear.history import Operation

State = TypeVar("State", bound=Hashable)
Step = Callable[[State, Operation], Iterable[State]]
"""The states that an operation may leave with its answer; none if the answer does not fit the state."""

Rank = Callable[[Operation], Any]
"""What an answer says of its place among all answers, as something that can be compared; None for nothing."""


class _Window(NamedTuple):
    """An answered operation, and the first and last moment at which it can have happened."""

    first: int
    last: int
    operation: Operation


class _Place(NamedTuple):
    """What is in order already: all answered operations below `first`, `beyond`, and open ones, by number."""

    first: int
    beyond: frozenset[int]
    opened: frozenset[int]


def explain(
    operations: Sequence[Operation], start: State, step: Step[State], rank: Rank | None = None
) -> Operation | None:
    """None if there is an order; otherwise the operation at which the longest attempt came to its end."""
    windows = _windows(operations, rank)
    for window in windows:
        if window.first > window.last:
            return window.operation
    opened = [one for one in operations if one.answered is None and one.doubt]
    begin = (_Place(0, frozenset(), frozenset()), start)
    stack, tried, furthest = [begin], {begin}, 0
    while stack:
        place, state = stack.pop()
        if place.first == len(windows):
            return None
        furthest = max(furthest, place.first)
        for after in _next(windows, opened, place, state, step):
            if after not in tried:
                tried.add(after)
                stack.append(after)
    return windows[furthest].operation


def _windows(operations: Iterable[Operation], rank: Rank | None) -> list[_Window]:
    """The windows of what was answered, as narrow as ranks make them, by their beginning."""
    found = [_Window(one.invoked, one.answered, one) for one in operations if one.answered is not None]
    if rank is not None:
        keyed = sorted(
            ((rank(one.operation), one) for one in found), key=lambda pair: (pair[0] is None, pair[0])
        )
        free = [one for key, one in keyed if key is None]
        groups = [
            [one for _, one in group]
            for _, group in groupby((pair for pair in keyed if pair[0] is not None), key=lambda pair: pair[0])
        ]
        found = [*free, *_narrowed(groups)]
    return sorted(found, key=lambda window: window.first)


def _narrowed(groups: list[list[_Window]]) -> Iterator[_Window]:
    """Windows in groups of one rank each, the lowest first: none begins before a lower one does."""
    lowest = 0
    begun: list[list[_Window]] = []
    for group in groups:
        begun.append([one._replace(first=max(one.first, lowest)) for one in group])
        lowest = max(lowest, *(one.first for one in group))
    highest = max((one.last for group in groups for one in group), default=0)
    for group in reversed(begun):
        yield from (one._replace(last=min(one.last, highest)) for one in group)
        highest = min(highest, *(one.last for one in group))


def _next(
    windows: Sequence[_Window],
    opened: Sequence[Operation],
    place: _Place,
    state: State,
    step: Step[State],
) -> Iterator[tuple[_Place, State]]:
    """Where one may come from a place. What is yielded last is tried first."""
    near = list(_near(windows, place))
    ways = [(number, list(step(state, windows[number].operation))) for number in near]
    for number, afters in ways:
        if state in afters:
            yield _passed(place, number), state
            return
    horizon = min(windows[number].last for number in near)
    for number, operation in enumerate(opened):
        if number not in place.opened and operation.invoked < horizon:
            for after in step(state, operation):
                if after != state:
                    yield place._replace(opened=place.opened | {number}), after
    for number, afters in reversed(ways):
        for after in afters:
            yield _passed(place, number), after


def _near(windows: Sequence[_Window], place: _Place) -> Iterator[int]:
    """Those left that began before any other one left had ended."""
    horizon = windows[place.first].last
    for number in range(place.first, len(windows)):
        window = windows[number]
        if window.first > horizon:
            return
        if number not in place.beyond:
            horizon = min(horizon, window.last)
            yield number


def _passed(place: _Place, number: int) -> _Place:
    beyond, first = set(place.beyond) | {number}, place.first
    while first in beyond:
        beyond.remove(first)
        first += 1
    return place._replace(first=first, beyond=frozenset(beyond))
