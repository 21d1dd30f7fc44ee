"""One readable view for each entity table: times and dates as PostgreSQL's own types.

Everything else can be read as it is stored: uuids, booleans and decimals have their own types there.
"""

from __future__ import annotations

from treadle.model.types import Date, Timestamp, required
from treadle.ports.store import Column, Table
from treadle.store.postgres.names import column_name, fitted, quoted


def view_name(table: Table) -> str:
    """The name of a table's readable view; no entity's name begins so."""
    return fitted(f"treadle_view_{table.name}")


def _shown(column: Column) -> str:
    cell = f"t.{quoted(column_name(column.name))}"
    kind = required(column.type)
    if isinstance(kind, Timestamp):  # in two parts, neither of which is rounded
        cell = (
            f"timestamptz '1970-01-01 00:00:00+00' + ({cell} / 1000000) * interval '1 second'"
            f" + ({cell} % 1000000) * interval '1 microsecond'"
        )
    elif isinstance(kind, Date):
        cell = f"date '1970-01-01' + {cell}::integer"
    return f"{cell} AS {quoted(column.name)}"


def view_definition(schema: str, table: Table, relation: str) -> str:
    """The statement that creates the readable view of what `relation` holds."""
    columns = [_shown(column) for column in table.columns]
    columns += ["t.treadle_revision", "t.treadle_commit"]
    return (
        f"CREATE VIEW {schema}.{quoted(view_name(table))} AS "
        f"SELECT {', '.join(columns)} FROM {schema}.{quoted(relation)} AS t"
    )


def drop_view(schema: str, table: Table) -> str:
    return f"DROP VIEW IF EXISTS {schema}.{quoted(view_name(table))}"
