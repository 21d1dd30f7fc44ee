"""Running a query over one snapshot: statements in order, lists row by row, all within fixed bounds."""

from __future__ import annotations

import heapq
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, Final, NamedTuple, TypeAlias

from treadle import limits
from treadle.access.caller import Caller
from treadle.errors import Busy, TooLarge
from treadle.model import query as q
from treadle.model.facts import Cell, Cells, Row, Sealed
from treadle.model.ranges import Filter, Fold, combined, empty, holds, sort_key
from treadle.model.types import I64, U64, Decimal, Money
from treadle.plan.expressions import bounds as number_bounds
from treadle.ports.queries import Group, QueryTx, Walk
from treadle.queries.frame import Absent, Frame
from treadle.queries.prepared import Plain, Prepared, PreparedStatement
from treadle.queries.spans import Bounds, Strand, ranges, strands
from treadle.queries.visible import Sees, sees
from treadle.store.summaries import summary

Record: TypeAlias = tuple[Any, ...]
"""The values of a list of members, in their order: cells, records, lists of records."""

Step: TypeAlias = tuple[bool, Row]
"""A row that was found, or with False the row at which a range was left before its end."""


class Answer(NamedTuple):
    """`record` holds the outcome's fields; `next` is the place in the order where the next page goes on."""

    outcome: str
    record: Record
    next: Cells | None


class _Full(Exception):
    """The answer has as many bytes as it may have."""


