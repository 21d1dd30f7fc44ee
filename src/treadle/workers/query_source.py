"""Items from a named query: the rows of a page, tried from a place on that differs from worker to worker."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from treadle.errors import ConfigError
from treadle.limits import PAGE_ROWS
from treadle.model import query as q
from treadle.model.query import Query
from treadle.model.scalars import microseconds
from treadle.model.types import Type
from treadle.workers.attempts import QUERY, Attempt, Due, component
from treadle.workers.client import Client, PageOf
from treadle.workers.handlers import given
from treadle.workers.items import Item, Key
from treadle.workers.steps import Leased

Parameters = Mapping[str, Any] | Callable[[], Mapping[str, Any]]

SECOND: Final = 1_000_000
PAGES: Final = 16
"""So many pages in which nothing can be tried are turned before the worker waits."""

# How workers of one query keep out of each other's way. `python -m bench workers` is what these come from.
_CROWDED: Final = 0.05
"""With a larger share of a batch lost, somebody else is at work here: look farther, and at a new page."""
_SPREAD: Final = 8.0
"""How much farther then."""
_CALM: Final = 0.98
"""How much nearer after a batch without a loss."""
_PORTION: Final = 8
"""Spread over a window of rows, a worker claims at most this share of a page at once: 8 in a window."""


class _Columns(NamedTuple):
    """Where a query's rows hold what a worker needs, by the names of their members."""

    rows: str
    names: Mapping[str, str]
    """Member by field of the leased entity."""
    revision: str
    types: Mapping[str, Type]
    expires: str | None
    attempts: str | None


