"""Random bytes and items: one spelling for each value, and no bytes that are read and not written."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.golden.formats import reference
from tests.properties.values_of import texts
from treadle.errors import DatabaseCorrupt
from treadle.model import canonical, packing

names = texts(12).filter(bool)
notations: st.SearchStrategy[list[Any]] = st.recursive(
    st.one_of(
        st.sampled_from([["null"], ["true"], ["false"]]),
        st.integers(-(2**63), 2**63 - 1).map(lambda n: ["i64", str(n)]),
        st.integers(0, 2**64 - 1).map(lambda n: ["u64", str(n)]),
        st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999).map(lambda n: ["timestamp", str(n)]),
        st.integers(-719_162, 2_932_896).map(lambda n: ["date", str(n)]),
        st.uuids().map(lambda value: ["uuid", str(value)]),
        st.tuples(st.integers(0, 38), st.integers(1 - 10**38, 10**38 - 1)).map(
            lambda pair: ["decimal", pair[0], str(pair[1])]
        ),
        st.integers(1 - 10**38, 10**38 - 1).map(lambda n: ["money", "EUR", str(n)]),
        texts(40).map(lambda value: ["string", value]),
        st.binary(max_size=20).map(lambda raw: ["bytes", raw.hex()]),
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True).map(lambda name: ["enum", name]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda values: ["list", values]),
        st.dictionaries(names, inner.filter(lambda value: value != ["null"]), max_size=4).map(
            lambda fields: ["record", fields]
        ),
        inner.map(lambda value: ["enclosed", value]),
    ),
    max_leaves=8,
)


@given(notations)
def test_two_implementations_agree(notation: list[Any]) -> None:
    data = reference.value(notation)
    assert canonical.render(canonical.parse(data)) == data
    canonical.decode(data)


@given(notations, notations)
def test_different_values_have_different_bytes(one: list[Any], other: list[Any]) -> None:
    assert (reference.value(one) == reference.value(other)) == (one == other)


def check_total(data: bytes) -> None:
    try:
        item = canonical.parse(data)
    except DatabaseCorrupt:
        return
    assert canonical.render(item) == data


@given(st.binary(max_size=60))
@example(b"\x0d\x00\x00\x00\x01" * 5_000)
@example(b"\x0f\x00\x00\x00\x05" * 5_000)
def test_any_bytes_are_refused_or_canonical(data: bytes) -> None:
    check_total(data)


@given(st.lists(st.integers(0, 15) | st.sampled_from([0xFF, 0x61]), max_size=40).map(bytes))
def test_likely_bytes_are_refused_or_canonical(data: bytes) -> None:
    check_total(data)


@given(notations, st.data())
def test_damaged_bytes_are_refused_or_canonical(notation: list[Any], data: st.DataObject) -> None:
    written = bytearray(reference.value(notation))
    at = data.draw(st.integers(0, len(written) - 1))
    written[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    check_total(bytes(written))


plain: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | texts(20)
    | st.binary(max_size=20)
    | st.uuids()
    | st.dates()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**30), max_value=10**30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(names, inner.filter(lambda value: value is not None), max_size=4)
    ),
    max_leaves=8,
)


@given(plain)
def test_plain_values_come_back(value: Any) -> None:
    assert canonical.decode(canonical.encode(value)) == value


columns: st.SearchStrategy[Any] = st.sampled_from(
    [
        st.booleans(),
        st.integers(-(2**127), 2**127 - 1) | st.integers(-300, 300) | st.integers(2**63 - 3, 2**64 + 3),
        texts(8) | st.text("ab\x01é", max_size=3),
        st.binary(max_size=8) | st.lists(st.sampled_from([0, 1, 255]), max_size=4).map(bytes),
    ]
)


@given(st.data())
def test_packed_tuples_sort_like_tuples(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(columns, min_size=1, max_size=3))
    tuples = st.tuples(*(st.none() | kind for kind in kinds))
    one, other = data.draw(tuples), data.draw(tuples)
    assert packing.unpack(packing.pack(one)) == one
    assert (packing.pack(one) < packing.pack(other)) == (sortable(one) < sortable(other))
    assert (packing.pack(one) == packing.pack(other)) == (one == other)


def sortable(cells: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [(0,) if cell is None else (1, cell) for cell in cells]


@given(st.binary(max_size=40) | st.lists(st.sampled_from([0, 1, 16, 17, 18, 19, 32, 33, 97, 255])).map(bytes))
def test_any_bytes_are_refused_or_packed(data: bytes) -> None:
    try:
        cells = packing.unpack(data)
    except DatabaseCorrupt:
        return
    assert packing.pack(cells) == data
