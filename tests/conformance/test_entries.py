"""Spaces of ordered entries, and the removal of stored events."""

from __future__ import annotations

import pytest

from treadle.ports.store import StoredEvent

KEYS = sorted(
    [b"", b"\x00", b"a", b"a\x00", b"a\xff", b"a\xff\xff", b"ab", b"b", b"\xff", b"\xff\xff", b"\xff\xff\x00"]
)


@pytest.fixture
def tx(store):
    with store.write() as made:
        made.write_entries("s", [(key, b"<" + key + b">") for key in reversed(KEYS)])
        made.write_entries("s2", [(b"a", b"other")])
        made.write_entries("r", [(b"z", b"before")])
        yield made


@pytest.mark.parametrize("prefix", KEYS)
def test_a_prefix_in_the_order_of_bytes(tx, prefix):
    expected = [(key, b"<" + key + b">") for key in KEYS if key.startswith(prefix)]
    assert tx.entries("s", prefix, None, 100) == expected
    assert tx.entries("s", prefix, None, 2) == expected[:2]
    assert tx.entries("s", prefix, None, 0) == []
    for after in KEYS:
        assert tx.entries("s", prefix, after, 100) == [pair for pair in expected if pair[0] > after]


def test_spaces_are_apart(tx):
    assert tx.entries("s2", b"", None, 10) == [(b"a", b"other")]
    assert tx.entries("t", b"", None, 10) == []
    assert tx.entries_at("s2", [b"a", b"b"]) == [b"other", None]


def test_values_by_key(tx):
    assert tx.entries_at("s", [b"b", b"none", b"", b"b"]) == [b"<b>", None, b"<>", b"<b>"]
    assert tx.entries_at("s", []) == []


def test_writing_replaces_and_removes(tx):
    tx.write_entries(
        "s", [(b"a", b"1"), (b"never", None), (b"b", None), (b"a", b"2"), (b"c", b"3"), (b"c", None)]
    )
    assert tx.entries_at("s", [b"a", b"b", b"c"]) == [b"2", None, None]
    tx.write_entries("s", [])
    assert len(tx.entries("s", b"", None, 100)) == len(KEYS) - 1


def test_what_is_not_committed_is_not_there(store):
    with store.write() as tx:
        tx.write_entries("s", [(b"a", b"1")])
        tx.commit()
    with store.read() as before:
        with store.write() as tx:
            tx.write_entries("s", [(b"a", b"2"), (b"b", b"2")])
            assert tx.entries("s", b"", None, 9) == [(b"a", b"2"), (b"b", b"2")]
        with store.write() as tx:
            assert tx.entries("s", b"", None, 9) == [(b"a", b"1")]
            tx.write_entries("s", [(b"a", None), (b"c", b"")])
            tx.commit()
        assert before.entries("s", b"", None, 9) == [(b"a", b"1")]
        assert before.entries_at("s", [b"a", b"c"]) == [b"1", None]
    with store.read() as after:
        assert after.entries("s", b"", None, 9) == [(b"c", b"")]


def test_large_values_and_many(store):
    with store.write() as tx:
        tx.write_entries("s", [(number.to_bytes(4, "big"), b"x" * 1000) for number in range(2000)])
        tx.write_entries("s", [(b"big", b"y" * 1_000_000)])
        tx.commit()
    with store.read() as snapshot:
        page = snapshot.entries("s", b"\x00", (1500).to_bytes(4, "big"), 100)
        assert [int.from_bytes(key, "big") for key, _ in page] == list(range(1501, 1601))
        assert snapshot.entries_at("s", [b"big"]) == [b"y" * 1_000_000]


def test_removed_events_are_gone_from_every_reading(store):
    made = [StoredEvent(number, 0, "Done", b"p%d" % (number % 2), b"%d" % number) for number in range(1, 7)]
    with store.write() as tx:
        tx.append_events(made)
        tx.append_events([StoredEvent(1, 1, "Other", b"p1", b"")])
        tx.remove_events([made[0], made[3]])
        tx.remove_events([])
        tx.commit()
    with store.read() as snapshot:
        left = [made[1], made[2], made[4], made[5]]
        assert snapshot.events("Done", None, (0, 0), 10) == left
        assert snapshot.events("Done", b"p0", (0, 0), 10) == [
            event for event in left if event.partition == b"p0"
        ]
        assert len(snapshot.events("Other", None, (0, 0), 10)) == 1
