"""What a store promises about transactions: all or nothing, snapshots, one writer at a time."""

from __future__ import annotations

from tests.support.tables import JOB, created, entry, identity, job, job_key
from treadle.model.facts import Row
from treadle.ports.store import Head


def test_a_new_database_is_empty(store):
    with store.read() as tx:
        assert tx.head() == Head(0, 0, bytes(32))
        assert tx.setting("x") is None
        assert tx.settings("") == {}
        assert tx.receipts([identity(1)]) == [None]
        assert list(tx.log(0, 100)) == []
        assert list(tx.quads()) == []
        assert tx.graphs() == []


def test_what_is_committed_is_read(store):
    with store.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(1))], [1])
        tx.append_log([entry(1)])
        tx.write_receipts([(identity(1), 1)])
        tx.commit()
    with store.read() as tx:
        assert tx.head() == entry(1)[:3]
        assert tx.rows(JOB, [job_key(1), job_key(2)]) == [Row(1, job(1), 1), None]
        assert tx.receipts([identity(2), identity(1)]) == [None, 1]
        assert list(tx.log(1, 1)) == [entry(1)]
