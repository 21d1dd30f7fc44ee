"""The log record: its defaults, its place in the log, what damaged bytes give."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tests.golden.formats.test_record import RECORDS, of
from treadle.errors import DatabaseCorrupt, InvariantBroken
from treadle.model import canonical, record
from treadle.model.facts import RevisionFact
from treadle.model.record import LogRecord

LEAST = LogRecord(1, 0, record.GENESIS, "update", "", "ann", "owner")


def test_the_least_record() -> None:
    data = record.encode(LEAST)
    assert record.decode(data) == LEAST
    assert canonical.decode(data) == {
        "number": 1,
        "time": canonical.decode(b"\x05" + bytes(8)),
        "previous": bytes(32),
        "kind": "update",
        "name": "",
        "by": "ann",
        "actor": "owner",
    }


def test_a_record_is_readable_without_the_contract() -> None:
    shown: Any = canonical.decode(bytes.fromhex(RECORDS[1]["hex"]))
    assert shown["changes"][0]["image"]["state"] == "Waiting"
    assert shown["input"]["seconds"] == 60


def test_a_record_finds_its_place_last() -> None:
    placed = of(RECORDS[1]).at(7, 8, bytes(range(32)))
    assert placed == of(RECORDS[1])._replace(number=7, time=8, previous=bytes(range(32)))
    assert type(placed) is LogRecord


def test_lists_may_be_given_where_tuples_are_meant() -> None:
    lists: dict[str, Any] = {"revisions": [RevisionFact("job", None, 2)], "changes": [], "policy_set": []}
    assert record.encode(LEAST._replace(**lists)) == record.encode(
        LEAST._replace(revisions=(RevisionFact("job", None, 2),))
    )


@pytest.mark.parametrize("at", range(len(RECORDS)))
def test_every_shorter_and_longer_text_is_refused(at: int) -> None:
    data = bytes.fromhex(RECORDS[at]["hex"])
    for end in range(len(data)):
        with pytest.raises(DatabaseCorrupt):
            record.decode(data[:end])
    with pytest.raises(DatabaseCorrupt):
        record.decode(data + b"\0")


@pytest.mark.parametrize("at", range(len(RECORDS)))
def test_a_changed_byte_is_refused_or_seen(at: int) -> None:
    data = bytes.fromhex(RECORDS[at]["hex"])
    for place in range(len(data)):
        changed = data[:place] + bytes((data[place] ^ 0x55,)) + data[place + 1 :]
        try:
            found = record.decode(changed)
        except DatabaseCorrupt:
            continue
        assert record.encode(found) == changed
        assert found != of(RECORDS[at])


def test_another_value_is_not_a_record() -> None:
    values: tuple[Any, ...] = ({}, [], 5, {"number": 1})
    for value in values:
        with pytest.raises(DatabaseCorrupt):
            record.decode(canonical.encode(value))


@pytest.mark.parametrize("name", ["previous", "contract", "identity", "input_hash"])
def test_hashes_have_their_length(name: str) -> None:
    short: Any = bytes(31)
    with pytest.raises(InvariantBroken):
        record.encode(LEAST._replace(**{name: short}))


@pytest.mark.parametrize("number", [-1, 2**64])
def test_numbers_have_their_range(number: int) -> None:
    with pytest.raises(struct.error):
        record.encode(LEAST._replace(number=number))


def test_the_receipt_holds_what_the_caller_is_told_and_nothing_else() -> None:
    stored = of(RECORDS[1])
    receipt = record.receipt_bytes(stored)
    assert canonical.decode(receipt) == {
        "commit": 2,
        "fields": canonical.decode(stored.fields or b""),
        "outcome": "Claimed",
        "revisions": [{"binding": "job", "revision": 2}, {"binding": "part", "element": 0, "revision": 7}],
        "success": True,
        "time": canonical.decode(b"\x05" + struct.pack(">q", stored.time)),
    }
    told = ("number", "time", "constraint", "failure", "fields", "outcome", "revisions", "success")
    others: dict[str, Any] = dict.fromkeys(set(LogRecord._fields) - set(told))
    assert record.receipt_bytes(stored._replace(**others)) == receipt
