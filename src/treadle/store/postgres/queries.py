"""Ranges of an index as SQL, for named queries.

A statement's text depends on the shape of a range alone (which columns are fixed, which are absent, which
filters are asked), so it is made once for each shape and kept; values are bound, never written into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from treadle.errors import TooLarge
from treadle.model.facts import Cells, Row
from treadle.model.ranges import Filter, Fold, after_prefix
from treadle.model.types import Bool, Bytes, Uuid, required
from treadle.ports.queries import Group, Walk, too_many
from treadle.ports.store import Table
from treadle.store.postgres.cells import RowCodec, cell_decoder, cell_encoder, unscaled
from treadle.store.postgres.statements import TableStatements

_MOST_TEXTS: Final = 512
_AT_ONCE: Final = 512
"""Rows up to which a range is fetched as one answer; a longer one comes a few at a time."""


class _Clause(NamedTuple):
    """A condition with a `?` for each value, and the values."""

    text: str
    values: tuple[Any, ...] = ()


class Said(NamedTuple):
    """A statement and its bindings."""

    text: str
    values: list[Any]


NEVER: Final = _Clause("false")
ALWAYS: Final = _Clause("true")


def numbered(text: str) -> str:
    """The text with `$1`, `$2` … for its `?`. No other question mark stands in it: names are quoted, and
    those of fields and entities are words."""
    first, *rest = text.split("?")
    return first + "".join(f"${place}{part}" for place, part in enumerate(rest, 1))


class WalkStatements:
    """The statements about ranges of one entity table."""

    def __init__(self, statements: TableStatements) -> None:
        self._statements = statements
        self._columns = statements.at
        self._types = [column.type for column in statements.table.columns]
        self._forms = statements.codec.forms
        self._encoders = [cell_encoder(kind) for kind in self._types]
        self._texts: dict[tuple[Any, ...], str] = {}

    def _kept(self, shape: tuple[Any, ...], make: Callable[[], str]) -> str:
        text = self._texts.get(shape)
        if text is None:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            text = self._texts[shape] = numbered(make())
        return text

    def rows(self, walk: Walk, budget: int, hits: int) -> Said:
        """Revision, commit, all columns, whether the row passes, its number in the range from 1; in order.

        Rows that do not pass are left out, but for those at and after the budget's end.
        """
        where = self._range(walk)
        asked = [self._filter(one) for one in walk.filters]

        def make() -> str:
            passes = " AND ".join(f"({clause.text}) IS TRUE" for clause in asked) or "true"
            by = ", ".join(self._statements.orders(walk.columns, descending=walk.descending))
            return (
                "SELECT * FROM (SELECT w.*, row_number() OVER () AS treadle_n FROM "
                f"(SELECT {self._statements.listed}, {passes} AS treadle_passes "
                f"FROM {self._statements.source}"
                f"{_where(where)} ORDER BY {by} LIMIT ?::bigint) AS w) AS v "
                "WHERE treadle_passes OR treadle_n >= ?::bigint LIMIT ?::bigint"
            )

        shape = ("rows", walk.along, len(walk.fixed), walk.descending, _texts(where), _texts(asked))
        bounds = [budget + 1, budget, hits + 2]
        return Said(self._kept(shape, make), _values(asked) + _values(where) + bounds)

    def count(self, walk: Walk, limit: int) -> Said:
        """How many entries the range has, at most `limit`."""
        where = self._range(walk)

        def make() -> str:
            inner = f"SELECT 1 FROM {self._statements.source}{_where(where)} LIMIT ?::bigint"
            return f"SELECT count(*) FROM ({inner}) AS v"

        text = self._kept(("count", walk.along, _texts(where)), make)
        return Said(text, [*_values(where), limit])

    def groups(self, walk: Walk, group: Sequence[int], folds: Sequence[Fold], limit: int) -> Said:
        """The group's columns and the value of each fold, one row for each group, in order."""
        asked = [self._filter(one) for one in walk.filters]
        where = [*self._range(walk), *asked]
        folded = [self._fold(fold) for fold in folds]

        def make() -> str:
            shown = [self._forms[place].shown.format(self._columns[place]) for place in group]
            listed = ", ".join([*shown, *(one.text for one in folded)]) or "true"
            by = ", ".join(self._columns[place] for place in group)
            order = ", ".join(self._statements.orders(group))
            tail = f" GROUP BY {by} ORDER BY {order}" if group else ""
            return f"SELECT {listed} FROM {self._statements.source}{_where(where)}{tail} LIMIT ?::bigint"

        shape = ("groups", walk.along, tuple(group), _texts(where), _texts(folded))
        return Said(self._kept(shape, make), [*_values(folded), *_values(where), limit])

    # Conditions.

    def _range(self, walk: Walk) -> list[_Clause]:
        columns = walk.columns
        clauses = [self._equal(place, cell) for place, cell in zip(columns, walk.fixed, strict=False)]
        presence = walk.along.presence if walk.along is not None else ()
        clauses += [_Clause(f"{self._columns[place]} IS NOT NULL") for place in presence]
        if len(walk.fixed) == len(columns):
            return clauses
        place = columns[len(walk.fixed)]
        if walk.present and walk.lower is None and walk.upper is None:
            clauses.append(_Clause(f"{self._columns[place]} IS NOT NULL"))
        if walk.lower is not None:
            clauses.append(self._compare(place, ">=" if walk.lower.closed else ">", walk.lower.value))
        if walk.upper is not None:
            clauses.append(self._compare(place, "<=" if walk.upper.closed else "<", walk.upper.value))
        return clauses

    def _value(self, place: int) -> str:
        return f"?::{self._forms[place].cast}"

    def _equal(self, place: int, cell: Any) -> _Clause:
        if cell is None:
            return _Clause(f"{self._columns[place]} IS NULL")
        return self._compare(place, "=", cell)

    def _compare(self, place: int, sign: str, cell: Any) -> _Clause:
        text = f"{self._columns[place]} {sign} {self._value(place)}"
        return _Clause(text, (self._encoders[place](cell),))

    def _filter(self, one: Filter) -> _Clause:
        """The condition; it is true, or false or null for a row that does not pass."""
        column = self._columns[one.position]
        if one.op in ("==", "is null"):
            return self._equal(one.position, one.value)
        if one.op in ("!=", "is not null"):
            if one.value is None:
                return _Clause(f"{column} IS NOT NULL")
            return self._compare(one.position, "IS DISTINCT FROM", one.value)
        if one.op == "in":
            values = [self._encoders[one.position](entry) for entry in one.value]
            return _Clause(f"{column} = ANY ({self._value(one.position)}[])", (values,)) if values else NEVER
        if one.value is None:
            return NEVER
        if one.op == "prefix":
            return self._prefix(one.position, one.value)
        return self._compare(one.position, one.op, one.value)

    def _prefix(self, place: int, text: str) -> _Clause:
        column, end = self._columns[place], after_prefix(text)
        if end is None:
            return _Clause(f"{column} >= ?::text", (text,))
        return _Clause(f"({column} >= ?::text AND {column} < ?::text)", (text, end))

    # Aggregates. PostgreSQL's sums of integers and numerics are exact.

    def _fold(self, fold: Fold) -> _Clause:
        if fold.op == "count":
            return _Clause("count(*)")
        if fold.op in ("any", "all"):
            clauses = [self._filter(one) for one in fold.filters]
            condition = " AND ".join(clause.text for clause in clauses) or "true"
            function = "bool_or" if fold.op == "any" else "bool_and"
            return _Clause(f"{function}(({condition}) IS TRUE)", tuple(_values(clauses)))
        place = fold.position or 0
        column, kind = self._columns[place], required(self._types[place])
        if fold.op == "sum":
            return _Clause(f"sum({column})::text")
        if isinstance(kind, Bool):
            return _Clause(f"{'bool_and' if fold.op == 'min' else 'bool_or'}({column})")
        if isinstance(
            kind, Uuid | Bytes
        ):  # which have no min and max before PostgreSQL 18; hex sorts like them
            raw = self._forms[place].shown.format(column)
            return _Clause(f"{fold.op}(encode({raw}, 'hex') COLLATE \"C\")")
        return _Clause(self._forms[place].shown.format(f"{fold.op}({column})"))

    def reader(self, fold: Fold) -> Callable[[Any], Any]:
        """What makes a fold's value of what was read."""
        if fold.op == "sum":
            return lambda value: 0 if value is None else unscaled(value)
        if fold.op in ("any", "all"):
            default = fold.op == "all"
            return lambda value: default if value is None else value
        if fold.op == "count":
            return int
        kind = self._types[fold.position or 0]
        if isinstance(required(kind), Uuid | Bytes):
            return lambda value: None if value is None else bytes.fromhex(value)
        return cell_decoder(kind)

    def group_reader(self, group: Sequence[int]) -> Callable[[tuple[Any, ...]], Cells]:
        return RowCodec([self._types[place] for place in group]).decode


