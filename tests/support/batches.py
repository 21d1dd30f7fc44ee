"""A workload for stores: numbered batches that touch every kind of table, and what may be left of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tests.support.tables import JOB, created, identity, job, job_key
from treadle.errors import OutcomeUnknown, TreadleError
from treadle.model import types
from treadle.model.facts import Row
from treadle.ports.store import Column, LogEntry, ReadTx, Store, StoredEvent, Table, WriteTx
from treadle.store.sqlite import checkpoint, open_database

Answer: TypeAlias = Literal["acknowledged", "nothing happened", "unknown"]

WIDER = JOB._replace(columns=(*JOB.columns, Column("extra", "extra", types.Optional(types.String(9)))))


@dataclass
class Answers:
    """What a caller was told about each batch, and about the steps of the schema."""

    of: dict[int, Answer] = field(default_factory=dict)

    def hear(self, number: int, error: TreadleError | None) -> None:
        if error is None:
            self.of[number] = "acknowledged"
        else:
            self.of[number] = "unknown" if isinstance(error, OutcomeUnknown) else "nothing happened"


def create_tables(store: Store) -> None:
    """Deploy the jobs' table, unless it is there."""
    with store.write() as tx:
        if tx.setting("table") is None:
            tx.create_table(JOB)
            tx.put_setting("table", b"1")
            tx.commit()


def alter_tables(store: Store) -> None:
    """Append a column, unless it is there."""
    with store.write() as tx:
        if tx.setting("table") == b"1":
            tx.alter_table(JOB, WIDER)
            tx.put_setting("table", b"2")
            tx.commit()


def current_table(tx: ReadTx) -> Table | None:
    """The jobs' table as it is deployed."""
    return {None: None, b"1": JOB, b"2": WIDER}[tx.setting("table")]


def write_batch(store: Store, number: int, rows: int = 3) -> None:
    """One commit: `rows` jobs, a log record, a receipt, an event, a unique entry, a statement, a graph."""
    with store.write() as tx:
        if tx.receipts([identity(number)]) != [None]:
            return  # a repeat: what was committed is the answer
        _fill(tx, number, rows)
        tx.commit()


def _fill(tx: WriteTx, number: int, rows: int) -> None:
    table = current_table(tx)
    assert table is not None
    record = tx.head().number + 1
    cells = [_cells(table, number, row) for row in range(rows)]
    tx.write_rows(table, [created(table, row) for row in cells], [record] * rows)
    tx.write_uniques([], [((("Job", "title", (f"batch {number}",)), job_key(number)))])
    tx.append_log([LogEntry(record, record, bytes(32), f"batch {number}".encode() * 50)])
    tx.write_receipts([(identity(number), record)])
    tx.append_events([StoredEvent(record, 0, "Made", b"p", b"%d" % number)])
    tx.write_quads([], [(f"<s{number}>", "<p>", '"o"', "")])
    tx.write_graphs([], [f"<g{number}>"])


def _cells(table: Table, number: int, row: int) -> tuple[object, ...]:
    cells = job(number * 1000 + row, title="t" * 100)
    return cells + (None,) * (len(table.columns) - len(cells))


def run_batches(store: Store, numbers: Sequence[int], answers: Answers) -> None:
    """Write batches, one after another, whatever happens to each, and note what the caller was told."""
    for number in numbers:
        try:
            write_batch(store, number)
        except TreadleError as error:
            answers.hear(number, error)
        else:
            answers.hear(number, None)


def check_batches(store: Store, answers: Answers, rows: int = 3) -> None:
    """Acknowledged batches are there once, others absent or whole, and what was denied is absent."""
    with store.read() as tx:
        table = current_table(tx)
        head = tx.head().number
        entries = list(tx.log(1, head + 10))
        assert [entry.number for entry in entries] == list(range(1, head + 1)), "the log has no gap"
        seen = [entry.data[: len(entry.data) // 50].decode() for entry in entries]
        assert len(set(seen)) == len(seen), "no batch is there twice"
        for number, answer in answers.of.items():
            present = f"batch {number}" in seen
            if answer != "unknown":
                assert present == (answer == "acknowledged"), f"batch {number}: {answer}, present: {present}"
            _check_whole(tx, table, number, seen.index(f"batch {number}") + 1 if present else None, rows)


def _check_whole(tx: ReadTx, table: Table | None, number: int, record: int | None, rows: int) -> None:
    """All tables agree on whether a batch is there."""
    assert tx.receipts([identity(number)]) == [record]
    if table is not None:
        cells = [_cells(table, number, row) for row in range(rows)]
        expected = [None if record is None else Row(1, row, record) for row in cells]
        assert tx.rows(table, [row[:2] for row in cells]) == expected
    holder = tx.holders([("Job", "title", (f"batch {number}",))])
    assert holder == [None if record is None else job_key(number)]
    events = [event.number for event in tx.events("Made", b"p", (0, 0), 1000) if event.data == b"%d" % number]
    assert events == ([] if record is None else [record])
    assert ((f"<s{number}>", "<p>", '"o"', "") in set(tx.quads())) == (record is not None)
    assert (f"<g{number}>" in tx.graphs()) == (record is not None)


def write_for_ever(path: str, acknowledged: Any, first: int) -> None:
    """In a process of its own: write batches until killed, and send the number of each that is durable."""
    checkpoint.PAGES = 40  # type: ignore[misc] # the checkpoints are to be met by the kill as well
    store = open_database(path)
    acknowledged.send("ready")
    for number in itertools.count(first):
        write_batch(store, number)
        acknowledged.send(number)
