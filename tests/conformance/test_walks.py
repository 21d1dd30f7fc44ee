"""Ranges of an index on every store: the same rows, in the same order, as a list of rows would give."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.effort import effort
from tests.support.tables import EVERYTHING
from treadle.errors import TooLarge
from treadle.model import types
from treadle.model.facts import Row, RowChange
from treadle.model.ranges import Filter, Fold, combined, empty, holds, sort_key
from treadle.ports.queries import Edge, Walk
from treadle.ports.store import IndexSpec

TABLE = EVERYTHING._replace(
    columns=(EVERYTHING.columns[0], *EVERYTHING.columns[2:3], EVERYTHING.columns[1], *EVERYTHING.columns[3:]),
    key_count=2,
)
AT = {column.name: place for place, column in enumerate(TABLE.columns)}
TABLE = TABLE._replace(
    indexes=(
        IndexSpec("plain", (AT["colour"], AT["big"])),
        IndexSpec("keyed", (AT["flag"], AT["signed"], AT["name"])),
        IndexSpec("first", (AT["flag"], AT["id"])),
        IndexSpec("optional", (AT["o_colour"], AT["o_at"], AT["o_big"])),
        IndexSpec("present", (AT["flag"], AT["o_amount"]), (AT["o_amount"],)),
        IndexSpec("texts", (AT["o_name"],)),
        IndexSpec("money", (AT["price"], AT["o_price"])),
        IndexSpec("blobs", (AT["uuid"], AT["o_blob"])),
    )
)

FEW: dict[type, list[Any]] = {
    types.Bool: [False, True],
    types.I64: [-(2**63), -1, 0, 2**63 - 1],
    types.U64: [0, 5, 2**63 - 1, 2**63, 2**64 - 1],
    types.Timestamp: [-1, 0, 253_402_300_799_999_999],
    types.Date: [-719_162, 0, 3],
    types.Uuid: [b"\0" * 16, b"\0" * 15 + b"\xff", b"\xff" * 16],
    types.Decimal: [-(10**4), 0, 1, 99_999],
    types.Money: [-(10**37), 0, 10**37],
    types.String: ["", "a", "a\x01", "ab", "é", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffffx"],
    types.Bytes: [b"", b"\0", b"\0\xff", b"\xff"],
    types.Enum: ["Blue", "Green", "Red"],
    types.List: [(), ("x",)],
}


def cells_of(kind: types.Type) -> st.SearchStrategy[Any]:
    if isinstance(kind, types.Optional):
        return st.none() | cells_of(kind.item)
    if isinstance(kind, types.List):
        return st.just(())
    return st.sampled_from(FEW[type(kind)])


ROW = st.tuples(*(cells_of(column.type) for column in TABLE.columns))


def change(cells: tuple[Any, ...], revision: int = 1) -> RowChange:
    return RowChange("Everything", cells[:2], None, revision, cells)


def fill(store, rows: list[tuple[Any, ...]]) -> None:
    with store.write() as tx:
        tx.write_rows(TABLE, [change(cells) for cells in rows], [7] * len(rows))
        tx.commit()


@st.composite
def walks(draw, rows: list[tuple[Any, ...]]) -> Walk:
    """A range: fixed cells mostly of a row that exists, edges, filters."""
    along = draw(st.sampled_from([None, *TABLE.indexes]))
    walk = Walk(TABLE, along, descending=draw(st.booleans()))
    columns = walk.columns
    count = draw(st.integers(0, len(columns)))
    sample = draw(st.sampled_from(rows) if rows else ROW)
    fixed = tuple(
        sample[place] if draw(st.integers(0, 9)) else draw(cells_of(TABLE.columns[place].type))
        for place in columns[:count]
    )
    walk = walk._replace(fixed=fixed)
    if count < len(columns):
        kind = types.required(TABLE.columns[columns[count]].type)
        edges = st.none() | st.builds(Edge, cells_of(kind), st.booleans())
        walk = walk._replace(lower=draw(edges), upper=draw(edges), present=draw(st.booleans()))
    return walk._replace(filters=tuple(draw(st.lists(filters(), max_size=2))))


@st.composite
def filters(draw) -> Filter:
    place = draw(
        st.sampled_from(
            [
                at
                for at, column in enumerate(TABLE.columns)
                if "list" not in column.name and column.name != "tags"
            ]
        )
    )
    kind = TABLE.columns[place].type
    plain = types.required(kind)
    ops = ["==", "!=", "in", "is null", "is not null"]
    if isinstance(plain, types.U64 | types.I64 | types.Decimal | types.Money | types.Timestamp | types.Date):
        ops += ["<", "<=", ">", ">="]
    if isinstance(plain, types.String):
        ops.append("prefix")
    op = draw(st.sampled_from(ops))
    if op == "in":
        return Filter(place, op, tuple(draw(st.lists(cells_of(plain), max_size=3))))
    if op.startswith("is"):
        return Filter(place, op)
    return Filter(place, op, draw(cells_of(kind if op in ("==", "!=") else plain)))


def inside(walk: Walk, cells: tuple[Any, ...]) -> bool:
    columns = walk.columns
    if any(cells[place] != value for place, value in zip(columns, walk.fixed, strict=False)):
        return False
    if walk.along is not None and any(cells[place] is None for place in walk.along.presence):
        return False
    if len(walk.fixed) == len(columns):
        return True
    cell = cells[columns[len(walk.fixed)]]
    if cell is None:
        return walk.lower is None and walk.upper is None and not walk.present
    low, high = walk.lower, walk.upper
    above = low is None or cell > low.value or (low.closed and cell == low.value)
    below = high is None or cell < high.value or (high.closed and cell == high.value)
    return above and below


def expected(walk: Walk, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows of the range in order, filters aside."""
    found = [cells for cells in rows if inside(walk, cells)]
    found.sort(key=lambda cells: sort_key([cells[place] for place in walk.columns]), reverse=walk.descending)
    return found


