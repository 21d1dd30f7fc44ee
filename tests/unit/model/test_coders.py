"""Compiled coders: absent cells, fixed lengths, labels, and bytes that are not theirs."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from treadle.errors import DatabaseCorrupt, InvariantBroken
from treadle.model import coders, compounds
from treadle.model.coders import Coder
from treadle.model.compounds import Member
from treadle.model.straight import FALSY, NONE, Fragment, Slot, compile_encoder

RECORD = compounds.record(
    [
        Member("b", coders.U64),
        Member("a", compounds.optional(coders.STRING)),
        Member("list", compounds.omitted(compounds.list_(coders.U64), ())),
        Member("flag", compounds.omitted(coders.BOOL, False)),
    ]
)


def both(coder: Coder, cell: Any) -> bytes:
    data = coders.writer(coder)(cell)
    assert coders.reader(coder)(data) == cell
    return data


@pytest.mark.parametrize(
    "cells, names",
    [
        ((1, None, (), False), [b"b"]),
        ((1, "", (), False), [b"a", b"b"]),
        ((1, None, (0,), False), [b"b", b"list"]),
        ((1, "x", (1, 2), True), [b"a", b"b", b"flag", b"list"]),
    ],
)
def test_a_record_leaves_out_what_is_absent(cells: Any, names: list[bytes]) -> None:
    data = both(RECORD, cells)
    assert data[:3] == b"\x0e" + struct.pack(">H", len(names))
    places = [data.index(struct.pack(">H", len(name)) + name) for name in names]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0e\x00\x01\x00\x01a\x0a\x00\x00\x00\x00",  # the required b is missing
        b"\x0e\x00\x02\x00\x01b\x04" + bytes(8) + b"\x00\x04flag\x01",  # false should be left out
        b"\x0e\x00\x02\x00\x01b\x04" + bytes(8) + b"\x00\x04list\x0d\x00\x00\x00\x00",  # so should ()
        b"\x0e\x00\x02\x00\x01b\x04" + bytes(8) + b"\x00\x01c\x02",  # undeclared
        b"\x0e\x00\x01\x00\x01b\x04" + bytes(8) + b"\x00\x04flag\x02",  # not counted
        b"\x0e\x00\x02\x00\x01b\x04" + bytes(8),  # counted, but not there
        b"\x0e\x00\x02\x00\x01a\x00\x00\x01b\x04" + bytes(8),  # a null in a record
        b"\x0e\x00\x02\x00\x01b\x04" + bytes(8) + b"\x00\x01a\x0a\x00\x00\x00\x00",  # out of order
    ],
)
def test_a_record_spelled_otherwise_is_refused(data: bytes) -> None:
    with pytest.raises(DatabaseCorrupt):
        coders.reader(RECORD)(data)


@pytest.mark.parametrize("cells", [(None, None, (), False), ("1", None, (), False), (1.5, None, (), False)])
def test_a_cell_that_must_be_there_is_never_left_out_in_silence(cells: Any) -> None:
    with pytest.raises((struct.error, TypeError)):
        coders.writer(RECORD)(cells)


@pytest.mark.parametrize("cells", [(1, None, ()), (1, None, (), False, 1), ()])
def test_the_number_of_cells_is_checked(cells: Any) -> None:
    with pytest.raises(ValueError):
        coders.writer(RECORD)(cells)


def test_a_position_without_a_member_is_neither_written_nor_read() -> None:
    coder = compounds.record([None, Member("b", coders.U64), None])
    data = coders.writer(coder)(("secret", 5, object()))
    assert b"secret" not in data
    assert coders.reader(coder)(data) == (None, 5, None)
    assert coders.reader(compounds.record([None]))(coders.writer(compounds.record([None]))((1,))) == (None,)


@pytest.mark.parametrize("cell", [b"", bytes(15), bytes(17), bytes(32)])
def test_a_uuid_has_sixteen_bytes(cell: bytes) -> None:
    with pytest.raises(InvariantBroken):
        coders.writer(coders.UUID)(cell)
    with pytest.raises(InvariantBroken):
        coders.writer(compounds.row([coders.UUID]))((cell,))


def test_a_hash_has_thirty_two_bytes() -> None:
    assert both(coders.HASH, bytes(32)) == both(coders.BYTES, bytes(32))
    for cell in (b"", bytes(31), bytes(33)):
        with pytest.raises(InvariantBroken):
            coders.writer(coders.HASH)(cell)
        with pytest.raises(DatabaseCorrupt):
            coders.reader(coders.HASH)(coders.writer(coders.BYTES)(cell))


def test_labels_are_strings_and_the_memory_of_them_is_bounded() -> None:
    write, plain = coders.writer(coders.LABEL), coders.writer(coders.STRING)
    texts = ["", "né", "x" * 5000, *(f"principal-{number}" for number in range(3000))]
    for _ in range(2):
        assert [write(text) for text in texts] == [plain(text) for text in texts]
    memo = coders.LABEL.fragment(b"").names["table"]
    assert isinstance(memo, dict)
    for text in texts:
        memo[text]
    assert len(memo) <= 1_024
    assert max(map(len, memo)) < 5000


@pytest.mark.parametrize("value", [2**64, -1, "1", None, 1.0])
def test_numbers_out_of_range_are_never_written(value: Any) -> None:
    with pytest.raises(struct.error):
        coders.writer(coders.U64)(value)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x00\x00\x00\x02a\x00",
        b"\x0a\x00\x00\x00\x01\xff",
        b"\x0a\x00\x00\x00\x02a",
        b"\x0a\x00\x00",
        b"\x0b\x00\x00\x00\x01a",
    ],
)
def test_text_is_utf8_without_nul_and_whole(data: bytes) -> None:
    for coder in (coders.STRING, coders.LABEL):
        with pytest.raises(DatabaseCorrupt):
            coders.reader(coder)(data)


@pytest.mark.parametrize(
    "coder, data",
    [
        (coders.TIMESTAMP, b"\x05" + struct.pack(">q", 253_402_300_800_000_000)),
        (coders.TIMESTAMP, b"\x05" + struct.pack(">q", -62_135_596_800_000_001)),
        (coders.DATE, b"\x06" + struct.pack(">i", 2_932_897)),
        (coders.DATE, b"\x06" + struct.pack(">i", -719_163)),
        (coders.decimal_(2), b"\x08\x02" + (10**38).to_bytes(16, "big")),
        (coders.enum(["On", "Off"]), b"\x0c\x00\x02Of"),
        (coders.enum(["On", "Off"]), b"\x0c\x00\x03off"),
    ],
)
def test_what_no_cell_can_be_is_refused(coder: Coder, data: bytes) -> None:
    with pytest.raises(DatabaseCorrupt):
        coders.reader(coder)(data)


def test_lists_of_optionals_have_nulls() -> None:
    assert both(compounds.list_(compounds.optional(coders.U64)), (None, 1))[5:6] == b"\x00"


def test_a_row_has_its_own_length() -> None:
    two = compounds.row([coders.U64, coders.STRING])
    assert both(two, (1, "a")) == both(compounds.list_(coders.U64), (1,)).replace(
        b"\x01\x04", b"\x02\x04", 1
    ) + (coders.writer(coders.STRING)("a"))
    with pytest.raises(DatabaseCorrupt):
        coders.reader(two)(coders.writer(compounds.list_(coders.U64))((1,)))
    with pytest.raises(ValueError):
        coders.writer(two)((1, "a", 2))
    assert both(compounds.row([]), ()) == b"\x0d\x00\x00\x00\x00"


def test_field_names_are_distinct() -> None:
    with pytest.raises(InvariantBroken):
        compounds.record([Member("a", coders.U64), Member("a", coders.U64)])


def test_names_never_become_code() -> None:
    evil = '"); raise SystemExit #{c}{n}\n'
    coder = compounds.record([Member(evil, coders.enum(["a'\"{}"]))])
    assert both(coder, ("a'\"{}",)).count(evil.encode()) == 1


def test_straight_line_code() -> None:
    fragment = Fragment(("x{n}", "{c}"), {"x": b"-"}, "checked{n} = len({c})")
    heads = (b"0", b"1", b"2", b"3")
    encode = compile_encoder(heads, 4, [Slot(3, fragment), Slot(0, fragment, NONE), Slot(1, fragment, FALSY)])
    assert encode((None, (), 5, b"d")) == b"1-d"
    assert encode((b"a", b"", 5, b"d")) == b"2-d-a"
    assert encode((b"a", b"b", 5, b"d")) == b"3-d-a-b"
    assert compile_encoder((b"head",), 0, [])(()) == b"head"


def test_a_wide_record() -> None:
    coder = compounds.record([Member(f"f{number}", compounds.optional(coders.U64)) for number in range(4096)])
    both(coder, tuple(number if number % 3 else None for number in range(4096)))
