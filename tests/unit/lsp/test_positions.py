"""Offsets and positions, in every unit that a client may count in."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind, Range

from tests.support.effort import effort
from treadle.lsp.positions import MEASURES, Lines, chosen
from treadle.riff.diagnostics import Extent

TEXT = "// 💡é\r\nab\rc\n\n"
pieces = st.sampled_from(["a", "é", "💡", "\n", "\r\n", "\r", "\u2028", "\x0c", "\x85", "\ud800", "́", " "])
texts = st.lists(pieces, max_size=30).map("".join)


@pytest.mark.parametrize(
    "unit, column", [("utf-32", 5), ("utf-16", 6), ("utf-8", 9)], ids=["code points", "utf-16", "utf-8"]
)
def test_a_column_counts_what_was_agreed(unit: str, column: int) -> None:
    lines = Lines(TEXT, unit)
    assert lines.position(5) == Position(0, column)
    assert lines.offset(Position(0, column)) == 5


def test_lines_end_at_lf_crlf_and_cr() -> None:
    lines = Lines(TEXT)
    assert lines.position(TEXT.index("a")) == Position(1, 0)
    assert lines.position(TEXT.index("c")) == Position(2, 0)
    assert lines.position(len(TEXT)) == Position(4, 0) == lines.position(len(TEXT) + 9)
    assert lines.whole == Range(Position(0, 0), Position(4, 0))
    assert lines.position(6) == Position(0, 6), "between CR and LF is the line's end"
    assert Lines("a\u2028b\x0cc\x85d\x0b").position(8) == Position(0, 8), "other separators end no line"


def test_a_position_outside_is_the_nearest_inside() -> None:
    lines = Lines(TEXT)
    assert lines.offset(Position(0, 99)) == 5
    assert lines.offset(Position(1, 99)) == TEXT.index("b") + 1
    assert lines.offset(Position(99, 0)) == len(TEXT)
    assert lines.offset(Position(0, 4)) == 3, "inside a pair is before it"
    assert lines.extent(Range(Position(1, 2), Position(0, 0))) == Extent(9, 9), (
        "a range turned round is empty"
    )


def test_a_byte_order_mark_counts_for_the_client_alone() -> None:
    lines = Lines("\ufeffab\nc", skip=1)
    assert lines.position(0) == Position(0, 1) and lines.position(3) == Position(1, 0)
    assert lines.offset(Position(0, 1)) == 0 == lines.offset(Position(0, 0))
    assert lines.offset(Position(1, 0)) == 3 and lines.whole.start == Position(0, 0)


@settings(max_examples=effort(200))
@given(texts, st.sampled_from(list(MEASURES)))
def test_every_offset_comes_back(text: str, unit: str) -> None:
    lines = Lines(text, unit)
    before = Position(0, 0)
    for offset in range(len(text) + 1):
        position = lines.position(offset)
        assert position >= before
        before = position
        if not (text[offset - 1 : offset + 1] == "\r\n" and offset):
            assert lines.offset(position) == offset


@pytest.mark.parametrize(
    "offered, unit",
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-16", "utf-32"], "utf-32"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-7", "utf-16"], "utf-16"),
        (["utf-7"], "utf-16"),
        ([PositionEncodingKind.Utf32], "utf-32"),
    ],
)
def test_the_unit_is_agreed_on(offered: list[str] | None, unit: str) -> None:
    assert chosen(offered) == unit
