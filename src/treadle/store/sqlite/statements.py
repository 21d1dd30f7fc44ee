"""The SQL of one entity table: its definition and every statement about its rows.

Texts depend on the table's declaration alone, so they are made once and shared by all connections,
each of which keeps them prepared.
"""

from __future__ import annotations

from operator import is_not
from typing import Any, Final

from treadle.errors import TooLarge, check
from treadle.model.facts import Cells, Key, Range
from treadle.model.types import Optional
from treadle.ports.store import Column, IndexSpec, Table
from treadle.store.sqlite.cells import RowCodec, column_type
from treadle.store.sqlite.views import quoted, view_definition, view_name

REVISION: Final = "treadle_revision"
COMMIT: Final = "treadle_commit"

MOST_COLUMNS: Final = 2_000 - 4
"""SQLite's bound on the columns of a table or an answer, less the two of every entity table and two that
statements ask for beside a row's."""

_MOST_MASKS: Final = 64


def index_name(table: Table, spec: IndexSpec) -> str:
    """The name of a declared index: its entity table's, or the prefix kept for it, and its own.

    SQLite takes names that differ in case for one name, so capitals are told apart by their places.
    """
    capitals = sum(1 << place for place, letter in enumerate(spec.name) if letter.isupper())
    return f"{table.prefix or table.name}.{spec.name}{f'~{capitals:x}' if capitals else ''}"


def _column(column: Column) -> str:
    presence = "" if isinstance(column.type, Optional) else " NOT NULL"
    return f"{quoted(column.name)} {column_type(column.type)}{presence}"


def index_definition(table: Table, spec: IndexSpec) -> str:
    columns = ", ".join(quoted(table.columns[position].name) for position in spec.positions)
    present = " AND ".join(
        f"{quoted(table.columns[position].name)} IS NOT NULL" for position in spec.presence
    )
    where = f" WHERE {present}" if present else ""
    return f"CREATE INDEX {quoted(index_name(table, spec))} ON {quoted(table.name)} ({columns}){where}"


def definition(table: Table, *, hidden: bool) -> list[str]:
    """The statements that create a table, its indexes and, unless it is hidden, its view."""
    check(0 < table.key_count <= len(table.columns), f"table {table.name} has a key")
    if len(table.columns) > MOST_COLUMNS:
        raise TooLarge(
            f"entity {table.entity} has {len(table.columns)} fields; SQLite holds at most {MOST_COLUMNS}"
        )
    columns = [_column(column) for column in table.columns]
    columns += [f"{REVISION} ANY NOT NULL", f"{COMMIT} INTEGER NOT NULL"]
    key = ", ".join(quoted(column.name) for column in table.columns[: table.key_count])
    text = (
        f"CREATE TABLE {quoted(table.name)} ({', '.join(columns)}, PRIMARY KEY ({key})) STRICT, WITHOUT ROWID"
    )
    view = [] if hidden else [view_definition(table)]
    return [text, *(index_definition(table, spec) for spec in table.indexes), *view]


def alteration(before: Table, after: Table) -> list[str]:
    """The statements that add optional columns, drop and make indexes, and make the view anew.

    Every statement about rows names its columns, so the order in which the table has them means nothing.
    """
    name = quoted(after.name)
    added = [column for column in after.columns if column not in before.columns]
    old = {before.shape(spec) for spec in before.indexes}
    new = {after.shape(spec) for spec in after.indexes}
    return [
        drop_view(before),
        *(f"ALTER TABLE {name} ADD COLUMN {_column(column)}" for column in added),
        *(drop_index(before, spec) for spec in before.indexes if before.shape(spec) not in new),
        *(index_definition(after, spec) for spec in after.indexes if after.shape(spec) not in old),
        view_definition(after),
    ]


def replacement(before: Table, built: Table, after: Table) -> list[str]:
    """The statements that put a table that was built in the place of another, and make the view anew."""
    return [
        drop_view(before),
        f"DROP TABLE {quoted(before.name)}",
        *(drop_index(built, spec) for spec in built.indexes if spec not in after.indexes),
        f"ALTER TABLE {quoted(built.name)} RENAME TO {quoted(after.name)}",
        view_definition(after),
    ]


def drop_view(table: Table) -> str:
    return f"DROP VIEW IF EXISTS {quoted(view_name(table))}"


def drop_index(table: Table, spec: IndexSpec) -> str:
    return f"DROP INDEX {quoted(index_name(table, spec))}"


