"""Names that PostgreSQL would not have, sizes that it cannot index, plans: each statement by its index."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tables import JOB, SHOP, changed, created, deleted, job, job_key
from treadle.errors import TooLarge
from treadle.model import types
from treadle.model.facts import Range, Row
from treadle.model.ranges import Filter, Fold
from treadle.ports.queries import Edge, Walk
from treadle.ports.store import Column, IndexSpec, Table
from treadle.store.postgres import PostgresStore
from treadle.store.postgres.names import fitted

LONG = "n" * 59


def keyed(name: str, *columns: Column, indexes: tuple[IndexSpec, ...] = ()) -> Table:
    return Table(name, name, (Column("id", "id", types.String(10_000)), *columns), 1, True, indexes)


def text(name: str) -> Column:
    return Column(name, name, types.Optional(types.String(1_000_000)))


def test_names_that_are_too_long_or_the_system_s(store: PostgresStore) -> None:
    columns = [text(name) for name in ("xmin", "ctid", "tableoid", f"{LONG}1")]
    specs = tuple(IndexSpec(f"{LONG}{place}", (place,)) for place in range(1, 5))
    tables = [keyed(f"{LONG}{place}", *columns, indexes=specs) for place in range(3)]
    with store.write() as tx:
        for table in tables:
            tx.create_table(table)
            tx.write_rows(table, [created(table, ("k", "a", "b", "c", "d"))], [1])
        tx.commit()
    with store.read() as tx:
        for table in tables:
            for spec, value in zip(specs, "abcd", strict=True):
                assert tx.probe(table, Range(table.entity, spec.name, (value,), 9)) == [("k",)]


@pytest.mark.parametrize("name", ["a", "n" * 63, "ü" * 31])
def test_a_name_that_fits_stays(name: str) -> None:
    assert fitted(name) == name


@pytest.mark.parametrize("name", ["n" * 64, "ü" * 32, "\U0001f600" * 40])
def test_a_name_that_does_not_fit_keeps_its_beginning(name: str) -> None:
    assert len(fitted(name).encode()) <= 63
    assert fitted(name)[:10] == name[:10] and fitted(name) != fitted(name + "x")


def test_what_is_too_large_for_an_index_is_refused_and_nothing_else(store: PostgresStore) -> None:
    table = keyed("Note", text("body"))
    noise = "".join(chr(0x4E00 + number * number % 9_973) for number in range(3_000))
    with store.write() as tx:
        tx.create_table(table)
        tx.write_rows(table, [created(table, ("small", noise * 50))], [1])
        tx.write_uniques([], [(("Note", "body", (noise,)), ("small",))])
        tx.commit()
    with pytest.raises(TooLarge, match="index"), store.write() as tx:
        tx.write_rows(table, [created(table, (noise, None))], [2])
    with store.read() as tx:
        assert [row.cells[0] for row in tx.scan(table, None, 9)] == ["small"]
        assert tx.holders([("Note", "body", (noise,)), ("Note", "body", (noise + "x",))]) == [
            ("small",),
            None,
        ]


def test_a_retired_table_goes_when_nobody_reads(
    store: PostgresStore, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.store.postgres.store._SWEEP_SECONDS", 0.0)

    def relations() -> set[str]:
        with store.write() as tx:
            found = tx._session.rows(
                "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace",
                [f'"{schema}"'],
            )
        return {name for (name,) in found} & {"Job", "Job~2"}

    with store.write() as tx:
        tx.create_table(JOB)
        tx.commit()
    with store.read() as reader:
        with store.write() as tx:
            tx.drop_table(JOB)
            tx.create_table(JOB)
            tx.commit()
        assert relations() == {"Job", "Job~2"}
        assert reader.scan(JOB, None, 1) == []
    assert relations() == {"Job~2"}


# Plans.


class Explaining:
    """A session that notes the plan of each statement about the jobs."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.plans: list[str] = []

    def _note(self, statement: str, values: Any) -> None:
        rows = self._session.rows(f"EXPLAIN (COSTS OFF) {statement}", values, prepare=False)
        self.plans.append("\n".join(line for (line,) in rows))

    def rows(self, statement: str, values: Any = (), *, prepare: bool = True) -> Any:
        if '"Job"' in statement:
            self._note(statement, values)
        return self._session.rows(statement, values, prepare=prepare)

    def changed(self, statement: str, values: Any = ()) -> Any:
        if '"Job"' in statement and not statement.startswith("INSERT"):
            self._note(statement, values)
        return self._session.changed(statement, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def walks() -> list[Walk]:
    by_state, by_printer = JOB.indexes
    filters = (Filter(4, ">", 3), Filter(3, "prefix", "j"))
    return [
        Walk(JOB, None, (SHOP,)),
        Walk(JOB, None, (SHOP,), descending=True, filters=filters),
        Walk(JOB, by_state, (SHOP, "Waiting"), lower=Edge(job_key(3)[1], False), filters=filters),
        Walk(JOB, by_state, (SHOP,), descending=True),
        Walk(JOB, by_printer, (SHOP,), present=True),
    ]


def test_no_statement_scans_or_sorts(store: PostgresStore) -> None:
    with store.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(number)) for number in range(300)], [1] * 300)
        tx.commit()
    with store.write() as tx:
        session = tx._session = Explaining(tx._session)
        assert len(tx.rows(JOB, [job_key(number) for number in range(40)])) == 40
        tx.scan(JOB, job_key(5), 10)
        tx.probe(JOB, Range("Job", "by_state", (SHOP, "Waiting"), 5))
        for walk in walks():
            list(tx.walk(walk, 50, 5))
            tx.summarise(walk, (), [Fold("count"), Fold("max", 4)], 1_000, 1)
        tx.write_rows(JOB, [changed(JOB, Row(1, job(7), 1), job(7, title="x"))], [2])
        tx.write_rows(JOB, [deleted(JOB, Row(1, job(8), 1))], [2])
        for plan in session.plans:
            assert "Seq Scan" not in plan and "Sort" not in plan, plan
            assert "Index" in plan, plan
        assert len(session.plans) == 3 + 3 * len(walks()) + 2
