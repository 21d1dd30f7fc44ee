"""Ranges of an index as SQL, for named queries.

A statement's text depends on the shape of a range alone (which columns are fixed, which are absent, which
filters are asked), so it is made once for each shape and kept; values are bound, never written into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw

from treadle.errors import TooLarge
from treadle.model.facts import Cells, Row
from treadle.model.ranges import Filter, Fold, after_prefix
from treadle.model.types import (
    I64,
    U64,
    Bool,
    Date,
    Enum,
    String,
    Timestamp,
    Type,
    required,
)
from treadle.ports.queries import Group, Walk, too_many
from treadle.ports.store import Table
from treadle.store.sqlite.cells import RowCodec, cell_encoder, decode_u64
from treadle.store.sqlite.failures import guarded, translated
from treadle.store.sqlite.statements import COMMIT, REVISION, TableStatements, index_name
from treadle.store.sqlite.views import quoted
from treadle.store.summaries import summary

_MOST_TEXTS: Final = 512

_LEAST: Final[dict[type, Any]] = {
    Bool: 0,
    I64: -(2**63),
    U64: 0,
    Timestamp: -(2**63),
    Date: -(2**63),
    String: "",
    Enum: "",
}
"""What no present value of a column is below; blobs begin at the empty one."""


class Said(NamedTuple):
    """A statement and its bindings."""

    text: str
    values: list[Any]


class _Clause(NamedTuple):
    """A condition and what is bound in it."""

    text: str
    values: tuple[Any, ...] = ()


NEVER: Final = _Clause("?", (0,))
"""Holds for no row. Bound, since beside a constant false SQLite may find no use for the index it is told."""


class WalkStatements:
    """The statements about ranges of one entity table."""

    def __init__(self, statements: TableStatements) -> None:
        self._statements = statements
        self._table = statements.table
        self._columns = statements.columns
        self._types = [column.type for column in statements.table.columns]
        self._encoders = [cell_encoder(required(kind)) for kind in self._types]
        self._texts: dict[tuple[Any, ...], str] = {}

    def _kept(self, shape: tuple[Any, ...], make: Callable[[], str]) -> str:
        text = self._texts.get(shape)
        if text is None:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            text = self._texts[shape] = make()
        return text

    def rows(self, walk: Walk) -> Said:
        """Revision, commit, all columns, and whether the row passes the filters; in order."""
        where = self._range(walk)
        asked = [self._filter(one) for one in walk.filters]
        order = walk.columns[len(walk.fixed) :]

        def make() -> str:
            listed = ", ".join((REVISION, COMMIT, *self._columns))
            passes = " AND ".join(clause.text for clause in asked) or "1"
            direction = " DESC" if walk.descending else ""
            by = ", ".join(self._columns[place] + direction for place in order)
            ordered = f" ORDER BY {by}" if by else ""
            return f"SELECT {listed}, {passes} FROM {self._source(walk)}{_where(where)}{ordered}"

        shape = ("rows", walk.along, len(walk.fixed), walk.descending, _texts(where), _texts(asked))
        return Said(self._kept(shape, make), _values(asked) + _values(where))

    def count(self, walk: Walk, limit: int) -> Said:
        """How many entries the range has, at most `limit`."""
        where = self._range(walk)

        def make() -> str:
            inner = f"SELECT 1 FROM {self._source(walk)}{_where(where)} LIMIT ?"
            return f"SELECT count(*) FROM ({inner})"

        text = self._kept(("count", walk.along, _texts(where)), make)
        return Said(text, [*_values(where), limit])

    def groups(self, walk: Walk, group: Sequence[int], folds: Sequence[Fold], limit: int) -> Said:
        """The group's columns and the columns of each fold, one row for each group, in order."""
        asked = [self._filter(one) for one in walk.filters]
        where = [*self._range(walk), *asked]
        folded = [self._fold(fold) for fold in folds]

        def make() -> str:
            by = ", ".join(self._columns[place] for place in group)
            listed = ", ".join([*(self._columns[place] for place in group), *(one.text for one in folded)])
            tail = f" GROUP BY {by} ORDER BY {by} LIMIT ?" if group else " LIMIT ?"
            return f"SELECT {listed} FROM {self._source(walk)}{_where(where)}{tail}"

        shape = ("groups", walk.along, tuple(group), _texts(where), _texts(folded))
        return Said(self._kept(shape, make), [*_values(folded), *_values(where), limit])

    def _source(self, walk: Walk) -> str:
        name = self._statements.name
        if walk.along is None:
            return name
        return f"{name} INDEXED BY {quoted(index_name(self._table, walk.along))}"

    # Conditions.

    def _range(self, walk: Walk) -> list[_Clause]:
        columns = walk.columns
        clauses = [self._equal(place, cell) for place, cell in zip(columns, walk.fixed, strict=False)]
        presence = walk.along.presence if walk.along is not None else ()
        clauses += [_Clause(f"{self._columns[place]} IS NOT NULL") for place in presence]
        if len(walk.fixed) == len(columns):
            return clauses
        place = columns[len(walk.fixed)]
        if walk.lower is not None:
            clauses.append(self._compare(place, ">=" if walk.lower.closed else ">", walk.lower.value))
        elif walk.upper is not None or walk.present:
            # A bound rather than IS NOT NULL: SQLite seeks by it.
            clauses.append(_Clause(f"{self._columns[place]} >= ?", (self._least(place),)))
        if walk.upper is not None:
            clauses.append(self._compare(place, "<=" if walk.upper.closed else "<", walk.upper.value))
        return clauses

    def _least(self, place: int) -> Any:
        return _LEAST.get(type(required(self._types[place])), b"")

    def _equal(self, place: int, cell: Any) -> _Clause:
        if cell is None:
            return _Clause(f"{self._columns[place]} IS NULL")
        return self._compare(place, "=", cell)

    def _compare(self, place: int, sign: str, cell: Any) -> _Clause:
        return _Clause(f"{self._columns[place]} {sign} ?", (self._encoders[place](cell),))

    def _filter(self, one: Filter) -> _Clause:
        """The condition; its value is 1, or 0 or NULL for a row that does not pass."""
        column = self._columns[one.position]
        if one.op in ("==", "is null"):
            return self._equal(one.position, one.value)
        if one.op in ("!=", "is not null"):
            if one.value is None:
                return _Clause(f"{column} IS NOT NULL")
            return self._compare(one.position, "IS NOT", one.value)
        if one.op == "in":
            return self._in(one.position, one.value)
        if one.value is None:
            return NEVER
        if one.op == "prefix":
            return self._prefix(one.position, one.value)
        return self._compare(one.position, one.op, one.value)

    def _in(self, place: int, entries: Sequence[Any]) -> _Clause:
        if not entries:
            return NEVER
        encode = self._encoders[place]
        values = [encode(entry) for entry in entries]
        values += values[-1:] * (_padded(len(values)) - len(values))  # so that few texts serve all lengths
        return _Clause(f"{self._columns[place]} IN ({', '.join('?' * len(values))})", tuple(values))

    def _prefix(self, place: int, text: str) -> _Clause:
        column, end = self._columns[place], after_prefix(text)
        if end is None:
            return _Clause(f"{column} >= ?", (text,))
        return _Clause(f"({column} >= ? AND {column} < ?)", (text, end))

    # Aggregates.

    def computes(self, folds: Sequence[Fold]) -> bool:
        """Whether SQLite computes all of these exactly; it cannot sum its blobs of decimals."""
        return all(fold.op != "sum" or isinstance(self._kind(fold), I64 | U64) for fold in folds)

    def _kind(self, fold: Fold) -> Type | None:
        return None if fold.position is None else required(self._types[fold.position])

    def _fold(self, fold: Fold) -> _Clause:
        if fold.op == "count":
            return _Clause("count(*)")
        if fold.op in ("any", "all"):
            clauses = [self._filter(one) for one in fold.filters]
            condition = " AND ".join(clause.text for clause in clauses) or "1"
            function = "max" if fold.op == "any" else "min"
            return _Clause(f"{function}(({condition}) IS TRUE)", tuple(_values(clauses)))
        column = self._columns[fold.position or 0]
        if fold.op == "sum":
            return _Clause(_SUM.format(column=column) if isinstance(self._kind(fold), U64) else _sum(column))
        return _Clause(f"{fold.op}({column})")

    def reader(self, fold: Fold) -> Callable[[Iterator[Any]], Any]:
        """What takes a fold's value from a row of `groups`."""
        if fold.op == "count":
            return next
        if fold.op in ("any", "all"):
            default = fold.op == "all"
            return lambda values: default if (value := next(values)) is None else bool(value)
        if fold.op == "sum":
            return _read_wide if isinstance(self._kind(fold), U64) else _read_sum
        decode = RowCodec((self._types[fold.position or 0],)).decode
        return lambda values: decode((next(values),))[0]

    def group_reader(self, group: Sequence[int]) -> Callable[[tuple[Any, ...]], Cells]:
        return RowCodec([self._types[place] for place in group]).decode


