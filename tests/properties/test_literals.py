"""The mapping of literals against the installed index, over literals of every datatype it knows."""

from __future__ import annotations

import struct
from decimal import Decimal

import pyoxigraph as ox
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from treadle.graph.convert import term_of, to_ox
from treadle.graph.literals import canonical, is_canonical
from treadle.graph.terms import RDF, XSD, Literal

SUBJECT = ox.NamedNode("http://example.org/s")


def kept(literal: Literal) -> Literal:
    """The literal as an index gives it back."""
    store = ox.Store()
    store.add(ox.Quad(SUBJECT, SUBJECT, to_ox(literal)))
    [quad] = store
    read = term_of(quad.object)
    assert isinstance(read, Literal)
    return read


def digits(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=least, max_size=most)


def joined(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def number(most: int, low: int = 0) -> st.SearchStrategy[str]:
    """Two digits, now and then out of range."""
    return st.one_of(
        *[st.integers(low, most).map("{:02d}".format)] * 8, st.integers(0, 99).map("{:02d}".format)
    )


signs = st.sampled_from(["", "", "+", "-"])
edges = st.sampled_from(
    [
        "9223372036854775807",
        "9223372036854775808",
        "170141183460469231731.687303715884105727",
        "170141183460469231731.687303715884105728",
        "0170141183460469231731.687303715884105728",
        "0.0000000000000000001",
        "1.",
        ".5",
        ".",
    ]
)
plain = st.one_of(
    edges,
    digits(0, 3),
    digits(0, 25),
    joined(st.integers(0, 30).map("0".__mul__), digits(0, 22)),
    joined(digits(0, 3), ".", digits(0, 22)),
    joined(digits(0, 22), ".", digits(0, 5), st.integers(0, 30).map("0".__mul__)),
)
numerals = joined(signs, plain)
singles = st.integers(0, 2**32 - 1).map(lambda bits: repr(struct.unpack("<f", struct.pack("<I", bits))[0]))
doubles = st.integers(0, 2**64 - 1).map(lambda bits: repr(struct.unpack("<d", struct.pack("<Q", bits))[0]))
powers = st.integers(-160, 140).map(lambda exponent: repr(2.0**exponent))
special = joined(signs, st.sampled_from(["inf", "INF", "Infinity", "infinit", "NaN", "nan", "iNf"]))
floating = st.one_of(
    singles, doubles, powers, special, joined(numerals, st.sampled_from("eE"), signs, digits(0, 3)), numerals
)
years = joined(
    st.sampled_from(["", "", "-"]),
    st.one_of(digits(4, 4), joined(st.sampled_from("123456789"), digits(4, 20)), st.just("0000")),
)
near_the_end = st.integers(5_391_559_471_900, 5_391_559_471_935).map(str)
years = st.one_of(years, years, joined(st.sampled_from(["", "-"]), near_the_end))
months, days = number(12, 1), number(31, 1)
zones = st.one_of(
    st.sampled_from(["", "", "Z", "+00:00", "-00:00", "+14:00", "-14:00", "+14:01", "+13:59"]),
    joined(st.sampled_from("+-"), number(14), ":", number(59)),
)
fractions = st.one_of(
    st.just(""), joined(".", digits(1, 20)), joined(".", digits(0, 3), st.integers(0, 20).map("0".__mul__))
)
clocks = st.one_of(
    joined(number(23), ":", number(59), ":", number(59), fractions),
    st.sampled_from(["24:00:00", "24:00:00.0", "24:00:01", "24:30:00"]),
)
dates = joined(years, "-", months, "-", days)


def part(unit: str, *, decimal: bool = False) -> st.SearchStrategy[str]:
    amount = joined(digits(0, 22), fractions) if decimal else digits(0, 22)
    return st.one_of(st.just(""), joined(st.one_of(digits(1, 3), amount), unit))


durations = joined(
    st.sampled_from(["", "", "-", "+"]),
    "P",
    part("Y"),
    part("M"),
    part("D"),
    st.sampled_from(["", "T"]),
    part("H"),
    part("M"),
    part("S", decimal=True),
)
INTEGERS = (
    "integer byte short int long unsignedByte unsignedShort unsignedInt unsignedLong positiveInteger "
    "negativeInteger nonPositiveInteger nonNegativeInteger"
)
FORMS = {
    **dict.fromkeys(INTEGERS.split(), numerals),
    "decimal": numerals,
    "double": floating,
    "float": floating,
    "boolean": st.sampled_from(["0", "1", "true", "false", "True", " true", ""]),
    "dateTime": joined(dates, "T", clocks, zones),
    "dateTimeStamp": joined(dates, "T", clocks, zones),
    "date": joined(dates, zones),
    "time": joined(clocks, zones),
    "gYear": joined(years, zones),
    "gYearMonth": joined(years, "-", months, zones),
    "gMonthDay": joined("--", months, "-", days, zones),
    "gMonth": joined("--", months, zones),
    "gDay": joined("---", days, zones),
    "duration": durations,
    "yearMonthDuration": durations,
    "dayTimeDuration": durations,
}
texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)
others = st.sampled_from(
    [XSD + "string", XSD + "hexBinary", XSD + "anyURI", XSD + "token", RDF + "HTML", "urn:x"]
)


@st.composite
def literals(draw: st.DrawFn) -> Literal:
    """A literal of any datatype, most of them with text that is nearly or truly of its datatype."""
    kind = draw(st.sampled_from(["typed", "typed", "typed", "typed", "other", "language"]))
    if kind == "typed":
        name = draw(st.sampled_from(sorted(FORMS)))
        return Literal(draw(st.one_of(*[FORMS[name]] * 9, texts)), XSD + name)
    if kind == "other":
        return Literal(draw(texts), draw(others))
    return Literal(draw(texts), language=draw(st.sampled_from(["en", "EN-gb", "zh-Hant", "x-private"])))


@settings(max_examples=effort(1500))
@given(literals())
def test_what_the_index_keeps(literal: Literal) -> None:
    mapped = canonical(literal)
    event(f"{literal.datatype.rsplit('#')[-1]}: {'kept' if mapped is literal else 'respelled'}")
    assert mapped == kept(literal)
    assert is_canonical(mapped), "the mapping is idempotent"


@settings(max_examples=effort(300))
@given(st.integers(0, 0x7F7FFFFE), st.sampled_from([0, 1, -1]))
def test_the_middle_between_two_singles(bits: int, side: int) -> None:
    """Where rounding twice would go wrong: exactly half way, and a hair beside it."""
    low, high = (struct.unpack("<f", struct.pack("<I", each))[0] for each in (bits, bits + 1))
    middle = (low + high) / 2  # exact in double precision
    exact = format(Decimal(middle), "f")
    exact = exact if "." in exact else exact + "."
    text = exact + "0" * 60 + "1" if side > 0 else "-" + exact if side < 0 else exact
    literal = Literal(text, XSD + "float")
    assert canonical(literal) == kept(literal)
