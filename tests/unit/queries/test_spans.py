"""Ranges after a place: together, in order, exactly what comes after it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from treadle.model import types
from treadle.model.ranges import Filter, after_prefix, sort_key
from treadle.ports.queries import Edge, Walk
from treadle.ports.store import Column, IndexSpec, Table
from treadle.queries.spans import Bounds, ranges, strands

OPTIONAL = types.Optional(types.I64_)
TABLE = Table(
    "T",
    "T",
    (
        Column("k", "k", types.I64_),
        Column("a", "a", OPTIONAL),
        Column("b", "b", types.I64_),
        Column("c", "c", OPTIONAL),
    ),
    1,
    False,
    (IndexSpec("by", (1, 2, 3)),),
)
CELL = st.none() | st.integers(0, 2)
ROWS = st.lists(
    st.tuples(st.integers(0, 9), CELL, st.integers(0, 2), CELL), unique_by=lambda row: row[0], max_size=10
)


def inside(walk: Walk, row: tuple[Any, ...]) -> bool:
    columns = walk.columns
    if any(row[place] != cell for place, cell in zip(columns, walk.fixed, strict=False)):
        return False
    if len(walk.fixed) == len(columns):
        return True
    return Bounds(walk.lower, walk.upper, walk.present).hold(row[columns[len(walk.fixed)]])


@st.composite
def asked(draw):
    """Some leading fields fixed, each to some values; an order; bounds; a place."""
    count = draw(st.integers(0, 3))
    columns = (1, 2, 3, 0)
    fixed = [tuple(draw(st.lists(CELL, min_size=1, max_size=2))) for _ in range(count)]
    order = list(columns[count:])
    for place in columns[:count]:
        if len(set(fixed[columns.index(place)])) > 1 or draw(st.booleans()):
            order.insert(draw(st.integers(0, len(order))), place)
    bounds = Bounds()
    if draw(st.booleans()):
        bounds = bounds.above(Edge(draw(st.integers(0, 2)), draw(st.booleans())))
    if draw(st.booleans()):
        bounds = bounds.below(Edge(draw(st.integers(0, 2)), draw(st.booleans())))
    after = draw(st.none() | st.tuples(*(CELL if place in (1, 3) else st.integers(0, 9) for place in order)))
    return fixed, tuple(order), bounds, after, draw(st.booleans())


@given(ROWS, asked())
@settings(max_examples=effort(300), deadline=None)
def test_ranges_give_what_comes_after(rows, case) -> None:
    fixed, order, bounds, after, descending = case
    walk = Walk(TABLE, TABLE.indexes[0], descending=descending)
    columns = walk.columns
    found = []
    for strand in strands(walk, fixed):
        part = []
        for one in ranges(strand, bounds, order, after):
            hit = [row for row in rows if inside(one, row)]
            hit.sort(key=lambda row: sort_key([row[place] for place in columns]), reverse=descending)
            part += hit
        keys = [sort_key([row[place] for place in order]) for row in part]
        assert keys == sorted(keys, reverse=descending)
        found += part
    wanted = [
        row for row in rows if all(row[place] in cells for place, cells in zip(columns, fixed, strict=False))
    ]
    if len(fixed) < len(columns):
        wanted = [row for row in wanted if bounds.hold(row[columns[len(fixed)]])]
    if after is not None:
        there = sort_key(after)
        own = {row: sort_key([row[place] for place in order]) for row in wanted}
        wanted = [row for row in wanted if (own[row] < there if descending else own[row] > there)]
    assert len(found) == len(set(found)) and set(found) == set(wanted)


def test_every_range_seeks() -> None:
    """No range begins at nothing: fields are fixed, or the first one has an end or is present."""
    walk = Walk(TABLE, TABLE.indexes[0])
    for after in (None, (None, 1, None, 3), (1, 1, 1, 1)):
        for strand in strands(walk, []):
            for one in ranges(strand, Bounds(), (1, 2, 3, 0), after):
                assert one.fixed or one.present or one.lower or one.upper


def test_a_prefix_is_a_range() -> None:
    assert Bounds().asking(Filter(1, "prefix", "ab")) == Bounds(Edge("ab", True), Edge("ac", False), True)
    assert Bounds().asking(Filter(1, "prefix", "\U0010ffff")) == Bounds(Edge("\U0010ffff", True), None, True)
    assert Bounds().asking(Filter(1, "prefix", "")) == Bounds(Edge("", True), None, True)


@given(st.text(max_size=4), st.text(max_size=6))
@settings(max_examples=effort(200))
def test_after_prefix(prefix, text) -> None:
    """A text begins with the prefix exactly if it lies between the prefix and the text after it."""
    end = after_prefix(prefix)
    assert text.startswith(prefix) == (text >= prefix and (end is None or text < end))
    if end is not None:
        end.encode()  # no lone surrogate


def test_after_prefix_skips_the_surrogates() -> None:
    assert after_prefix("a\ud7ff") == "a\ue000" and after_prefix("a\U0010ffff") == "b"
    assert after_prefix("\U0010ffff") is None and after_prefix("") is None
