"""The SQL of one entity table: its definition and every statement about its rows.

Texts depend on the table's declaration and on the relation that holds it, so they are made once and shared
by all connections, each of which keeps them prepared. Many rows are one statement: one array per column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from treadle.errors import TooLarge, check
from treadle.model.facts import Range
from treadle.model.types import Optional
from treadle.ports.store import Column, IndexSpec, Table
from treadle.store.postgres.cells import WIDE, RowCodec, form
from treadle.store.postgres.names import column_name, fitted, quoted
from treadle.store.postgres.views import drop_view, view_definition

REVISION: Final = "treadle_revision"
COMMIT: Final = "treadle_commit"

MOST_COLUMNS: Final = 1_600 - 2
MOST_INDEXED: Final = 32


def index_name(relation: str, spec: IndexSpec) -> str:
    """The name of a declared index. It is a relation's too, and no entity's name has a dot."""
    return fitted(f"{relation}.{spec.name}")


def _column(column: Column) -> str:
    presence = "" if isinstance(column.type, Optional) else " NOT NULL"
    return f"{quoted(column_name(column.name))} {form(column.type).column}{presence}"


def ordered(table: Table, place: int, prefix: str = "", *, descending: bool = False) -> str:
    """A column in an index's order: absent cells come first, or last where it is read backwards."""
    column = table.columns[place]
    name = prefix + quoted(column_name(column.name))
    nulls = isinstance(column.type, Optional)
    if descending:
        return f"{name} DESC NULLS LAST" if nulls else f"{name} DESC"
    return f"{name} NULLS FIRST" if nulls else name


def index_columns(table: Table, spec: IndexSpec) -> tuple[int, ...]:
    """The declared columns, and then what is missing of the key."""
    return (*spec.positions, *(place for place in range(table.key_count) if place not in spec.positions))


def index_definition(schema: str, table: Table, relation: str, spec: IndexSpec) -> str:
    columns = ", ".join(ordered(table, place) for place in index_columns(table, spec)[:MOST_INDEXED])
    present = " AND ".join(
        f"{quoted(column_name(table.columns[place].name))} IS NOT NULL" for place in spec.presence
    )
    where = f" WHERE {present}" if present else ""
    name = quoted(index_name(relation, spec))
    return f"CREATE INDEX {name} ON {schema}.{quoted(relation)} ({columns}){where}"


def definition(schema: str, table: Table, relation: str, *, hidden: bool) -> list[str]:
    """The statements that create a table, its indexes and, unless it is hidden, its view."""
    check(0 < table.key_count <= len(table.columns), f"table {table.name} has a key")
    if len(table.columns) > MOST_COLUMNS:
        raise TooLarge(
            f"entity {table.entity} has {len(table.columns)} fields; PostgreSQL holds at most {MOST_COLUMNS}"
        )
    columns = [_column(column) for column in table.columns]
    columns += [f"{REVISION} {WIDE.column} NOT NULL", f"{COMMIT} bigint NOT NULL"]
    key = ", ".join(quoted(column_name(column.name)) for column in table.columns[: table.key_count])
    name = quoted(fitted(f"{relation}.~key"))
    text = (
        f"CREATE TABLE {schema}.{quoted(relation)} "
        f"({', '.join(columns)}, CONSTRAINT {name} PRIMARY KEY ({key}))"
    )
    indexes = [index_definition(schema, table, relation, spec) for spec in table.indexes]
    view = [] if hidden else [view_definition(schema, table, relation)]
    return [text, *indexes, *view]


def alteration(schema: str, before: Table, after: Table, relation: str) -> list[str]:
    """The statements that add optional columns, drop and make indexes, and make the view anew."""
    name = f"{schema}.{quoted(relation)}"
    added = [column for column in after.columns if column not in before.columns]
    old = {before.shape(spec) for spec in before.indexes}
    new = {after.shape(spec) for spec in after.indexes}
    return [
        drop_view(schema, before),
        *(f"ALTER TABLE {name} ADD COLUMN {_column(column)}" for column in added),
        *(drop_index(schema, relation, spec) for spec in before.indexes if before.shape(spec) not in new),
        *(
            index_definition(schema, after, relation, spec)
            for spec in after.indexes
            if after.shape(spec) not in old
        ),
        view_definition(schema, after, relation),
    ]


def drop_index(schema: str, relation: str, spec: IndexSpec) -> str:
    return f"DROP INDEX {schema}.{quoted(index_name(relation, spec))}"


