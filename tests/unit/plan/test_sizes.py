"""Sizes, compared with the canonical encoders that the log uses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contracts import work_contract
from treadle import limits
from treadle.model import contract as c
from treadle.model import types as t
from treadle.model.values import Codec
from treadle.plan.sizes import Sizes

CONTRACT = work_contract()
CODEC = Codec(CONTRACT)
SIZES = Sizes.of(CONTRACT)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)


def integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


CELLS: list[tuple[t.Type, st.SearchStrategy[Any]]] = [
    (t.BOOL, st.booleans()),
    (t.I64_, integers(limits.I64_MIN, limits.I64_MAX)),
    (t.U64_, integers(0, limits.U64_MAX)),
    (t.TIMESTAMP, integers(limits.TIMESTAMP_MIN, limits.TIMESTAMP_MAX)),
    (t.DATE, integers(limits.DATE_MIN, limits.DATE_MAX)),
    (t.UUID, st.binary(min_size=16, max_size=16)),
    (t.Decimal(38, 4), integers(-(10**38) + 1, 10**38 - 1)),
    (t.Money("EUR"), integers(-(10**38) + 1, 10**38 - 1)),
    (t.String(40), TEXT),
    (t.Bytes(40), st.binary(max_size=40)),
    (t.Enum("WorkState"), st.sampled_from(["Queued", "Running", "Complete"])),
    (t.Optional(t.String(40)), st.none() | TEXT),
    (t.List(t.String(20), 0, 4), st.lists(TEXT, max_size=4).map(tuple)),
    (t.List(t.Optional(t.UUID), 0, 4), st.lists(st.none() | st.just(b"u" * 16), max_size=4).map(tuple)),
]


@pytest.mark.parametrize("kind, cells", CELLS, ids=lambda value: str(value)[:30])
def test_a_measure_is_the_length_of_the_encoding(kind: t.Type, cells: st.SearchStrategy[Any]) -> None:
    measure, encode, bound = SIZES.measure(kind), CODEC.encoder(kind), SIZES.bound(kind)

    @given(cells)
    def check(cell: Any) -> None:
        assert measure(cell) == len(encode(cell)) <= bound

    check()


@given(st.none() | st.just((b"a" * 16, 5)), st.sampled_from(["Queued", "Complete"]))
def test_a_row_is_measured_without_its_absent_fields(lease: tuple[bytes, int] | None, state: str) -> None:
    cells = (b"o" * 16, b"w" * 16, state, *(lease or (None, None)), 1, 2)
    kind = t.Record("WorkItem")
    assert SIZES.measure(kind)(cells) == len(CODEC.encoder(kind)(cells)) <= SIZES.bound(kind)
    assert SIZES.measure(kind)(cells) == len(CODEC.row_encoder("WorkItem")(cells))


def test_only_a_row_that_can_pass_the_limit_is_measured() -> None:
    assert SIZES.row_measure("WorkItem") is None
    wide = Sizes({}, {"Wide": (c.Field("text", t.String(limits.STRING_BYTES)),)})
    measure = wide.row_measure("Wide")
    assert measure is not None
    assert measure(("x" * 10,)) < limits.ROW_BYTES < measure(("x" * limits.STRING_BYTES,))
