"""Rows, indexes, tombstones, unique entries, and tables that grow."""

from __future__ import annotations

import pytest

from tests.support.tables import JOB, SHOP, changed, created, deleted, job, job_key
from treadle.errors import InvariantBroken
from treadle.model import types
from treadle.model.facts import Range, Row
from treadle.ports.store import Column, IndexSpec

PRINTER = b"p" * 16


@pytest.fixture
def tx(store):
    """A write transaction in which the jobs' table is there."""
    with store.write() as made:
        made.create_table(JOB)
        yield made


def add(tx, *rows) -> None:
    tx.write_rows(JOB, [created(JOB, row) for row in rows], [1] * len(rows))


def test_rows_come_in_the_order_of_the_keys_asked_for(tx):
    add(tx, *(job(number) for number in range(5)))
    keys = [job_key(number) for number in (3, 9, 0, 3)]
    assert tx.rows(JOB, keys) == [Row(1, job(3), 1), None, Row(1, job(0), 1), Row(1, job(3), 1)]
    assert tx.rows(JOB, []) == []


def test_one_batch_inserts_updates_and_deletes(tx):
    add(tx, job(1), job(2), job(3))
    rows = tx.rows(JOB, [job_key(number) for number in (1, 2, 3)])
    tx.write_rows(
        JOB,
        [
            changed(JOB, rows[0], job(1, state="Printing", printer=PRINTER, fence=2**64 - 1)),
            deleted(JOB, rows[1]),
            created(JOB, job(4)),
            changed(JOB, rows[2], job(3)),
        ],
        [7, 8, 9, 10],
    )
    assert tx.scan(JOB, None, 10) == [
        Row(2, job(1, state="Printing", printer=PRINTER, fence=2**64 - 1), 7),
        Row(2, job(3), 10),
        Row(1, job(4), 9),
    ]


@pytest.mark.parametrize("wrong", ["insert", "update", "delete"])
def test_a_change_that_does_not_fit_what_is_stored_is_refused(tx, wrong):
    add(tx, job(1))
    change = {
        "insert": created(JOB, job(1)),
        "update": changed(JOB, Row(1, job(2), 1), job(2, title="other")),
        "delete": deleted(JOB, Row(1, job(2), 1)),
    }[wrong]
    with pytest.raises(InvariantBroken):
        tx.write_rows(JOB, [change], [2])


def test_scan_goes_page_by_page(tx):
    add(tx, *(job(number) for number in range(7)))
    pages, after = [], None
    while page := tx.scan(JOB, after, 3):
        pages.append([row.cells for row in page])
        after = page[-1].cells[:2]
    assert pages == [
        [job(number) for number in range(3)],
        [job(number) for number in range(3, 6)],
        [job(6)],
    ]
    assert tx.scan(JOB, None, 0) == []


def test_probe_gives_the_keys_under_a_prefix(tx):
    add(tx, *(job(number, state=("Waiting", "Done")[number % 2]) for number in range(6)))
    add(tx, job(9, shop_id=b"t" * 16))
    assert tx.probe(JOB, Range("Job", "by_state", (SHOP, "Waiting"), 10)) == [job_key(n) for n in (0, 2, 4)]
    assert tx.probe(JOB, Range("Job", "by_state", (SHOP, "Waiting"), 2)) == [job_key(0), job_key(2)]
    assert tx.probe(JOB, Range("Job", "by_state", (SHOP,), 10)) == [job_key(n) for n in (1, 3, 5, 0, 2, 4)]
    assert tx.probe(JOB, Range("Job", "by_state", (SHOP, "Failed"), 10)) == []
    assert len(tx.probe(JOB, Range("Job", "by_state", (), 10))) == 7


def test_an_index_follows_its_rows(tx):
    add(tx, job(1), job(2))
    printed = Range("Job", "by_printer", (SHOP, PRINTER), 10)
    assert tx.probe(JOB, printed) == []
    rows = tx.rows(JOB, [job_key(1), job_key(2)])
    tx.write_rows(JOB, [changed(JOB, row, job(n + 1, printer=PRINTER)) for n, row in enumerate(rows)], [2, 2])
    assert tx.probe(JOB, printed) == [job_key(1), job_key(2)]
    rows = tx.rows(JOB, [job_key(1), job_key(2)])
    tx.write_rows(JOB, [changed(JOB, rows[0], job(1)), deleted(JOB, rows[1])], [3, 3])
    assert tx.probe(JOB, printed) == []


