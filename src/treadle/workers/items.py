"""What a source gives a worker: an item is a leased row as it was seen, and the attempt that it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.model.types import Type
from treadle.workers.attempts import Attempt
from treadle.workers.client import Client, Delivered
from treadle.workers.steps import Leased

Key = tuple[Any, ...]


@dataclass(slots=True)
class Item:
    """A row to work on.

    `key` and `row` hold Python values, `row` by name; `revision` is the one observed. `ordinal` counts the
    source's deliveries of it, `observed` is what else tells this delivery apart. `attempts` are the claims
    before this one, None where the row does not say. `page` is the commit of the query's page that has it.
    """

    key: Key
    row: dict[str, Any]
    revision: int
    attempt: Attempt
    ordinal: int
    observed: tuple[int, ...]
    attempts: int | None = None
    delivery: Delivered | None = None
    page: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def claim_key(self) -> str:
        return self.attempt.claim(self.ordinal, *self.observed)

    @property
    def release_key(self) -> str:
        return self.attempt.release(self.ordinal, *self.observed)


class Source(Protocol):
    """Where a worker's items come from."""

    @property
    def described(self) -> str:
        """The source in a few words, for messages."""

    def bind(self, client: Client, leased: Leased, schedule: str) -> Mapping[str, Type]:
        """Begin with this database; the names and types of what an item's row holds.

        Raises `ConfigError` for a source that does not give what a worker of this lease needs.
        """

    def take(self, count: int, busy: frozenset[Key]) -> Sequence[Item]:
        """Up to `count` items to try now, none of them busy here; none where there is nothing to do."""

    def lost(self, items: Sequence[Item], tried: int, changed: int) -> None:
        """Of `tried` items that were taken together, these went to somebody else.

        So many more turned out to be no longer what they were when they were selected.
        """

    def done(self, item: Item) -> None:
        """The item's attempt is concluded."""

    def back(self, item: Item, delay: float, *, failed: bool, reason: str = "") -> None:
        """The item is to be tried again after `delay` seconds, here or elsewhere."""

    def renew(self, item: Item, lease: int) -> None:
        """Hold the item for `lease` seconds, where the source itself lets it go otherwise."""

    def pause(self) -> float | None:
        """How long to wait, in seconds, before it is worth asking again; None for no opinion."""
