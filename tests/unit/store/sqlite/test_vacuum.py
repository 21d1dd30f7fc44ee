"""Vacuum: the file gives back what was removed, whole or not at all, beside readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tables import entry
from treadle.errors import Busy, Closed, StoreError
from treadle.store.memory import MemoryStore
from treadle.store.sqlite import SqliteStore, open_database


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A database whose first 2,000 records are gone."""
    made = open_database(str(tmp_path / "some.db"))
    with made.write() as tx:
        tx.append_log([entry(number, b"%d" % number * 200) for number in range(1, 2_101)])
        tx.commit()
    made.checkpoint()
    with made.write() as tx:
        tx.drop_log(2_000, 9_999)
        tx.commit()
    yield made
    made.close()


def test_the_file_gets_smaller_and_keeps_what_it_holds(store: SqliteStore) -> None:
    before, after = store.vacuum()
    assert after == Path(store.path).stat().st_size < before / 4
    with store.read() as tx:
        assert [one.number for one in tx.log(1, 9_999)] == list(range(2_001, 2_101))
        assert tx.integrity() == []
    with store.write() as tx:
        tx.append_log([entry(2_101)])
        tx.commit()
    assert store.vacuum()[1] <= after + 8_192


def test_an_open_snapshot_goes_on_and_the_file_shrinks_after_it(store: SqliteStore) -> None:
    with store.read() as tx:
        store.vacuum()
        assert sum(1 for _ in tx.log(1, 9_999)) == 100
    before, after = store.vacuum()
    assert after < before / 4


def test_a_writer_is_waited_for(store: SqliteStore, tmp_path: Path) -> None:
    other = open_database(str(tmp_path / "some.db"))
    with other.write(), pytest.raises(Busy):
        store.vacuum(timeout=0.05)
    other.close()
    assert store.vacuum(timeout=5)[0]


def test_where_it_cannot_be(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="file"):
        MemoryStore().vacuum()
    store.close()
    with pytest.raises(Closed):
        store.vacuum()
