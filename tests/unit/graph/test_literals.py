"""The mapping of literals: the table in the documentation, and what it says of whole statements."""

from __future__ import annotations

import re

import pytest

from tests.support.shared import ROOT
from treadle.graph.literals import LITERALS_VERSION, MAPPED, canonical, canonical_quad, is_canonical
from treadle.graph.terms import IRI, XSD, XSD_INTEGER, Literal, Quad

PAGE = (ROOT / "docs/formats/literals.md").read_text()
ROW = re.compile(r"^\| `xsd:(\w+)` \| `([^`]*)` \| `([^`]*)`(?: `xsd:(\w+)`)? \|", re.MULTILINE)
ROWS = ROW.findall(PAGE)
A = IRI("http://example.org/a")


def test_the_table_names_every_datatype_that_is_mapped() -> None:
    mapped = {iri.removeprefix(XSD) for iri in MAPPED}
    derived = {"short", "long", "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong"}
    derived |= {"positiveInteger", "negativeInteger", "nonPositiveInteger"}
    assert mapped - {name for name, *_ in ROWS} == derived
    assert f"This is version {LITERALS_VERSION}." in PAGE


@pytest.mark.parametrize("name, written, kept, datatype", ROWS)
def test_the_table(name: str, written: str, kept: str, datatype: str) -> None:
    assert canonical(Literal(written, XSD + name)) == Literal(kept, XSD + (datatype or name))


def test_what_is_canonical_is_returned_itself() -> None:
    literal = Literal("1", XSD_INTEGER)
    assert canonical(literal) is literal and is_canonical(literal)
    assert not is_canonical(Literal("01", XSD_INTEGER))


def test_a_whole_statement() -> None:
    odd, plain = Quad(A, A, Literal("01", XSD_INTEGER), A), Quad(A, A, A)
    assert canonical_quad(odd) == Quad(A, A, Literal("1", XSD_INTEGER), A)
    assert canonical_quad(plain) is plain


@pytest.mark.parametrize("name", ["integer", "decimal", "double", "duration", "gYear", "dateTime"])
def test_a_text_of_any_length_is_answered(name: str) -> None:
    for text in ("9" * 100_000, "0" * 100_000 + "1", "-" * 1000, "P" + "1" * 100_000 + "Y"):
        assert canonical(canonical(Literal(text, XSD + name))) == canonical(Literal(text, XSD + name))