def _texts(clauses: Sequence[_Clause]) -> tuple[str, ...]:
    return tuple(clause.text for clause in clauses)


def _values(clauses: Sequence[_Clause]) -> list[Any]:
    return [value for clause in clauses for value in clause.values]


def _where(clauses: Sequence[_Clause]) -> str:
    return f" WHERE {' AND '.join(_texts(clauses))}" if clauses else ""


class PostgresWalks:
    """What `treadle.ports.queries` asks, for the PostgreSQL store's snapshots."""

    __slots__ = ()

    _session: Any
    _names: Any

    def _check_open(self) -> None:
        """Raise `Closed` after the block's end; the transactions have it."""
        raise NotImplementedError

    def _walks(self, table: Table) -> tuple[TableStatements, WalkStatements]:
        self._check_open()
        statements: TableStatements = self._names.statements(table)
        walks: WalkStatements | None = statements.walks
        if walks is None:
            walks = statements.walks = WalkStatements(statements)
        return statements, walks

    def walk(self, walk: Walk, budget: int, hits: int) -> Iterator[tuple[bool, Row]]:
        statements, walks = self._walks(walk.table)
        decode = statements.codec.decode
        last: Any = None
        for row in self._rows(walks.rows(walk, budget, hits), min(budget, hits) > _AT_ONCE):
            if row[-1] > budget:
                yield False, Row(int(last[0]), decode(last[2:-2]), last[1])
                return
            if row[-2]:
                yield True, Row(int(row[0]), decode(row[2:-2]), row[1])
                self._check_open()
            last = row

    def _rows(self, said: Said, many: bool) -> Iterator[Any]:
        if not many:
            yield from self._session.rows(said.text, said.values)
            return
        stepped = self._session.stepped(said.text, said.values)
        while rows := stepped.fetch():
            yield from rows
            self._check_open()

    def summarise(
        self, walk: Walk, group: Sequence[int], folds: Sequence[Fold], budget: int, groups: int
    ) -> list[Group]:
        _, walks = self._walks(walk.table)
        counted = walks.count(walk, budget + 1)
        if self._session.rows(counted.text, counted.values)[0][0] > budget:
            raise TooLarge(too_many(budget))
        said = walks.groups(walk, group, folds, groups)
        key = walks.group_reader(group)
        readers = [walks.reader(fold) for fold in folds]
        size = len(group)
        return [
            Group(key(row[:size]), [read(value) for read, value in zip(readers, row[size:], strict=True)])
            for row in self._session.rows(said.text, said.values)
        ]
