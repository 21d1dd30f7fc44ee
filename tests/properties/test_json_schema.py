"""Schemas and readers agree: what one accepts the other accepts, but for what a schema cannot say."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import jsonschema_rs
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.properties.values_of import CODEC, cells, scalars, spellings, typed_cells, types
from tests.support.effort import effort
from tests.unit.model.everything import CONTRACT
from treadle.errors import InvalidInput
from treadle.model import types as t
from treadle.plan.json_schema import Schemas

SCHEMAS = Schemas(CONTRACT)

UNSAYABLE = re.compile(r"is no date and time|is no date of the calendar|out of range: in UTC|is too long")
"""What a reader refuses and a schema cannot: days that no month has, the years' edges, UTF-8, bytes."""


@cache
def validator(kind: t.Type, out: bool) -> Any:
    return jsonschema_rs.validator_for(SCHEMAS.alone("", SCHEMAS.schema(kind, out=out)))


@settings(max_examples=effort(300))
@given(typed_cells)
def test_what_goes_out_is_valid_and_may_come_in_again(typed: tuple[t.Type, Any]) -> None:
    kind, cell = typed
    for strings in (False, True):
        shown = CODEC.json(kind, strings)(cell)
        assert validator(kind, True).is_valid(shown)
        assert validator(kind, False).is_valid(shown)


MUTATIONS = st.sampled_from(["", "0", "-", "+", " ", ".", "e", "Z", "=", ":", "9", "é", "\n", "A", "/", "5"])


@st.composite
def hostile(draw: st.DrawFn, kind: t.Type) -> Any:
    """JSON values near those of a type: its own spellings with a piece changed, and other types' values."""
    other = draw(st.sampled_from([kind, kind, kind, draw(scalars)]))
    written = [one for one in spellings(other, draw(cells(other))) if isinstance(one, str | int)]
    value = draw(st.sampled_from(written))
    if isinstance(value, str) and draw(st.booleans()):
        start = draw(st.integers(0, len(value)))
        end = draw(st.integers(start, min(len(value), start + 2)))
        value = value[:start] + draw(MUTATIONS) + value[end:]
    if isinstance(value, int) and not isinstance(value, bool):
        value += draw(st.sampled_from([0, 1, -1, 2**63, -(2**63), 2**64]))
    return draw(st.sampled_from([value, value, value, None, True, [], {}, 1.5]))


def refused(kind: t.Type, value: object) -> str | None:
    """What the reader says to a value that it refuses."""
    try:
        CODEC.reader(kind)(value, "it")
    except InvalidInput as error:
        return error.message
    return None


@settings(max_examples=effort(600))
@given(st.data())
def test_the_schema_accepts_what_the_reader_accepts(data: st.DataObject) -> None:
    kind = data.draw(scalars)
    value = data.draw(hostile(kind))
    says = validator(kind, False).is_valid(value)
    refusal = refused(kind, value)
    event("accepted" if refusal is None else "refused")
    if refusal is None:
        assert says or (isinstance(value, str) and " " in value), "RFC 3339 allows a space, formats do not"
    else:
        assert not says or UNSAYABLE.search(refusal), refusal


@settings(max_examples=effort(100))
@given(types)
def test_every_schema_is_one(kind: t.Type) -> None:
    for out in (False, True):
        assert jsonschema_rs.meta.is_valid(SCHEMAS.alone("", SCHEMAS.schema(kind, out=out)))
