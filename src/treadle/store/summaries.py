"""Aggregates of a range for stores that cannot, or not for these types, compute them themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from treadle.errors import TooLarge
from treadle.model.facts import Cells, Row
from treadle.model.ranges import Fold, folded
from treadle.ports.queries import Group, too_many

Steps = Iterator[tuple[bool, Row]]


def summary(
    steps: Steps,
    group: Sequence[int],
    folds: Sequence[Fold],
    budget: int,
    groups: int,
    visible: Callable[[Cells], bool] | None = None,
) -> list[Group]:
    """What `QueryTx.summarise` answers, from the rows of the range; `visible` hides rows of them."""
    return [Group(*found) for found in folded(_cells(steps, budget, visible), group, folds, groups)]


def _cells(steps: Steps, budget: int, visible: Callable[[Cells], bool] | None) -> Iterator[Cells]:
    for passes, row in steps:
        if not passes:
            raise TooLarge(too_many(budget))
        if visible is None or visible(row.cells):
            yield row.cells