class Run:
    """One run of a query: over one snapshot, for one caller, until `deadline` on the monotonic clock."""

    def __init__(
        self,
        prepared: Prepared,
        tx: QueryTx,
        caller: Caller,
        sealed: Sealed,
        after: Cells | None,
        deadline: float,
    ) -> None:
        self._prepared = prepared
        self._tx = tx
        self._after = after
        self._deadline = deadline
        self._next: Cells | None = None
        self._bytes = 0
        self._sees: dict[str, Sees | None] = {}
        for one in prepared.statements.values():
            self._sees[one.name] = sees(prepared.deployed, one.entity, caller, sealed, tx)

    def answer(self, frame: Frame) -> Answer:
        """The answer; raises `TooLarge` where a bound is passed."""
        query = self._prepared.query
        try:
            failure = self._enter("", frame)
            if failure is not None:
                return Answer(failure, (), None)
            record = self._record(query.members, frame)
        except _Full:
            message = (
                f"the answer has more than {limits.QUERY_BYTES:,} bytes; lower a `take` of query {query.name}"
            )
            raise TooLarge(message) from None
        return Answer(query.outcome, record, self._next)

    def _enter(self, name: str, frame: Frame) -> str | None:
        """Run what is read once in this place: single rows and totals. A `one` without a row ends it all."""
        for one in self._prepared.under[name]:
            self._check_time()
            statement = one.statement
            if statement.reads == "totals":
                frame.totals[one.name] = self._totals(one, frame)
            elif statement.kind != "many":
                row = self._single(one, frame)
                frame.rows[one.name] = row
                if row is None and statement.otherwise is not None:
                    return statement.otherwise
        return None

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            name = self._prepared.query.name
            message = f"query {name} did not end in its time; lower a `take`, or give it an index that fits"
            raise Busy(message, code="deadline")

    # Records.

    def _record(self, members: Sequence[q.Member], frame: Frame) -> Record:
        values = []
        for member in members:
            value = self._value(member.value, frame)
            values.append(value)
            # Records and lists in it have counted themselves.
            self._bytes += _size(value) if isinstance(member.value, q.FieldResult) else _WORD
        if self._bytes > limits.QUERY_BYTES:
            raise _Full
        return tuple(values)

    def _value(self, result: q.Result, frame: Frame) -> Any:
        match result:
            case q.FieldResult():
                return self._field(result, frame)
            case q.RevisionResult():
                row = frame.rows[result.row]
                return None if row is None else row.revision
            case q.AggregateResult():
                place = self._prepared.places[id(result)]
                group = frame.groups.get(result.row)
                return frame.totals[result.row][place] if group is None else group.values[place]
            case q.ShapeResult():
                return self._shape(result, frame)

    def _field(self, result: q.FieldResult, frame: Frame) -> Cell:
        one = self._prepared.statements[result.row]
        group = frame.groups.get(result.row)
        if group is not None:
            return group.key[one.statement.group.index(result.field)]
        row = frame.rows[result.row]
        return None if row is None else row.cells[one.entity.positions[result.field]]

    def _shape(self, result: q.ShapeResult, frame: Frame) -> Any:
        if result.kind != "many":
            return None if frame.rows[result.row] is None else self._record(result.members, frame)
        one = self._prepared.statements[result.row]
        if one.statement.reads == "groups":
            return self._group_list(one, result.members, frame)
        return self._list(one, result, frame)

    def _plain_record(self, plain: Plain, row: Row) -> Record:
        """A record that is only a row's own fields."""
        record = plain.record(row)
        self._bytes += _WORD * plain.width
        for place in plain.wide:
            self._bytes += _size(record[place])
        if self._bytes > limits.QUERY_BYTES:
            raise _Full
        return record

    def _list(self, one: PreparedStatement, shape: q.ShapeResult, frame: Frame) -> list[Record]:
        """The rows of a `many`, up to its `take`; for the list with pages, also where the next one begins."""
        take = one.statement.take or 0
        found: list[Record] = []
        last: Row | None = None
        plain = self._prepared.plain.get(id(shape))
        inner = frame.inner()  # one for all rows: each is done with before the next
        with closing(self._rows(one, frame)) as rows:
            for passes, row in rows:
                if len(found) == take or not passes:
                    self._stop(one, last if passes else row, len(found) == take)
                    break
                inner.rows[one.name] = row
                if not self._add(found, one, shape, inner, plain):
                    self._stop(one, last, True)
                    break
                last = row
        return found

    def _add(
        self,
        found: list[Record],
        one: PreparedStatement,
        shape: q.ShapeResult,
        inner: Frame,
        plain: Plain | None,
    ) -> bool:
        """Add a row's record; false where it has no room, so that the page ends before it."""
        before = self._bytes
        try:
            row = inner.rows[one.name]
            if plain is not None and row is not None:
                found.append(self._plain_record(plain, row))
            else:
                self._enter(one.name, inner)
                found.append(self._record(shape.members, inner))
        except _Full:
            if not one.statement.pages or not found:
                raise
            self._bytes = before
            return False
        return True

    def _stop(self, one: PreparedStatement, last: Row | None, full: bool) -> None:
        """A list ends at a row though its range goes on; only one with pages may end before it is full."""
        if one.statement.pages and last is not None:
            self._next = tuple(last.cells[position] for position in one.order)
        elif not full:
            name, entity = self._prepared.query.name, one.entity.name
            looked = f"query {name} looked at {limits.QUERY_AGGREGATED:,} rows of {entity}"
            raise TooLarge(f"{looked} without filling its list; give it an index that holds its conditions")

    # Rows.

    def _single(self, one: PreparedStatement, frame: Frame) -> Row | None:
        try:
            values = tuple(entries(frame)[0] for entries in one.fixed)
            filters = one.rest(frame)
        except Absent:
            return None
        if None in values:
            return None
        access = one.statement.access
        key: Cells | None = values
        if access.kind == "unique":
            key = self._tx.holders([(one.entity.name, access.name, values)])[0]
        row = None if key is None else self._tx.rows(one.table, [key])[0]
        if row is None or not holds(filters)(row.cells):
            return None
        seen = self._sees[one.name]
        return row if seen is None or seen(row.cells) else None

    def _rows(self, one: PreparedStatement, frame: Frame) -> Generator[Step, None, None]:
        """The rows that a statement finds and the caller sees, in order."""
        after = self._after if one.statement.pages else None
        budget = limits.QUERY_EXAMINED if one.statement.pages else limits.QUERY_AGGREGATED
        found = self._strands(one, frame)
        if found is None:
            return
        parts, bounds = found
        seen = self._sees[one.name]
        hits = budget if seen is not None else (one.statement.take or 0) + 1
        streams = [self._strand(one, part, bounds, after, budget, hits) for part in parts]
        merged: Iterator[Step] = streams[0] if len(streams) == 1 else _merged(streams, one)
        try:
            for step in merged:
                self._check_time()
                if not step[0] or seen is None or seen(step[1].cells):
                    yield step
        finally:
            for stream in streams:
                stream.close()

    def _strands(self, one: PreparedStatement, frame: Frame) -> tuple[list[Strand], Bounds] | None:
        try:
            walk = one.walk(one.rest(frame))
            fixed = [entries(frame) for entries in one.fixed]
            bounds = Bounds()
            for bound in one.ranges(frame):
                if bound.value is None:
                    return None
                bounds = bounds.asking(bound)
        except Absent:
            return None
        return list(strands(walk, fixed)), bounds

    def _strand(
        self,
        one: PreparedStatement,
        part: Strand,
        bounds: Bounds,
        after: Cells | None,
        budget: int,
        hits: int,
    ) -> Generator[Step, None, None]:
        for walk in ranges(part, bounds, one.order, after):
            for step in self._tx.walk(walk, budget, hits):
                yield step
                if not step[0]:
                    return

    # Aggregates.

    def _totals(self, one: PreparedStatement, frame: Frame) -> list[Cell]:
        folds = [fold(frame) for fold in one.folds]
        values = [empty(fold) for fold in folds]
        found = self._strands(one, frame)
        for part in found[0] if found is not None else ():
            for walk in ranges(part, found[1] if found is not None else Bounds(), one.order, None):
                for group in self._summary(one, walk, (), folds, 1):
                    values = _together(folds, values, group.values)
        return _ranged(one, values)

    def _summary(
        self, one: PreparedStatement, walk: Walk, group: Sequence[int], folds: Sequence[Fold], groups: int
    ) -> list[Group]:
        seen, budget = self._sees[one.name], limits.QUERY_AGGREGATED
        if seen is None:
            return self._tx.summarise(walk, group, folds, budget, groups)
        return summary(self._tx.walk(walk, budget, budget), group, folds, budget, groups, seen)

    def _group_list(self, one: PreparedStatement, members: Sequence[q.Member], frame: Frame) -> list[Record]:
        take, pages = one.statement.take or 0, one.statement.pages
        found = self._groups(one, frame, take + 1)
        if pages and len(found) > take:
            self._next = found[take - 1][0]
        listed: list[Record] = []
        for _, group in found[:take]:
            inner = frame.inner()
            inner.groups[one.name] = group
            listed.append(self._record(members, inner))
        return listed

    def _groups(self, one: PreparedStatement, frame: Frame, limit: int) -> list[tuple[Cells, Group]]:
        """The first groups, each with its place in the order."""
        folds = [fold(frame) for fold in one.folds]
        found = self._strands(one, frame)
        together: dict[Cells, list[Cell]] = {}
        for part in found[0] if found is not None else ():
            bounds = found[1] if found is not None else Bounds()
            for cells, values in self._strand_groups(one, part, bounds, folds, limit):
                known = together.get(cells)
                together[cells] = values if known is None else _together(folds, known, values)
        placed = [(_pick(one.group, one.order, cells), cells, values) for cells, values in together.items()]
        placed.sort(key=lambda item: sort_key(item[0]))
        return [(place, Group(cells, _ranged(one, values))) for place, cells, values in placed[:limit]]

    def _strand_groups(
        self, one: PreparedStatement, part: Strand, bounds: Bounds, folds: Sequence[Fold], limit: int
    ) -> Iterator[tuple[Cells, list[Cell]]]:
        after = self._after if one.statement.pages else None
        left = limit
        for walk in ranges(part, bounds, one.order, after):
            if left <= 0:
                return
            fixed = dict(zip(walk.columns, walk.fixed, strict=False))
            free = [position for position in one.order if position not in fixed]
            for group in self._summary(one, walk, free, [*folds, Fold("count")], left):
                *values, rows = group.values
                if rows:  # a group whose fields are all fixed is answered without any
                    left -= 1
                    known = fixed | dict(zip(free, group.key, strict=True))
                    yield tuple(known[position] for position in one.group), values