def test_a_deleted_row_leaves_its_last_revision(tx):
    add(tx, job(1))
    row = tx.rows(JOB, [job_key(1)])[0]
    assert tx.last_revisions(JOB, [job_key(1)]) == [0]
    tx.write_rows(JOB, [deleted(JOB, row._replace(revision=5))], [2])
    assert tx.last_revisions(JOB, [job_key(2), job_key(1)]) == [0, 5]
    tx.write_rows(JOB, [created(JOB, job(1), revision=6)], [3])
    assert tx.last_revisions(JOB, [job_key(1)]) == [0]
    assert tx.rows(JOB, [job_key(1)]) == [Row(6, job(1), 3)]


def test_a_row_created_and_deleted_in_one_batch_leaves_its_revision_only(tx):
    gone = deleted(JOB, Row(3, job(1), 1))._replace(before=None)
    tx.write_rows(JOB, [gone], [1])
    assert tx.rows(JOB, [job_key(1)]) == [None]
    assert tx.last_revisions(JOB, [job_key(1)]) == [3]
    tx.write_rows(JOB, [gone._replace(revision=8)], [1])
    assert tx.last_revisions(JOB, [job_key(1)]) == [8]


def test_unique_entries_are_released_before_any_is_taken(tx):
    first, second = ("Job", "title", ("a", None, 1)), ("Job", "title", ("b", b"\0", 2**64 - 1))
    tx.write_uniques([], [(first, job_key(1)), (second, job_key(2))])
    assert tx.holders([second, first, ("Job", "other", ("a", None, 1))]) == [job_key(2), job_key(1), None]
    tx.write_uniques([first, second], [(first, job_key(2)), (second, job_key(1))])
    assert tx.holders([first, second]) == [job_key(2), job_key(1)]
    with pytest.raises(InvariantBroken):
        tx.write_uniques([], [(first, job_key(3))])


WIDER = JOB._replace(
    columns=(*JOB.columns, Column("extra", "extra", types.Optional(types.U64_))),
    indexes=(*JOB.indexes, IndexSpec("by_extra", (0, 10), (10,))),
)


def test_a_table_grows_by_optional_columns_and_indexes(store):
    with store.write() as tx:
        tx.create_table(JOB)
        add(tx, job(1), job(2))
        tx.write_rows(JOB, [deleted(JOB, Row(1, job(2), 1))], [2])
        tx.commit()
    with store.read() as before, store.write() as tx:
        tx.alter_table(JOB, WIDER)
        row = tx.rows(WIDER, [job_key(1)])[0]
        assert row == Row(1, (*job(1), None), 1)
        assert tx.last_revisions(WIDER, [job_key(2)]) == [1]
        tx.write_rows(WIDER, [changed(WIDER, row, (*job(1), 2**63)), created(WIDER, (*job(3), 4))], [3, 3])
        tx.commit()
        assert before.rows(JOB, [job_key(1)]) == [Row(1, job(1), 1)]
    with store.read() as tx:
        assert tx.probe(WIDER, Range("Job", "by_extra", (SHOP,), 9)) == [job_key(3), job_key(1)]
        assert tx.probe(WIDER, Range("Job", "by_state", (SHOP, "Waiting"), 9)) == [job_key(1), job_key(3)]
        assert [row.cells[-1] for row in tx.scan(WIDER, None, 9)] == [2**63, 4]


@pytest.mark.parametrize(
    "after",
    [
        JOB._replace(columns=JOB.columns[:-1]),
        JOB._replace(columns=(*JOB.columns, Column("extra", "extra", types.U64_))),
        JOB._replace(columns=(Column("other", "other", types.UUID), *JOB.columns[1:])),
        JOB._replace(key_count=1),
        JOB._replace(columns=(JOB.columns[1], JOB.columns[0], *JOB.columns[2:])),
        JOB._replace(tombstones=False),
        JOB._replace(indexes=(IndexSpec("by_state", (0, 2)), JOB.indexes[1])),
        JOB._replace(prefix="Job.2"),
    ],
)
def test_a_table_grows_in_no_other_way(tx, after):
    with pytest.raises(InvariantBroken):
        tx.alter_table(JOB, after)


def test_a_column_may_be_added_anywhere_and_columns_change_places(store):
    moved = WIDER._replace(
        columns=(*JOB.columns[:2], WIDER.columns[10], *reversed(JOB.columns[2:])),
        indexes=(
            IndexSpec("by_state", (0, 10, 1)),
            IndexSpec("by_printer", (0, 6), (6,)),
            IndexSpec("new", (9,)),
        ),
    )
    with store.write() as tx:
        tx.create_table(JOB)
        add(tx, job(1, printer=PRINTER), job(2))
        tx.commit()
    with store.write() as tx:
        tx.alter_table(JOB, moved)
        row = tx.rows(moved, [job_key(1)])[0]
        assert row.cells == (*job_key(1), None, *reversed(job(1, printer=PRINTER)[2:]))
        cells = (*job_key(3), 7, *reversed(job(3, state="Done")[2:]))
        tx.write_rows(moved, [created(moved, cells), changed(moved, row, (*row.cells[:-1], "Done"))], [2, 2])
        assert tx.probe(moved, Range("Job", "by_state", (SHOP, "Done"), 9)) == [job_key(1), job_key(3)]
        assert tx.probe(moved, Range("Job", "by_printer", (SHOP, PRINTER), 9)) == [job_key(1)]
        assert tx.probe(moved, Range("Job", "new", ("job 3",), 9)) == [job_key(3)]
        tx.commit()
    with store.read() as tx:
        assert tx.scan(moved, job_key(2), 9) == [Row(1, cells, 2)]


