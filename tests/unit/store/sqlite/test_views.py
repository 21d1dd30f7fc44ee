"""The readable views, as the SQLite that Python brings shows them."""

from __future__ import annotations

import datetime
import decimal
import sqlite3  # noqa: TID251 - another, older SQLite is what the views are for
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.cells import cells_of
from tests.support.effort import effort
from tests.support.tables import EVERYTHING, created
from treadle.model import types
from treadle.model.types import Type
from treadle.store.sqlite import open_database
from treadle.store.sqlite.views import view_name

pytestmark = pytest.mark.skipif(
    sqlite3.sqlite_version_info < (3, 40), reason="the SQLite of Python is before 3.40"
)

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def shown(kind: Type, cell: Any) -> object:
    """What a person is to read."""
    bare = types.required(kind)
    if cell is None:
        return None
    if isinstance(bare, types.Uuid):
        return str(uuid.UUID(bytes=cell))
    if isinstance(bare, types.Timestamp):
        moment = EPOCH + datetime.timedelta(microseconds=cell)
        return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
    if isinstance(bare, types.Date):
        return (EPOCH.date() + datetime.timedelta(days=cell)).isoformat()
    if isinstance(bare, types.Decimal | types.Money):
        scale = bare.scale if isinstance(bare, types.Decimal) else types.MONEY_SCALE
        return format(decimal.Context(prec=60).scaleb(decimal.Decimal(cell), -scale), "f")
    if isinstance(bare, types.U64):
        return cell if cell < 2**63 else str(cell)
    return cell


def without_lists(row: tuple) -> list[tuple[Type, Any]]:
    kinds = [column.type for column in EVERYTHING.columns]
    pairs = zip(kinds, row, strict=True)
    return [(kind, cell) for kind, cell in pairs if not isinstance(types.required(kind), types.List)]


rows_of_everything = st.tuples(*(cells_of(column.type) for column in EVERYTHING.columns))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = str(tmp_path_factory.mktemp("views") / "work.db")
    store = open_database(made)
    with store.write() as tx:
        tx.create_table(EVERYTHING)
        tx.commit()
    store.close()
    return made


@settings(max_examples=effort(15), suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(rows_of_everything, min_size=1, max_size=3))
def test_every_type_reads_well(path, rows):
    rows = [(place, *row[1:]) for place, row in enumerate(rows)]
    store = open_database(path)
    with store.write() as tx:
        for row in tx.scan(EVERYTHING, None, 100):
            tx.write_rows(EVERYTHING, [created(EVERYTHING, row.cells)._replace(before=row, cells=None)], [0])
        tx.write_rows(EVERYTHING, [created(EVERYTHING, row) for row in rows], [7] * len(rows))
        tx.commit()
    store.close()
    other = sqlite3.connect(path)
    found = other.execute(f"SELECT * FROM {view_name(EVERYTHING)} ORDER BY id").fetchall()
    other.close()
    assert len(found) == len(rows)
    for row, read in zip(rows, found, strict=True):
        assert read[-2:] == (1, 7)
        expected = [shown(kind, cell) for kind, cell in without_lists(row)]
        assert [cell for _, cell in without_lists(read[:-2])] == expected


@pytest.mark.parametrize(
    ("kind", "cell", "text"),
    [
        (types.Decimal(38, 4), 0, "0.0000"),
        (types.Decimal(38, 4), -1, "-0.0001"),
        (types.Decimal(38, 0), 10**38 - 1, "9" * 38),
        (types.Decimal(38, 38), -(10**38 - 1), "-0." + "9" * 38),
        (types.Decimal(5, 2), 12_345, "123.45"),
        (types.Money("EUR"), -120, "-1.20"),
        (types.TIMESTAMP, -1, "1969-12-31T23:59:59.999999Z"),
        (types.TIMESTAMP, -62_135_596_800_000_000, "0001-01-01T00:00:00.000000Z"),
        (types.TIMESTAMP, 253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        (types.DATE, -719_162, "0001-01-01"),
        (types.DATE, 2_932_896, "9999-12-31"),
    ],
)
def test_single_values(tmp_path, kind, cell, text):
    table = EVERYTHING._replace(
        columns=(EVERYTHING.columns[0], EVERYTHING.columns[1]._replace(name="hex", type=kind)), indexes=()
    )
    store = open_database(str(tmp_path / "work.db"))
    with store.write() as tx:
        tx.create_table(table)
        tx.write_rows(table, [created(table, (1, cell))], [1])
        tx.commit()
    store.close()
    other = sqlite3.connect(tmp_path / "work.db")
    assert other.execute(f"SELECT hex FROM {view_name(table)}").fetchall() == [(text,)]
    other.close()