class TableStatements:
    """Everything that is said to one entity table."""

    def __init__(self, schema: str, table: Table, relation: str) -> None:
        self.table = table
        self.relation = relation
        self.name = f"{schema}.{quoted(relation)}"
        self.columns = [quoted(column_name(column.name)) for column in table.columns]
        self.keys = self.columns[: table.key_count]
        # In ORDER BY a bare name would be the answer's column, which may be text for a number.
        self.source = f"{self.name} AS t"
        self.at = [f"t.{column}" for column in self.columns]
        self.codec = RowCodec([column.type for column in table.columns])
        self.key_codec = RowCodec([column.type for column in table.columns[: table.key_count]])
        self.listed = ", ".join((WIDE.shown.format(f"t.{REVISION}"), f"t.{COMMIT}", *self._shown()))
        self.fetch = self._fetch()
        self.scan = self._scan("", 1)
        given = ", ".join(self._casts(self.key_codec, 1))
        after = f" WHERE ({', '.join(self.at[: table.key_count])}) > ({given})"
        self.scan_after = self._scan(after, table.key_count + 1)
        self.insert, self.update, self.delete = self._insert(), self._update(), self._delete()
        self._probes: dict[tuple[str, tuple[bool, ...]], str] = {}
        self.walks: Any = None  # the statements of `queries`, once something is asked

    def _shown(self) -> list[str]:
        """The columns as they are read."""
        return [each.shown.format(at) for each, at in zip(self.codec.forms, self.at, strict=True)]

    @staticmethod
    def _casts(codec: RowCodec, first: int, suffix: str = "") -> list[str]:
        return [f"${place}::{each.cast}{suffix}" for place, each in enumerate(codec.forms, first)]

    def _arrays(self, codec: RowCodec, *more: str) -> str:
        """A table of parameters: one array for each column of the codec, and for each type of `more`."""
        casts = self._casts(codec, 1, "[]")
        casts += [f"${place}::{cast}[]" for place, cast in enumerate(more, len(codec.forms) + 1)]
        return f"unnest({', '.join(casts)})"

    def _given(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.keys))]

    def _match(self, prefix: str = "t.") -> str:
        pairs = zip(self.keys, self._given(), strict=True)
        return " AND ".join(f"{prefix}{column} = v.{given}" for column, given in pairs)

    def _fetch(self) -> str:
        given = ", ".join((*self._given(), "n"))
        return (
            f"SELECT v.n, {self.listed} FROM {self._arrays(self.key_codec)} WITH ORDINALITY AS v({given}) "
            f"JOIN {self.source} ON {self._match()}"
        )

    def _scan(self, where: str, limit: int) -> str:
        by = ", ".join(self.at[: self.table.key_count])
        return f"SELECT {self.listed} FROM {self.source}{where} ORDER BY {by} LIMIT ${limit}"

    def _insert(self) -> str:
        listed = ", ".join((*self.columns, REVISION, COMMIT))
        arrays = self._arrays(self.codec, WIDE.cast, "bigint")
        return f"INSERT INTO {self.name} ({listed}) SELECT * FROM {arrays} ON CONFLICT DO NOTHING"

    def _update(self) -> str:
        rest = [f"c{place}" for place in range(len(self.keys), len(self.columns))]
        pairs = zip(self.columns[len(self.keys) :], rest, strict=True)
        settings = ", ".join(
            (*(f"{column} = v.{given}" for column, given in pairs), f"{REVISION} = v.r", f"{COMMIT} = v.n")
        )
        given = ", ".join((*self._given(), *rest, "r", "n"))
        arrays = self._arrays(self.codec, WIDE.cast, "bigint")
        return f"UPDATE {self.name} AS t SET {settings} FROM {arrays} AS v({given}) WHERE {self._match()}"

    def _delete(self) -> str:
        given = ", ".join(self._given())
        arrays = self._arrays(self.key_codec)
        return f"DELETE FROM {self.name} AS t USING {arrays} AS v({given}) WHERE {self._match()}"

    def probe(self, range_: Range) -> str:
        """The keys under a prefix of an index, in its order. Bindings: the present values, the limit."""
        shape = (range_.index, tuple(value is None for value in range_.values))
        found = self._probes.get(shape)
        if found is None:
            found = self._probes[shape] = self._probe(self.spec(range_.index), shape[1])
        return found

    def spec(self, index: str) -> IndexSpec:
        """The declared index of that name."""
        found = [spec for spec in self.table.indexes if spec.name == index]
        check(found, f"table {self.table.name} has no index {index}")
        return found[0]

    def _probe(self, spec: IndexSpec, absent: Sequence[bool]) -> str:
        conditions = []
        bound = 0
        for place, none in zip(spec.positions, absent, strict=False):
            bound += not none
            value = "IS NULL" if none else f"= ${bound}::{self.codec.forms[place].cast}"
            conditions.append(f"{self.at[place]} {value}")
        conditions += [f"{self.at[place]} IS NOT NULL" for place in spec.presence]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        by = ", ".join(self.orders(index_columns(self.table, spec)))
        keys = ", ".join(self._shown()[: self.table.key_count])
        return f"SELECT {keys} FROM {self.source}{where} ORDER BY {by} LIMIT ${bound + 1}"

    def orders(self, places: Iterable[int], *, descending: bool = False) -> list[str]:
        """Columns as in ORDER BY; constant ones cost nothing, and absent ones are no constants."""
        return [ordered(self.table, place, "t.", descending=descending) for place in places]

    def probe_values(self, range_: Range) -> list[Any]:
        """What is bound for the range's cells."""
        positions = self.spec(range_.index).positions[: len(range_.values)]
        types = [self.table.columns[place].type for place in positions]
        return [value for value in RowCodec(types).encode(range_.values) if value is not None]