def test_a_table_loses_indexes(store):
    narrower = JOB._replace(indexes=JOB.indexes[1:])
    with store.write() as tx:
        tx.create_table(JOB)
        add(tx, job(1, printer=PRINTER))
        tx.alter_table(JOB, narrower)
        tx.commit()
    with store.write() as tx:
        row = tx.rows(narrower, [job_key(1)])[0]
        tx.write_rows(
            narrower, [changed(narrower, row, job(1)), created(narrower, job(2, printer=PRINTER))], [2, 2]
        )
        assert tx.probe(narrower, Range("Job", "by_printer", (SHOP, PRINTER), 9)) == [job_key(2)]
        tx.alter_table(narrower, JOB)
        assert tx.probe(JOB, Range("Job", "by_state", (SHOP, "Waiting"), 9)) == [job_key(1), job_key(2)]


PLAIN = Column("priority", "priority", types.U64_)
BETTER = JOB._replace(
    columns=(*JOB.columns, PLAIN),
    indexes=(IndexSpec("by_state", (0, 10, 2)), IndexSpec("by_title", (3,))),
    prefix="Job.2",
)
"""The jobs with a required column, an index that is gone and one that means something else."""

BUILT = BETTER._replace(
    name="treadle_build_1", tombstones=False, indexes=(*BETTER.indexes, IndexSpec("only_then", (2,)))
)


def build(tx, numbers) -> None:
    tx.create_table(BUILT, hidden=True)
    tx.write_rows(
        BUILT, [created(BUILT, (*job(number), number), 7) for number in numbers], [5] * len(numbers)
    )


def test_a_table_built_beside_another_takes_its_place(store):
    with store.write() as tx:
        tx.create_table(JOB)
        add(tx, job(1), job(2))
        tx.write_rows(JOB, [deleted(JOB, Row(4, job(2), 1))], [2])
        build(tx, (3, 1))
        tx.commit()
    with store.write() as tx:
        assert tx.probe(BUILT, Range("Job", "only_then", ("Waiting",), 9)) == [job_key(1), job_key(3)]
        tx.write_rows(BUILT, [deleted(BUILT, tx.rows(BUILT, [job_key(3)])[0])], [6])
        tx.write_rows(BUILT, [created(BUILT, (*job(4), 2**64 - 1), 1)], [6])
        tx.commit()
    with store.read() as before, store.write() as tx:
        assert [row.cells for row in before.scan(JOB, None, 9)] == [job(1)]
        tx.replace_table(JOB, BUILT, BETTER)
        assert tx.scan(BETTER, None, 9) == [Row(7, (*job(1), 1), 5), Row(1, (*job(4), 2**64 - 1), 6)]
        tx.commit()
        assert before.rows(JOB, [job_key(1)]) == [Row(1, job(1), 1)]
    with store.write() as tx:
        assert tx.probe(BETTER, Range("Job", "by_state", (SHOP, 2**64 - 1), 9)) == [job_key(4)]
        assert tx.probe(BETTER, Range("Job", "by_title", ("job 1",), 9)) == [job_key(1)]
        assert tx.last_revisions(BETTER, [job_key(2), job_key(3)]) == [4, 0]
        tx.write_rows(BETTER, [deleted(BETTER, tx.rows(BETTER, [job_key(1)])[0])], [7])
        assert tx.last_revisions(BETTER, [job_key(1)]) == [7]
        add_again = BETTER._replace(prefix="Job.3"), BUILT._replace(prefix="Job.3")
        tx.create_table(add_again[1], hidden=True)
        tx.replace_table(BETTER, add_again[1], add_again[0])
        assert tx.scan(add_again[0], None, 9) == []
        tx.commit()


def test_what_is_taken_back_leaves_the_table_in_its_place(store):
    with store.write() as tx:
        tx.create_table(JOB)
        add(tx, job(1))
        build(tx, (1,))
        tx.commit()
    with store.write() as tx:
        tx.replace_table(JOB, BUILT, BETTER)
    with store.write() as tx:
        assert tx.rows(JOB, [job_key(1)]) == [Row(1, job(1), 1)]
        assert tx.rows(BUILT, [job_key(1)]) == [Row(7, (*job(1), 1), 5)]
        tx.drop_table(BUILT)
        tx.commit()
    with store.write() as tx:
        build(tx, (2,))
        assert [row.cells for row in tx.scan(BUILT, None, 9)] == [(*job(2), 2)]


