"""Random log records come back, and each field makes a difference."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.values_of import texts
from treadle.errors import DatabaseCorrupt
from treadle.model import canonical, record
from treadle.model.facts import RevisionFact
from treadle.model.record import EventImage, LogRecord, RowImage

u64 = st.integers(0, 2**64 - 1)
label = texts(12)
pieces = st.lists(st.integers(0, 9), max_size=2).map(canonical.encode)
hashes = st.binary(min_size=32, max_size=32)
quads = st.lists(st.tuples(label, label, label, label), max_size=2).map(tuple)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def listed(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=2).map(tuple)


records = st.builds(
    LogRecord,
    number=u64,
    time=st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    previous=hashes,
    kind=label,
    name=label,
    principal=label,
    actor_kind=label,
    request=maybe(st.binary(min_size=16, max_size=16)),
    role=maybe(label),
    actor_instance=maybe(label),
    tenant=maybe(pieces),
    policy_set=listed(label),
    facts=maybe(pieces),
    services=maybe(pieces),
    manual_clock=st.booleans(),
    contract=maybe(hashes),
    contract_version=maybe(u64),
    semantics=maybe(u64),
    identity=maybe(hashes),
    input_hash=maybe(hashes),
    input=maybe(pieces),
    outcome=maybe(label),
    fields=maybe(pieces),
    success=st.booleans(),
    failure=maybe(label),
    constraint=maybe(label),
    revisions=listed(st.builds(RevisionFact, label, maybe(u64), u64)),
    changes=listed(st.builds(RowImage, label, pieces, u64, u64, maybe(pieces))),
    events=listed(st.builds(EventImage, label, pieces, pieces)),
    quads_removed=quads,
    quads_added=quads,
    graphs_created=listed(label),
    graphs_dropped=listed(label),
    body=maybe(pieces),
)


@given(records)
def test_a_record_comes_back(stored: LogRecord) -> None:
    data = record.encode(stored)
    assert record.decode(data) == stored
    assert canonical.render(canonical.parse(data)) == data
    canonical.decode(record.receipt_bytes(stored))


@given(records, records)
def test_equal_bytes_are_equal_records(one: LogRecord, other: LogRecord) -> None:
    for at, name in enumerate(LogRecord._fields):
        value: Any = other[at]
        mixed = one._replace(**{name: value})
        assert (record.encode(mixed) == record.encode(one)) == (mixed == one)


@given(records, st.data())
def test_damaged_records_are_refused_or_others(stored: LogRecord, data: st.DataObject) -> None:
    written = bytearray(record.encode(stored))
    at = data.draw(st.integers(0, len(written) - 1))
    written[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        found = record.decode(bytes(written))
    except DatabaseCorrupt:
        return
    assert record.encode(found) == bytes(written)
