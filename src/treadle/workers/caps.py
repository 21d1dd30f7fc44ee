"""Caps: no more live leases than so many, over all workers, or over those of one shop, one customer, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.errors import ConfigError, check
from treadle.model import query as q
from treadle.model.types import U64_
from treadle.workers.client import Client
from treadle.workers.items import Item


@dataclass(frozen=True)
class Cap:
    """At most `limit` live leases, as the named query `query` counts them.

    The query answers one number. Its parameters are taken from the item's row by name, so that one with a
    parameter `shop_id` makes a cap for each shop, and one without any is a cap over everything.
    """

    limit: int
    query: str

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ConfigError("a cap is at least 1; to stop everything, stop the workers")


class Counted:
    """A cap bound to a database."""

    def __init__(self, cap: Cap, client: Client, known: Mapping[str, object]) -> None:
        query = client.named_query(cap.query)
        numbers = [one for one in query.members if getattr(one.value, "type", None) == U64_]
        if len(query.members) != 1 or len(numbers) != 1 or isinstance(query.members[0].value, q.ShapeResult):
            raise ConfigError(f"query {cap.query} must answer one u64, the number of live leases, for a cap")
        missing = [field.name for field in query.parameters if field.name not in known]
        if missing:
            raise ConfigError(f"query {cap.query} wants {missing[0]}, which the row of an item does not give")
        self._client = client
        self._name = cap.query
        self._member = numbers[0].name
        self._parameters = [field.name for field in query.parameters]
        self.limit = cap.limit

    def group(self, item: Item) -> tuple[Any, ...]:
        """What the cap counts the item with."""
        return tuple(item.row[name] for name in self._parameters)

    def count(self, group: tuple[Any, ...], at_least: int | None = None) -> int:
        """The live leases of a group now, or as of a commit at least."""
        given = dict(zip(self._parameters, group, strict=True))
        page = self._client.query(self._name, given, at_least=at_least)
        number = page.fields[self._member]
        check(isinstance(number, int), "a count is a number")
        return int(number)


def admit(caps: Sequence[Counted], items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Items for which there is room, and those for which there is none."""
    room: dict[tuple[int, tuple[Any, ...]], int] = {}
    admitted: list[Item] = []
    left: list[Item] = []
    for item in items:
        groups = [(place, cap.group(item)) for place, cap in enumerate(caps)]
        for place, group in groups:
            if (place, group) not in room:
                room[place, group] = caps[place].limit - caps[place].count(group)
        if all(room[one] > 0 for one in groups):
            for one in groups:
                room[one] -= 1
            admitted.append(item)
        else:
            left.append(item)
    return admitted, left


def excess(caps: Sequence[Counted], won: Sequence[tuple[Item, int]]) -> set[int]:
    """Places in `won` (items with the commits of their claims) that are too many and must be given up again.

    Whoever claimed at the same time sees the same leases, so each gives up what is over the cap: there may
    be fewer turns than the cap allows for a moment, and never more.
    """
    too_many: set[int] = set()
    if not won:
        return too_many
    commit = max(number for _, number in won)
    for cap in caps:
        by_group: dict[tuple[Any, ...], list[int]] = {}
        for place, (item, _) in enumerate(won):
            if place not in too_many:
                by_group.setdefault(cap.group(item), []).append(place)
        for group, places in by_group.items():
            over = cap.count(group, commit) - cap.limit
            if over > 0:
                too_many |= set(places[-over:])
    return too_many
