"""Positions in place of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from treadle.model import contract as c
from treadle.model.facts import Cells


def positions_of(entity: c.Entity) -> dict[str, int]:
    """Field to its place in a row's cells, key fields first."""
    return {member.name: position for position, member in enumerate(entity.members)}


def picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], Cells]:
    """A function that takes these positions of a sequence as a tuple."""
    if not positions:
        return lambda values: ()
    if len(positions) == 1:
        only = positions[0]
        return lambda values: (values[only],)
    pick: Callable[[Sequence[Any]], Cells] = itemgetter(*positions)
    return pick