def _merged(streams: Sequence[Iterator[Step]], one: PreparedStatement) -> Iterator[Step]:
    """Streams that are each in order, as one in order."""
    order = one.order

    def key(step: Step) -> tuple[Any, ...]:
        return sort_key([step[1].cells[position] for position in order])

    return heapq.merge(*streams, key=key, reverse=one.statement.access.descending)


def _together(folds: Sequence[Fold], left: Sequence[Cell], right: Sequence[Cell]) -> list[Cell]:
    return [combined(fold, one, other) for fold, one, other in zip(folds, left, right, strict=True)]


def _pick(fields: Sequence[int], wanted: Sequence[int], cells: Cells) -> Cells:
    known = dict(zip(fields, cells, strict=True))
    return tuple(known[position] for position in wanted)


def _ranged(one: PreparedStatement, values: Sequence[Cell]) -> list[Cell]:
    """The values, none of which has left its type's range."""
    for kind, value in zip(one.fold_types, values, strict=True):
        if isinstance(kind, I64 | U64 | Decimal | Money):
            least, most = number_bounds(kind)
            if not least <= value <= most:
                raise TooLarge(
                    f"a sum over {one.entity.name} leaves the range of {kind}; narrow its conditions"
                )
    return list(values)


def _size(cell: Cell) -> int:
    """Bytes that a cell takes in an answer, roughly."""
    if isinstance(cell, str):
        return len(cell.encode()) + _WORD
    if isinstance(cell, bytes):
        return len(cell) + _WORD
    return sum(map(_size, cell)) + _WORD if isinstance(cell, tuple) else _WORD


_WORD: Final = 16

__all__ = ["Answer", "Filter", "Record", "Run"]
