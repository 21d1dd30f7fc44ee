"""Ranges of the memory store's maps, for named queries.

An entry of an index is the packed index fields and then the whole packed key, so a range of the index is a
range of bytes: the packed fixed fields, then what the edges say of the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from treadle.model.facts import Row
from treadle.model.packing import pack
from treadle.model.ranges import Fold, holds
from treadle.ports.queries import Group, Walk
from treadle.ports.store import Table
from treadle.store.summaries import summary
from treadle.store.versions import VersionedMap

_ABOVE: Final = b"\xff"
"""After every packed cell: each begins with a smaller byte."""

_PRESENT: Final = b"\x02"
"""Before every packed cell but an absent one."""


class _Bytes(NamedTuple):
    """From `start` up to and without `end`."""

    start: bytes
    end: bytes


def byte_range(walk: Walk) -> _Bytes:
    """The range of packed entries."""
    prefix = pack(_leading(walk))
    lower, upper = walk.lower, walk.upper
    start, end = prefix, prefix + _ABOVE
    if lower is not None:
        start = prefix + pack((lower.value,)) + (b"" if lower.closed else _ABOVE)
    elif upper is not None or walk.present:
        start = prefix + _PRESENT
    if upper is not None:
        end = prefix + pack((upper.value,)) + (_ABOVE if upper.closed else b"")
    return _Bytes(start, end)


def _leading(walk: Walk) -> tuple[Any, ...]:
    """The cells with which the entries begin.

    An entry holds the whole key after the index fields, so a fixed field of the key stands there again.
    """
    if walk.along is None or len(walk.fixed) < len(walk.along.positions):
        return walk.fixed
    known = dict(zip(walk.columns, walk.fixed, strict=False))
    leading = list(walk.fixed[: len(walk.along.positions)])
    for place in range(walk.table.key_count):
        if place not in known:
            break
        leading.append(known[place])
    return tuple(leading)


class MemoryWalks:
    """What `treadle.ports.queries` asks, for the memory store's snapshots."""

    __slots__ = ()

    _sequence: int

    def _entity(self, table: Table) -> Any:
        """The maps of an entity table; the store's transactions have it."""
        raise NotImplementedError

    def walk(self, walk: Walk, budget: int, hits: int) -> Iterator[tuple[bool, Row]]:
        passes = holds(walk.filters)
        last: Row | None = None
        for seen, row in enumerate(self._rows(walk)):
            if seen == budget and last is not None:
                yield False, last
                return
            if passes(row.cells):
                yield True, row
            last = row

    def _rows(self, walk: Walk) -> Iterator[Row]:
        entity = self._entity(walk.table)
        if walk.along is None:
            for _, row in self._entries(entity.rows, walk):
                yield row
            return
        for _, key in self._entries(entity.indexes[walk.along.name], walk):
            row = self._entity(walk.table).rows.get(pack(key), self._sequence)
            if row is not None:
                yield row

    def _entries(self, entries: VersionedMap[bytes, Any], walk: Walk) -> Iterator[tuple[bytes, Any]]:
        start, end = byte_range(walk)
        if walk.descending:
            for entry, value in entries.items_down(self._sequence, end):
                if entry < start:
                    return
                yield entry, value
            return
        for entry, value in entries.items(self._sequence, start=start):
            if entry >= end:
                return
            yield entry, value

    def summarise(
        self, walk: Walk, group: Sequence[int], folds: Sequence[Fold], budget: int, groups: int
    ) -> list[Group]:
        return summary(self.walk(walk, budget, budget), group, folds, budget, groups)
