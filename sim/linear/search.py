"""A search for a linear order that a model explains, for the operations of one row.

Operations are put in order one after another; next may come whichever began before every other one left had
ended. What was tried is remembered, so that a history is searched in about linear time when few operations
overlap. (Wing and Gong's algorithm with Lowe's memory.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from sim.linear.history import Operation

State = TypeVar("State", bound=Hashable)
Step = Callable[[State, Operation], Iterable[State]]
"""The states that an operation may leave with its answer; none if the answer does not fit the state."""


class _Place(NamedTuple):
    """What is in order already: all answered operations below `first`, `beyond`, and open ones, by number."""

    first: int
    beyond: frozenset[int]
    opened: frozenset[int]


def explain(operations: Sequence[Operation], start: State, step: Step[State]) -> Operation | None:
    """None if there is an order; otherwise the operation at which the longest attempt came to its end."""
    answered = sorted((one for one in operations if one.answered is not None), key=lambda one: one.invoked)
    opened = [one for one in operations if one.answered is None and one.doubt]
    begin = (_Place(0, frozenset(), frozenset()), start)
    stack, tried, furthest = [begin], {begin}, 0
    while stack:
        place, state = stack.pop()
        if place.first == len(answered):
            return None
        furthest = max(furthest, place.first)
        for after in _next(answered, opened, place, state, step):
            if after not in tried:
                tried.add(after)
                stack.append(after)
    return answered[furthest]


def _next(
    answered: Sequence[Operation],
    opened: Sequence[Operation],
    place: _Place,
    state: State,
    step: Step[State],
) -> Iterator[tuple[_Place, State]]:
    """Where one may come from a place. What is yielded last is tried first."""
    near = list(_near(answered, place))
    horizon = min(answered[number].answered or 0 for number in near)
    for number, operation in enumerate(opened):
        if number not in place.opened and operation.invoked < horizon:
            for after in step(state, operation):
                if after != state:
                    yield place._replace(opened=place.opened | {number}), after
    for number in reversed(near):
        for after in step(state, answered[number]):
            yield _passed(place, number), after


def _near(answered: Sequence[Operation], place: _Place) -> Iterator[int]:
    """Those left that began before any other one left had ended."""
    horizon = answered[place.first].answered or 0
    for number in range(place.first, len(answered)):
        operation = answered[number]
        if operation.invoked > horizon:
            return
        if number not in place.beyond:
            horizon = min(horizon, operation.answered or 0)
            yield number


def _passed(place: _Place, number: int) -> _Place:
    beyond, first = set(place.beyond) | {number}, place.first
    while first in beyond:
        beyond.remove(first)
        first += 1
    return place._replace(first=first, beyond=frozenset(beyond))
