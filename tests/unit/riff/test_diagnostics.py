"""Diagnostics: positions, order, JSON, and how they look."""

from __future__ import annotations

import pytest

from treadle.limits import DIAGNOSTICS
from treadle.riff import compile_contract, render, to_json
from treadle.riff.diagnostics import Extent, Report, Source


def test_lines_end_at_lf_or_crlf() -> None:
    source = Source("a\r\nbc\n\rd\n")
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["a", "bc", "\rd", ""]
    assert [(p.line, p.column) for p in map(source.position, (0, 1, 3, 5, 6, 9))] == [
        (1, 1), (1, 2), (2, 1), (2, 3), (3, 1), (4, 1)
    ]  # fmt: skip


def test_the_first_32_and_never_a_warning_before_an_error() -> None:
    report = Report()
    for place in range(100):
        report.add("W034", Extent(place, place + 1), "warned")
    report.add("C001", Extent(500, 501), "wrong")
    found = report.diagnostics(Source("x" * 600))
    assert len(found) == DIAGNOSTICS and found[-1].code == "C001" and found[0].span.start.offset == 0
    assert [each.is_error for each in found] == [False] * 31 + [True]


def test_one_place_is_refused_once_for_one_code() -> None:
    report = Report()
    for message in ("first", "second"):
        report.add("C001", Extent(0, 1), message)
    report.add("C002", Extent(0, 1), "other")
    assert [each.message for each in report.diagnostics(Source("x"))] == ["first", "other"]
    assert report.errors == 2 and report.has("C002", Extent(0, 1)) and not report.has("C003", Extent(0, 1))


TEXT = """contract A version 1 {
\tentity Größe { key (a: uuid) }
  entity E {
    key (e: uuid)
    field size: u64
    field size: u64
    invariant Some: siz > 1
  }
}
"""

SHOWN = """\
error S003: `Größe` is not a name; a name has ASCII letters, digits and `_` only
 --> a.riff:2:9
  |
2 |  entity Größe { key (a: uuid) }
  |         ^^^^^"""


def test_as_text() -> None:
    compiled = compile_contract(TEXT, "a.riff")
    assert compiled.render() == SHOWN
    compiled = compile_contract(TEXT.replace("Größe", "F"), "a.riff")
    assert (
        compiled.render()
        == """\
error C002: field of E `size` is declared twice; rename or remove one
 --> a.riff:6:11
  |
6 |     field size: u64
  |           ^^^^
  note: the first is here
 --> a.riff:5:11
  |
5 |     field size: u64
  |           ^^^^

error C004: no field of E is called `siz`; the nearest is size
 --> a.riff:7:21
  |
7 |     invariant Some: siz > 1
  |                     ^^^"""
    )


def test_as_json() -> None:
    compiled = compile_contract(TEXT.replace("Größe", "F"), "a.riff")
    first = to_json(compiled.diagnostics)["diagnostics"][0]
    assert first == {
        "code": "C002",
        "severity": "error",
        "message": "field of E `size` is declared twice; rename or remove one",
        "help": "",
        "span": {"start": {"line": 6, "column": 11}, "end": {"line": 6, "column": 15}},
        "related": [
            {
                "message": "the first is here",
                "span": {"start": {"line": 5, "column": 11}, "end": {"line": 5, "column": 15}},
            }
        ],
    }


def test_carets_stand_under_wide_characters() -> None:
    compiled = compile_contract('contract A version 1 { "\N{CJK UNIFIED IDEOGRAPH-4E2D}" }')
    *_, line, carets = compiled.render().splitlines()
    assert line.index('"') == carets.index("^") and carets.count("^") == 4


@pytest.mark.parametrize("column", [0, 500, 999_000])
def test_a_long_line_is_cut_around_the_span(column: int) -> None:
    text = " " * column + ";" + " " * (1_000_000 - column)
    *_, line, carets = render(compile_contract(text).diagnostics[:1], Source(text)).splitlines()
    assert len(line) < 200 and line[carets.index("^")] == ";"


def test_no_control_character_reaches_a_terminal() -> None:
    compiled = compile_contract("contract A version 1 { \x1b[31m // \x07 \x9b\n }")
    assert all(character == "\n" or character.isprintable() for character in compiled.render())


def test_a_span_over_lines_is_marked_to_the_end_of_its_first() -> None:
    *_, line, carets = compile_contract("contract A version 1 {} /* x\ny */").render().splitlines()
    assert line.endswith("/* x") and carets.endswith("^^^^")