@pytest.mark.parametrize(
    ("built", "after"),
    [
        (BUILT, BETTER._replace(columns=JOB.columns)),
        (BUILT, BETTER._replace(prefix="")),
        (BUILT, BETTER._replace(indexes=(IndexSpec("other", (3,)),))),
        (BUILT, BETTER._replace(name="Other")),
        (BUILT, BETTER._replace(tombstones=False)),
        (BUILT._replace(prefix=""), BETTER._replace(prefix="")),
    ],
)
def test_what_was_not_built_for_a_table_takes_no_place(tx, built, after):
    tx.create_table(built, hidden=True)
    with pytest.raises(InvariantBroken):
        tx.replace_table(JOB, built, after)


def test_a_dropped_table_is_gone_but_for_its_tombstones(store):
    with store.write() as tx:
        tx.create_table(JOB)
        add(tx, job(1), job(2))
        tx.write_rows(JOB, [deleted(JOB, Row(4, job(2), 1))], [2])
        tx.commit()
    with store.read() as before, store.write() as tx:
        tx.drop_table(JOB)
        tx.commit()
        assert len(before.scan(JOB, None, 9)) == 1
    with store.read() as tx, pytest.raises(InvariantBroken):
        tx.rows(JOB, [job_key(1)])
    with store.write() as tx, pytest.raises(InvariantBroken):
        tx.drop_table(JOB)
    with store.write() as tx:
        tx.create_table(JOB)
        assert tx.scan(JOB, None, 9) == []
        assert tx.last_revisions(JOB, [job_key(1), job_key(2)]) == [0, 4]


def test_unique_entries_are_cleared_a_few_at_a_time(tx):
    names = ("a", "title", "title2")
    taken = [(("Job", name, (number,)), job_key(number)) for name in names for number in range(5)]
    tx.write_uniques([], [*taken, (("Jo", "title", (1,)), job_key(1)), (("Job2", "title", (1,)), job_key(1))])
    assert [tx.drop_uniques("Job", "title", 2) for _ in range(4)] == [2, 2, 1, 0]
    assert tx.holders([("Job", "title", (number,)) for number in range(5)]) == [None] * 5
    left = [("Job", "a", (4,)), ("Job", "title2", (0,)), ("Jo", "title", (1,)), ("Job2", "title", (1,))]
    assert None not in tx.holders(left)
    assert tx.drop_uniques("Job", "nothing", 9) == 0


def test_names_of_indexes_that_differ_in_case(store):
    names = ("by_it", "By_it", "BY_IT", "by_iT")
    specs = tuple(IndexSpec(name, (0, place)) for place, name in enumerate(names, 2))
    table = JOB._replace(indexes=specs)
    with store.write() as tx:
        tx.create_table(table)
        tx.write_rows(table, [created(table, job(1, note="n"))], [1])
        for name, cell in zip(names, job(1, note="n")[2:6], strict=True):
            assert tx.probe(table, Range("Job", name, (SHOP, cell), 9)) == [job_key(1)]
            assert tx.probe(table, Range("Job", name, (SHOP, "other" if name != "BY_IT" else 9), 9)) == []
        tx.alter_table(table, table._replace(indexes=(specs[1],)))
        assert tx.probe(table._replace(indexes=(specs[1],)), Range("Job", "By_it", (SHOP,), 9)) == [
            job_key(1)
        ]


def test_a_table_is_created_once(tx):
    with pytest.raises(InvariantBroken):
        tx.create_table(JOB)


def test_a_table_that_was_never_created_is_refused(store):
    with store.read() as tx, pytest.raises(InvariantBroken):
        tx.rows(JOB, [job_key(1)])


@pytest.mark.parametrize("name", ['we"ird', "select", "Ünï", "a b", "i", "d", "l0", "treadle_n"])
def test_any_name_will_do(store, name):
    table = JOB._replace(
        name=name,
        columns=tuple(
            column._replace(name=f"{name}{place or ''}") for place, column in enumerate(JOB.columns)
        ),
        indexes=tuple(spec._replace(name=f"{name}{place}") for place, spec in enumerate(JOB.indexes)),
    )
    with store.write() as tx:
        tx.create_table(table)
        tx.write_rows(table, [created(table, job(1))], [1])
        assert tx.probe(table, Range("Job", f"{name}0", (SHOP, "Waiting"), 9)) == [job_key(1)]
        tx.commit()