class QuerySource:
    """Rows of the one list in a named query's answer.

    `parameters` are the query's, or a function that gives them anew for each page. `due` names a timestamp of
    the row that tells one occasion of the row from the next; without it a row is one attempt for ever.
    """

    def __init__(self, query: str, parameters: Parameters | None = None, due: str | None = None) -> None:
        self.name = query
        self.parameters: Parameters = parameters or {}
        self.due = due
        self._page: list[Item] = []
        self._cursor: str | None = None
        self._window = 1.0
        self._most = 1
        self._resting: dict[Key, int] = {}
        self._losses: dict[Key, tuple[int, int]] = {}
        self._latest = 0

    @property
    def described(self) -> str:
        return f"query {self.name}"

    def bind(self, client: Client, leased: Leased, schedule: str) -> Mapping[str, Type]:
        query = client.named_query(self.name)
        self._client = client
        self._schedule = schedule
        self._hash = query.module_hash
        self._columns = _columns(query, leased)
        self._key = leased.key
        self._seed = client.fresh_id().bytes
        self._page, self._cursor = [], None
        if self.due is not None and self.due not in self._columns.types:
            raise ConfigError(f"query {self.name} gives no {self.due}; add it to its rows, it is to be `due`")
        return self._columns.types

    def take(self, count: int, busy: frozenset[Key]) -> Sequence[Item]:
        now = self._now()
        self._resting = {key: until for key, until in self._resting.items() if until > now}
        items = self._from_page(count, busy)
        if items:
            return items
        for _ in range(PAGES):
            self._read(now, max(count, 1))
            items = self._from_page(count, busy)
            if items or self._cursor is None:
                break
        return items

    def _now(self) -> int:
        """The database's time. What rests here does not rest longer where that was set back."""
        now = self._client.now()
        if now < self._latest:
            back = self._latest - now
            self._resting = {key: until - back for key, until in self._resting.items()}
        self._latest = now
        return now

    def _from_page(self, count: int, busy: frozenset[Key]) -> list[Item]:
        """The next items of the page that was read, without those that are in work or at rest meanwhile."""
        taken: list[Item] = []
        while self._page and len(taken) < min(count, self._most):
            item = self._page.pop()
            if item.key not in busy and item.key not in self._resting:
                taken.append(item)
        return taken

    def _read(self, now: int, count: int) -> None:
        """Read a page and put it in the order in which this worker tries its rows, the last one first."""
        wanted = self.parameters
        shown = given(wanted, path="parameters") if callable(wanted) else wanted
        page = self._client.query(self.name, shown, after=self._cursor)
        self._cursor = page.next
        items = list(self._items(page, now))
        place = self._place(page.commit, min(max(count, int(self._window)), len(items) or 1))
        self._page = (items[place:] + items[:place])[::-1]
        self._most = max(1, int(len(items) * _PORTION / max(self._window, _PORTION)))
        if page.next is None:
            self._losses = {item.key: self._losses[item.key] for item in items if item.key in self._losses}

    def _place(self, commit: int, window: int) -> int:
        """Where to begin. Alone a worker follows the query's order; the more it loses, the farther it looks.

        The place depends on the worker and on the page's commit: workers that read the same page begin at
        different places, and none always loses to the same neighbour.
        """
        if self._window <= 1:
            return 0
        digest = hashlib.blake2b(self._seed + commit.to_bytes(8, "big"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % window

    def _items(self, page: PageOf, now: int) -> Iterator[Item]:
        columns = self._columns
        for row in page.fields.get(columns.rows, ()) if page.ok else ():
            expires = row[columns.expires] if columns.expires is not None else None
            if isinstance(expires, datetime) and microseconds(expires) > now:
                continue
            named = {field: row[member] for field, member in columns.names.items()}
            key = tuple(named[field] for field in self._key)
            revision = row[columns.revision]
            yield Item(
                key=key,
                row=named | row,
                revision=revision,
                attempt=self._attempt(key, row),
                ordinal=0,
                # A claim that failed keeps its answer, and a lease that ends does not change the row: the
                # commit of the page tells the next claim of it from this one.
                observed=(revision, page.commit),
                attempts=row[columns.attempts] if columns.attempts is not None else None,
                page=page.commit,
            )

    def _attempt(self, key: Key, row: Mapping[str, Any]) -> Attempt:
        due = row[self.due] if self.due is not None else None
        return Attempt(
            schedule=self._schedule,
            source=QUERY,
            module_hash=self._hash,
            operation=self.name,
            due=Due.of(microseconds(due)) if isinstance(due, datetime) else Due(),
            target=tuple(component(part) for part in key),
        )

    def lost(self, items: Sequence[Item], tried: int, changed: int) -> None:
        now = self._now()
        for item in items:
            revision, times = self._losses.get(item.key, (0, 0))
            times = times + 1 if revision == item.revision else 1
            self._losses[item.key] = (item.revision, times)
            # A row that nobody changed meanwhile is held, and its page did not say how long.
            self._resting[item.key] = now + min(2 ** (times - 1), 64) * SECOND
        if len(items) + changed > tried * _CROWDED:
            self._window = min(_SPREAD * self._window + tried, PAGE_ROWS)
            self._page, self._cursor = [], None
        elif tried:
            self._window = max(1.0, _CALM * self._window)

    def done(self, item: Item) -> None:
        self._losses.pop(item.key, None)

    def back(self, item: Item, delay: float, *, failed: bool, reason: str = "") -> None:
        if delay > 0:
            self._resting[item.key] = self._now() + int(delay * SECOND)

    def renew(self, item: Item, lease: int) -> None:
        """A query lets nothing go by itself."""

    def pause(self) -> float | None:
        if not self._resting:
            return None
        return max(0.0, (min(self._resting.values()) - self._now()) / SECOND)


def _columns(query: Query, leased: Leased) -> _Columns:
    """How to read a query's rows; raises `ConfigError` for one that does not give what a worker needs."""
    member = query.rows
    if member is None or not isinstance(member.value, q.ShapeResult):
        raise ConfigError(f"query {query.name} must answer exactly one list of rows for a worker")
    shape = member.value
    entity = query.statement(shape.row).entity
    if entity != leased.entity.name:
        raise ConfigError(f"query {query.name} gives rows of {entity}, the lease is on {leased.entity.name}")
    names: dict[str, str] = {}
    types: dict[str, Type] = {}
    for one in shape.members:
        if not isinstance(one.value, q.ShapeResult):
            types[one.name] = one.value.type
        if isinstance(one.value, q.FieldResult) and one.value.row == shape.row:
            names[one.value.field] = one.name
            types.setdefault(one.value.field, one.value.type)
    revisions = [
        one.name
        for one in shape.members
        if isinstance(one.value, q.RevisionResult) and one.value.row == shape.row
    ]
    missing = [field for field in leased.key if field not in names] + ([] if revisions else ["revision"])
    if missing:
        raise ConfigError(
            f"query {query.name} must give {' and '.join(missing)} of each {shape.row} for a worker; "
            "add it to its rows"
        )
    lease = leased.lease
    return _Columns(
        rows=member.name,
        names=names,
        revision=revisions[0],
        types=types,
        expires=names.get(lease.expires_at),
        attempts=names.get(lease.attempts) if lease.attempts is not None else None,
    )
