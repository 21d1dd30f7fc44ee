"""The log, receipts, events, settings, statements and graphs."""

from __future__ import annotations

import pytest

from tests.support.tables import entry, identity
from treadle.errors import InvariantBroken
from treadle.ports.store import Head, StoredEvent


@pytest.fixture
def tx(store):
    with store.write() as made:
        yield made


def test_the_log_has_no_gap(tx):
    tx.append_log([entry(1), entry(2)])
    for wrong in (entry(2), entry(4)):
        with pytest.raises(InvariantBroken):
            tx.append_log([wrong])
    with pytest.raises(InvariantBroken):
        tx.append_log([entry(3), entry(5)])
    assert tx.head() == Head(*entry(2)[:3])


def test_the_log_is_read_by_ranges(tx):
    tx.append_log([entry(number, b"%d" % number * 3000) for number in range(1, 8)])
    assert [record.number for record in tx.log(3, 5)] == [3, 4, 5]
    assert list(tx.log(6, 99)) == [entry(6, b"6" * 3000), entry(7, b"7" * 3000)]
    assert list(tx.log(5, 4)) == []


def test_the_log_is_dropped_from_its_beginning_on(tx):
    tx.append_log([entry(number) for number in range(1, 8)])
    assert tx.drop_log(5, 3) == 3 and [one.number for one in tx.log(1, 9)] == [4, 5, 6, 7]
    assert tx.drop_log(5, 3) == 2 and tx.drop_log(5, 3) == 0
    assert [one.number for one in tx.log(1, 9)] == [6, 7] and tx.head().number == 7


def test_a_receipt_is_bound_once_and_may_be_pruned(tx):
    tx.write_receipts([(identity(2), 1), (identity(1), 2)])
    assert tx.receipts([identity(1), identity(3), identity(2), identity(1)]) == [2, None, 1, 2]
    with pytest.raises(InvariantBroken):
        tx.write_receipts([(identity(1), 3)])
    assert tx.count_receipts() == (2, 0)
    tx.write_receipts([(identity(1), -2)])
    assert tx.receipts([identity(1), identity(2)]) == [-2, 1]
    assert tx.count_receipts() == (1, 1)


def test_stubs_are_dropped_from_the_earliest_on(tx):
    assert tx.drop_stubs(9, 5) == (0, 9) and tx.count_receipts() == (0, 0)
    tx.write_receipts([(identity(number), number) for number in range(1, 9)])
    tx.write_receipts([(identity(number), -number) for number in (1, 3, 4, 5, 7)])
    assert (tx.count_stubs(0), tx.count_stubs(5), tx.count_stubs(9)) == (0, 4, 5)
    assert sorted(tx.stubs(4)) == [(identity(number), number) for number in (1, 3, 4)]
    assert tx.drop_stubs(5, 2) == (2, 3)
    assert tx.receipts(list(map(identity, range(1, 9)))) == [None, 2, None, -4, -5, 6, -7, 8]
    assert tx.drop_stubs(5, 2) == (2, 5)
    assert tx.drop_stubs(5, 2) == (0, 5)
    assert tx.receipts(list(map(identity, range(1, 9)))) == [None, 2, None, None, None, 6, -7, 8]
    tx.write_receipts([(identity(1), 9)])
    assert tx.receipts([identity(1)]) == [9]


def event(number: int, ordinal: int, name: str = "Done", partition: bytes = b"a") -> StoredEvent:
    return StoredEvent(number, ordinal, name, partition, b"%d:%d" % (number, ordinal))


def test_events_are_read_in_order_by_name_and_partition(tx):
    made = [event(1, 0), event(1, 1, partition=b"b"), event(1, 2, name="Other"), event(3, 0), event(10, 0)]
    tx.append_events(made)
    assert tx.events("Done", None, (0, 0), 10) == [made[0], made[1], made[3], made[4]]
    assert tx.events("Done", b"a", (0, 0), 10) == [made[0], made[3], made[4]]
    assert tx.events("Done", b"a", (1, 0), 1) == [made[3]]
    assert tx.events("Done", None, (1, 0), 10) == [made[1], made[3], made[4]]
    assert tx.events("Done", b"b", (1, 1), 10) == []
    assert tx.events("Other", None, (0, 0), 10) == [made[2]]
    assert tx.events("None", None, (0, 0), 10) == []


def test_events_before_the_first_commit_are_found(tx):
    first = event(0, 0)
    tx.append_events([first])
    assert tx.events("Done", None, (-1, 0), 10) == [first]


def test_settings_by_name_and_prefix(tx):
    for name, value in (
        ("a", b"1"),
        ("a.b", b"2"),
        ("a.c", b""),
        ("ab", b"4"),
        ("b", b"5"),
        ("a.\uffff", b"6"),
    ):
        tx.put_setting(name, value)
    assert tx.settings("a.") == {"a.b": b"2", "a.c": b"", "a.\uffff": b"6"}
    assert len(tx.settings("")) == 6
    tx.put_setting("a", b"7")
    tx.put_setting("b", None)
    tx.put_setting("never", None)
    assert (tx.setting("a"), tx.setting("a.c"), tx.setting("b")) == (b"7", b"", None)


def quad(number: int, graph: str = "") -> tuple[str, str, str, str]:
    return f"<s{number}>", "<p>", f'"{number}\\u0000"@en', graph


def test_statements_are_a_set(tx):
    tx.write_quads([], [quad(1), quad(1, "<g>"), quad(2)])
    tx.write_quads([], [quad(1)])
    assert sorted(tx.quads()) == sorted([quad(1), quad(1, "<g>"), quad(2)])
    tx.write_quads([quad(1), quad(3)], [quad(4)])
    assert sorted(tx.quads()) == sorted([quad(1, "<g>"), quad(2), quad(4)])
    tx.write_quads([quad(2)], [quad(2)])
    assert quad(2) in set(tx.quads())


def test_graphs_exist_though_empty(tx):
    tx.write_graphs([], ["<b>", "<a>"])
    tx.write_graphs(["<c>"], ["<a>"])
    assert tx.graphs() == ["<a>", "<b>"]
    tx.write_graphs(["<a>"], [])
    assert tx.graphs() == ["<b>"]


def test_a_large_statement(tx):
    long = ("<s>", "<p>", '"' + "x" * 2_000_000 + '"', "")
    tx.write_quads([], [long])
    assert list(tx.quads()) == [long]
    tx.write_quads([long], [])
    assert list(tx.quads()) == []