def _sum(column: str) -> str:
    """A sum in two halves, neither of which leaves SQLite's integers."""
    return f"sum({column} >> 32), sum({column} & 4294967295)"


_SUM: Final = (
    "sum(CASE typeof({column}) WHEN 'integer' THEN {column} >> 32 END), "
    "sum(CASE typeof({column}) WHEN 'integer' THEN {column} & 4294967295 END), "
    "sum(CASE typeof({column}) WHEN 'text' THEN CAST(substr({column}, 1, 10) AS INTEGER) END), "
    "sum(CASE typeof({column}) WHEN 'text' THEN CAST(substr({column}, 11) AS INTEGER) END)"
)
"""A sum of u64, which are integers below 2^63 and twenty digits of text from there on."""


def _read_sum(values: Iterator[Any]) -> int:
    high, low = next(values) or 0, next(values) or 0
    return int((high << 32) + low)


def _read_wide(values: Iterator[Any]) -> int:
    total = _read_sum(values)
    high, low = next(values) or 0, next(values) or 0
    return int(total + high * 10**10 + low)


def _padded(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length()


def _texts(clauses: Sequence[_Clause]) -> tuple[str, ...]:
    return tuple(clause.text for clause in clauses)


def _values(clauses: Sequence[_Clause]) -> list[Any]:
    return [value for clause in clauses for value in clause.values]


def _where(clauses: Sequence[_Clause]) -> str:
    return f" WHERE {' AND '.join(_texts(clauses))}" if clauses else ""


class SqliteWalks:
    """What `treadle.ports.queries` asks, for the SQLite store's snapshots."""

    __slots__ = ()

    _db: Any
    _shared: Any
    _stepped: Callable[[str, Sequence[Any]], apsw.Cursor]

    def _walks(self, table: Table) -> tuple[TableStatements, WalkStatements]:
        statements: TableStatements = self._shared.statements(table)
        walks: WalkStatements | None = statements.walks
        if walks is None:
            walks = statements.walks = WalkStatements(statements)
        return statements, walks

    def walk(self, walk: Walk, budget: int, hits: int) -> Iterator[tuple[bool, Row]]:
        statements, walks = self._walks(walk.table)
        said = walks.rows(walk)
        decode = statements.codec.decode
        try:
            last: Any = None
            for seen, row in enumerate(self._stepped(said.text, said.values)):
                if seen == budget:
                    yield False, Row(decode_u64(last[0]), decode(last[2:-1]), last[1])
                    return
                if row[-1]:
                    yield True, Row(decode_u64(row[0]), decode(row[2:-1]), row[1])
                    self._db.get_autocommit()  # raises `Closed` after the end of the block
                last = row
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translated(error) from error

    @guarded
    def summarise(
        self, walk: Walk, group: Sequence[int], folds: Sequence[Fold], budget: int, groups: int
    ) -> list[Group]:
        _, walks = self._walks(walk.table)
        if not walks.computes(folds):
            return summary(self.walk(walk, budget, budget), group, folds, budget, groups)
        counted = walks.count(walk, budget + 1)
        if self._db.execute(counted.text, counted.values).fetchall()[0][0] > budget:
            raise TooLarge(too_many(budget))
        said = walks.groups(walk, group, folds, groups)
        key = walks.group_reader(group)
        readers = [walks.reader(fold) for fold in folds]
        return [
            _group(row, len(group), key, readers)
            for row in self._db.execute(said.text, said.values).fetchall()
        ]


def _group(
    row: tuple[Any, ...],
    count: int,
    key: Callable[[tuple[Any, ...]], Cells],
    readers: Sequence[Callable[[Iterator[Any]], Any]],
) -> Group:
    values = iter(row[count:])
    return Group(key(row[:count]), [read(values) for read in readers])
