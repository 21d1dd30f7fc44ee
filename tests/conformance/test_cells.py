"""Every cell comes back as it was stored, and stores order and compare cells as Python does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.cells import SCALARS, cells_of
from tests.support.effort import effort
from tests.support.tables import EVERYTHING, created
from treadle.model import types
from treadle.model.facts import Range, Row
from treadle.ports.store import Column, IndexSpec, Table

per_store = settings(
    max_examples=effort(25), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def ordered(name: str) -> Table:
    """A table whose key and whose optional, indexed column are of one type."""
    kind = SCALARS[name][0]
    return Table(
        f"Of_{name}",
        f"Of_{name}",
        (Column("cell", "cell", kind), Column("perhaps", "perhaps", types.Optional(kind))),
        1,
        False,
        (IndexSpec("by_perhaps", (1,)), IndexSpec("present", (1,), (1,))),
    )


def first_none(cell: object) -> tuple[bool, object]:
    return (cell is not None, cell)


@pytest.fixture
def tables(store):
    made = {name: ordered(name) for name in SCALARS}
    with store.write() as tx:
        for table in made.values():
            tx.create_table(table)
        tx.commit()
    return made


@pytest.mark.parametrize("name", SCALARS)
@per_store
@given(data=st.data())
def test_order_and_equality(store, tables, name, data):
    table, strategy = tables[name], SCALARS[name][1]
    rows = data.draw(
        st.lists(st.tuples(strategy, st.none() | strategy), max_size=12, unique_by=lambda row: row[0])
    )
    sought = data.draw(strategy)
    with store.write() as tx:  # never committed: each example begins with empty tables
        tx.write_rows(table, [created(table, row) for row in rows], [1] * len(rows))
        assert [row.cells for row in tx.scan(table, None, 100)] == sorted(rows, key=lambda row: row[0])
        after = [row.cells for row in tx.scan(table, (sought,), 100)]
        assert after == [row for row in sorted(rows, key=lambda row: row[0]) if row[0] > sought]
        by_index = sorted(rows, key=lambda row: (first_none(row[1]), row[0]))
        assert tx.probe(table, Range(table.entity, "by_perhaps", (), 100)) == [row[:1] for row in by_index]
        present = [row[:1] for row in by_index if row[1] is not None]
        assert tx.probe(table, Range(table.entity, "present", (), 100)) == present
        for wanted in {None, sought, *(row[1] for row in rows)}:
            equal = [row[:1] for row in by_index if row[1] == wanted]
            assert tx.probe(table, Range(table.entity, "by_perhaps", (wanted,), 100)) == equal
            if wanted is not None:
                assert tx.probe(table, Range(table.entity, "present", (wanted,), 100)) == equal


rows_of_everything = st.tuples(*(cells_of(column.type) for column in EVERYTHING.columns))


@per_store
@given(rows=st.lists(rows_of_everything, max_size=4, unique_by=lambda row: row[0]))
def test_every_type_comes_back(store, rows):
    with store.write() as tx:
        tx.create_table(EVERYTHING)
        tx.write_rows(EVERYTHING, [created(EVERYTHING, row) for row in rows], list(range(len(rows))))
        found = tx.rows(EVERYTHING, [row[:1] for row in rows])
        assert found == [Row(1, row, place) for place, row in enumerate(rows)]
        for row, fetched in zip(rows, found, strict=True):
            assert fetched is not None
            assert [type(cell) for cell in fetched.cells] == [type(cell) for cell in row]


@pytest.mark.parametrize("revision", [1, 2**63 - 1, 2**63, 2**64 - 1])
def test_revisions_up_to_the_last(store, revision):
    table = ordered("u64")._replace(tombstones=True)
    with store.write() as tx:
        tx.create_table(table)
        row = Row(revision, (2**64 - 1, 2**63), 5)
        tx.write_rows(table, [created(table, row.cells, revision)], [5])
        assert tx.rows(table, [(2**64 - 1,)]) == [row]
        assert tx.scan(table, None, 1) == [row]
        gone = created(table, row.cells)._replace(before=row, revision=revision, cells=None)
        tx.write_rows(table, [gone], [6])
        assert tx.rows(table, [(2**64 - 1,)]) == [None]
        assert tx.last_revisions(table, [(2**64 - 1,), (1,)]) == [revision, 0]