def distinct(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list({cells[:2]: cells for cells in rows}.values())


BOUNDED = settings(
    max_examples=effort(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def emptied(store):
    """Empties the one table before each example: a store for each would be slow."""
    with store.write() as tx:
        tx.create_table(TABLE)
        tx.commit()

    def empty_it() -> None:
        with store.write() as tx:
            rows = tx.scan(TABLE, None, 10_000)
            gone = [RowChange("Everything", row.cells[:2], row, 2, None) for row in rows]
            tx.write_rows(TABLE, gone, [8] * len(gone))
            tx.commit()

    return empty_it


@BOUNDED
@given(st.lists(ROW, max_size=40).map(distinct), st.data())
def test_a_walk_is_the_sorted_rows_of_its_range(store, emptied, rows, data) -> None:
    emptied()
    fill(store, rows)
    for _ in range(12):
        walk = data.draw(walks(rows))
        ordered = expected(walk, rows)
        passes = holds(walk.filters)
        with store.read() as tx:
            found = list(tx.walk(walk, 1_000, 1_000))
            assert found == [(True, Row(1, cells, 7)) for cells in ordered if passes(cells)]
            budget = data.draw(st.integers(1, 12))
            short = list(tx.walk(walk, budget, 1_000))
        seen = [(True, Row(1, cells, 7)) for cells in ordered[:budget] if passes(cells)]
        if len(ordered) > budget:
            seen.append((False, Row(1, ordered[budget - 1], 7)))
        assert short == seen


FOLDS = [
    Fold("count"),
    *(Fold("sum", AT[name]) for name in ("signed", "big", "o_big", "o_signed", "amount", "o_price")),
    *(
        Fold(op, AT[name])
        for op in ("min", "max")
        for name in ("signed", "big", "o_big", "at", "o_at", "o_day", "amount", "o_price")
    ),
]


@BOUNDED
@given(st.lists(ROW, max_size=40).map(distinct), st.data())
def test_aggregates_are_those_of_the_rows(store, emptied, rows, data) -> None:
    emptied()
    fill(store, rows)
    for _ in range(12):
        walk = data.draw(walks(rows))._replace(descending=False)
        free = walk.columns[len(walk.fixed) :]
        group = free[: data.draw(st.integers(0, len(free)))]
        asked = tuple(data.draw(st.lists(filters(), min_size=1, max_size=2)))
        folds = [
            *data.draw(st.lists(st.sampled_from(FOLDS), max_size=4)),
            Fold("any", None, asked),
            Fold("all", None, asked),
        ]
        limit = data.draw(st.integers(1, 5))
        passes = holds(walk.filters)
        kept = [cells for cells in expected(walk, rows) if passes(cells)]
        with store.read() as tx:
            found = tx.summarise(walk, group, folds, 1_000, limit)
        assert [(one.key, list(one.values)) for one in found] == naive(kept, group, folds)[:limit]


def naive(rows: list[tuple[Any, ...]], group: tuple[int, ...], folds: list[Fold]) -> list[Any]:
    keyed = itertools.groupby(rows, key=lambda cells: tuple(cells[place] for place in group))
    groups = [(key, list(members)) for key, members in keyed] or ([] if group else [((), [])])
    return [(key, [value(fold, members) for fold in folds]) for key, members in groups]


def value(fold: Fold, rows: list[tuple[Any, ...]]) -> Any:
    if fold.op == "count":
        return len(rows)
    if fold.op in ("any", "all"):
        test = holds(fold.filters)
        return (any if fold.op == "any" else all)(test(cells) for cells in rows)
    cells = [cells[fold.position or 0] for cells in rows if cells[fold.position or 0] is not None]
    if fold.op == "sum":
        return sum(cells)
    return (min if fold.op == "min" else max)(cells, default=None)


def test_more_rows_than_the_budget_are_refused(store, emptied) -> None:
    fill(store, [sample(number) for number in range(5)])
    walk = Walk(TABLE, None)
    with store.read() as tx:
        assert tx.summarise(walk, (), [Fold("count")], 5, 1)[0].values == [5]
        with pytest.raises(TooLarge, match="at most 4 rows"):
            tx.summarise(walk, (), [Fold("count")], 4, 1)
        with pytest.raises(TooLarge, match="at most 4 rows"):
            tx.summarise(walk, (), [Fold("sum", AT["amount"])], 4, 1)


def sample(number: int) -> tuple[Any, ...]:
    """A row with the least value of each type and this id."""
    cells = [
        None if isinstance(column.type, types.Optional) else FEW[type(column.type)][0]
        for column in TABLE.columns
    ]
    cells[0] = number
    return tuple(cells)


def test_combining_aggregates_is_aggregating_together() -> None:
    fold = Fold("min", 0)
    assert combined(fold, empty(fold), 3) == 3 and combined(fold, 2, 3) == 2
    assert combined(Fold("all"), True, False) is False and combined(Fold("sum", 0), 2, 3) == 5


def test_a_snapshot_does_not_see_later_rows(store, emptied) -> None:
    fill(store, [sample(1)])
    with store.read() as tx:
        walk = tx.walk(Walk(TABLE, TABLE.indexes[0]), 10, 10)
        first = next(walk)
        fill(store, [sample(2)])
        assert [first, *walk] == [(True, Row(1, sample(1), 7))]