class Mask:
    """An update that sets only some columns, so that SQLite leaves the indexes of the others alone."""

    __slots__ = ("positions", "text")

    def __init__(self, statements: TableStatements, changed: tuple[bool, ...]) -> None:
        columns = statements.columns
        self.positions = [position for position, differs in enumerate(changed) if differs]
        settings = [f"{columns[position]} = ?" for position in self.positions]
        settings += [f"{REVISION} = ?", f"{COMMIT} = ?"]
        self.text = f"UPDATE {statements.name} SET {', '.join(settings)} WHERE {statements.match}"


class TableStatements:
    """Everything that is said to one entity table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.name = quoted(table.name)
        self.columns = [quoted(column.name) for column in table.columns]
        self.keys = self.columns[: table.key_count]
        self.codec = RowCodec([column.type for column in table.columns])
        self.key_codec = RowCodec([column.type for column in table.columns[: table.key_count]])
        self.match = " AND ".join(f"{column} = ?" for column in self.keys)
        listed = ", ".join(self.columns)
        key_list = ", ".join(self.keys)
        marks = ", ".join("?" * (len(self.columns) + 2))
        fetched = f"{REVISION}, {COMMIT}, {listed} FROM {self.name}"
        self.fetch = f"SELECT ?, {fetched} WHERE {self.match}"
        self.scan = f"SELECT {fetched} ORDER BY {key_list} LIMIT ?"
        after = f"({key_list}) > ({', '.join('?' * len(self.keys))})"
        self.scan_after = f"SELECT {fetched} WHERE {after} ORDER BY {key_list} LIMIT ?"
        self.insert = f"INSERT INTO {self.name} ({listed}, {REVISION}, {COMMIT}) VALUES ({marks})"
        self.delete = f"DELETE FROM {self.name} WHERE {self.match}"
        self._whole = Mask(self, (False,) * table.key_count + (True,) * (len(self.columns) - table.key_count))
        self._masks: dict[tuple[bool, ...], Mask] = {}
        self._probes: dict[tuple[str, int], str] = {}
        self.walks: Any = None  # the statements of `queries`, once something is asked

    def mask(self, before: Cells, after: Cells) -> Mask:
        """The update for a row that goes from `before` to `after`.

        Cells that a command left alone are the same objects, so identity is enough; an equal cell that is
        another object is written once more, and no harm done.
        """
        changed = tuple(map(is_not, before, after))
        mask = self._masks.get(changed)
        if mask is None:
            if len(self._masks) >= _MOST_MASKS:
                return self._whole
            mask = self._masks[changed] = Mask(self, self._without_key(changed))
        return mask

    def _without_key(self, changed: tuple[bool, ...]) -> tuple[bool, ...]:
        key_count = self.table.key_count
        return (False,) * key_count + changed[key_count:]

    def probe(self, range_: Range) -> str:
        """The keys under a prefix of an index, in the index's order. Bindings: the values, then the limit."""
        found = self._probes.get((range_.index, len(range_.values)))
        if found is None:
            found = self._probes[range_.index, len(range_.values)] = self._probe(range_)
        return found

    def spec(self, index: str) -> IndexSpec:
        """The declared index of that name."""
        found = [spec for spec in self.table.indexes if spec.name == index]
        check(found, f"table {self.table.name} has no index {index}")
        return found[0]

    def _probe(self, range_: Range) -> str:
        spec = self.spec(range_.index)
        known = spec.positions[: len(range_.values)]
        conditions = [self._equal(position) for position in known]
        conditions += [f"{self.columns[position]} IS NOT NULL" for position in spec.presence]
        rest = [place for place in range(self.table.key_count) if place not in spec.positions]
        order = [self.columns[position] for position in (*spec.positions[len(known) :], *rest)]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        by = f" ORDER BY {', '.join(order)}" if order else ""
        source = f"{self.name} INDEXED BY {quoted(index_name(self.table, spec))}"
        return f"SELECT {', '.join(self.keys)} FROM {source}{where}{by} LIMIT ?"

    def _equal(self, position: int) -> str:
        # IS finds absent optionals too; on a required column = says the same, and plans better.
        optional = isinstance(self.table.columns[position].type, Optional)
        return f"{self.columns[position]} {'IS' if optional else '='} ?"

    def probe_values(self, range_: Range) -> Cells:
        """SQLite's values of the range's cells."""
        spec = self.spec(range_.index)
        types = [self.table.columns[position].type for position in spec.positions[: len(range_.values)]]
        return RowCodec(types).encode(range_.values)

    def encoded_key(self, key: Key) -> Cells:
        return self.key_codec.encode(key)
