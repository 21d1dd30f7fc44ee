"""Which relation of the schema holds an entity's rows, in each snapshot.

A snapshot must not see that a table was dropped or replaced after it began, and PostgreSQL forgets dropped
tables at once. So nothing in use is ever dropped or renamed: `treadle_tables` says, in each snapshot, which
relation a table's name stands for; what it stands for no more is retired, and goes when nobody reads.
"""

from __future__ import annotations

from typing import Final

from treadle.errors import TreadleError, check
from treadle.ports.store import Table
from treadle.store.handle import no_table
from treadle.store.postgres.names import fitted, quoted
from treadle.store.postgres.schema import Texts
from treadle.store.postgres.sessions import Session
from treadle.store.postgres.statements import TableStatements

_KEPT: Final = 4
"""Generations of names that are remembered: snapshots of earlier ones may be open."""

_TAKEN: Final = (
    "SELECT c.relname::text FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1"
)


class Shared:
    """What all transactions of a store share: names of relations, and the statements of entity tables."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.schema = texts.schema
        self._statements: dict[tuple[str, str], TableStatements] = {}
        self._relations: dict[int, dict[str, str]] = {}

    def relations(self, session: Session, generation: int) -> dict[str, str]:
        """Relations by table name, as of a snapshot of that generation that has not changed them itself."""
        known = self._relations.get(generation)
        if known is None:
            known = dict(session.rows(f"SELECT name, relation FROM {self.schema}.treadle_tables"))
            if len(self._relations) >= _KEPT:
                self._relations.clear()
            self._relations[generation] = known
        return known

    def statements(self, table: Table, relation: str) -> TableStatements:
        """The statements of a table, made anew when its declaration changed."""
        known = self._statements.get((table.name, relation))
        if known is None or (known.table is not table and known.table != table):
            known = TableStatements(self.schema, table, relation)
            self._statements[table.name, relation] = known
        return known


class Names:
    """The names of one transaction's tables."""

    __slots__ = ("_generation", "_known", "_session", "_shared")

    def __init__(self, session: Session, shared: Shared, generation: int) -> None:
        self._session = session
        self._shared = shared
        self._generation = generation
        self._known: dict[str, str] | None = None

    def _relations(self) -> dict[str, str]:
        if self._known is None:
            self._known = self._shared.relations(self._session, self._generation)
        return self._known

    def relation(self, table: Table) -> str:
        """The relation that holds a table; raises where it was never created."""
        found = self._relations().get(table.name)
        if found is None:
            raise no_table(table)
        return found

    def statements(self, table: Table) -> TableStatements:
        return self._shared.statements(table, self.relation(table))

    # What only the write transaction does.

    def give(self, table: Table) -> str:
        """A relation of its own for a new table."""
        check(table.name not in self._relations(), f"table {table.name} exists already")
        taken = {name for (name,) in self._session.rows(_TAKEN, [self._shared.texts.name])}
        wanted = table.prefix or table.name
        found, number = fitted(wanted), 2
        while found in taken:
            found, number = fitted(f"{wanted}~{number}"), number + 1
        self._put(table.name, found)
        return found

    def move(self, built: Table, after: Table) -> str:
        """What held `built` holds `after` from now on; what held that is retired."""
        relation = self.relation(built)
        self._retire(after)
        self._put(built.name, None)
        self._put(after.name, relation)
        return relation

    def forget(self, table: Table) -> None:
        """Nothing holds the table any more."""
        self._retire(table)
        self._put(table.name, None)

    def _retire(self, table: Table) -> None:
        self._session.changed(
            f"INSERT INTO {self._shared.schema}.treadle_retired VALUES ($1)", [self.relation(table)]
        )

    def _put(self, name: str, relation: str | None) -> None:
        schema = self._shared.schema
        self._known = dict(self._relations())
        if relation is None:
            del self._known[name]
            self._session.changed(f"DELETE FROM {schema}.treadle_tables WHERE name = $1", [name])
        else:
            self._known[name] = relation
            self._session.changed(
                f"INSERT INTO {schema}.treadle_tables VALUES ($1, $2) "
                "ON CONFLICT (name) DO UPDATE SET relation = excluded.relation",
                [name, relation],
            )
        self._session.changed(f"UPDATE {schema}.treadle_format SET generation = generation + 1")


def sweep(session: Session, texts: Texts) -> None:
    """In a writer's turn, drop what was retired, unless somebody still reads: then another writer will."""
    schema = texts.schema
    try:
        session.script(f"SET LOCAL lock_timeout TO 100; {texts.gate}")
        for (relation,) in session.rows(f"SELECT relation FROM {schema}.treadle_retired"):
            session.script(f"DROP TABLE {schema}.{quoted(relation)}")
        session.script(f"DELETE FROM {schema}.treadle_retired; COMMIT")
    except TreadleError:
        session.roll_back()
