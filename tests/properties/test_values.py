"""Random types and cells: every way out leads back in, and every reader answers or refuses."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.properties.values_of import CODEC, cells, scalars, spellings, typed_cells, types
from tests.unit.model.everything import PYTHON
from treadle.errors import DatabaseCorrupt, InvalidInput, Malformed
from treadle.model import canonical
from treadle.model import types as t
from treadle.model.json_text import scan_json


@given(typed_cells)
def test_bytes_come_back(pair: tuple[t.Type, Any]) -> None:
    kind, cell = pair
    data = CODEC.encoder(kind)(cell)
    assert CODEC.decoder(kind)(data) == cell
    assert canonical.render(canonical.parse(data)) == data


@given(typed_cells, st.booleans())
def test_user_values_come_back(pair: tuple[t.Type, Any], as_strings: bool) -> None:
    kind, cell = pair
    read = CODEC.reader(kind)
    assert read(CODEC.python(kind)(cell), "x") == cell
    assert read(CODEC.json(kind, as_strings)(cell), "x") == cell
    assert CODEC.format_cell(kind, cell).isprintable()


@given(scalars.flatmap(lambda kind: st.tuples(st.just(kind), cells(kind))))
def test_each_spelling_means_the_same(pair: tuple[t.Type, Any]) -> None:
    kind, cell = pair
    for value in spellings(kind, cell):
        assert CODEC.reader(kind)(value, "x") == cell


@given(st.data(), typed_cells)
def test_damaged_bytes_are_refused_or_mean_something_else(
    data: st.DataObject, pair: tuple[t.Type, Any]
) -> None:
    kind, cell = pair
    written = bytearray(CODEC.encoder(kind)(cell))
    at = data.draw(st.integers(0, len(written) - 1))
    change = data.draw(st.sampled_from(["flip", "drop", "insert", "cut"]))
    if change == "flip":
        written[at] ^= data.draw(st.integers(1, 255))
    elif change == "drop":
        del written[at]
    elif change == "insert":
        written.insert(at, data.draw(st.integers(0, 255)))
    else:
        del written[at:]
    damaged = bytes(written)
    assume(damaged != CODEC.encoder(kind)(cell))
    try:
        found = CODEC.decoder(kind)(damaged)
    except DatabaseCorrupt:
        return
    assert found != cell
    assert CODEC.encoder(kind)(found) == damaged
    assert canonical.render(canonical.parse(damaged)) == damaged


class Awkward(datetime.tzinfo):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def dst(self, when: datetime.datetime | None) -> datetime.timedelta | None:
        return None

    def tzname(self, when: datetime.datetime | None) -> str | None:
        return None

    def utcoffset(self, when: datetime.datetime | None) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


awkward_zones = st.sampled_from(
    [
        None,
        datetime.UTC,
        *map(Awkward, (None, 5, "x", datetime.timedelta(days=3), KeyError(), datetime.timedelta(0))),
    ]
)
leaves: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers().map(str),
    st.floats(),
    st.complex_numbers(),
    st.decimals(),
    st.decimals().map(str),
    st.fractions(),
    st.text(st.characters(codec=None, categories=None)),
    st.binary(),
    st.binary().map(bytearray),
    st.uuids(),
    st.uuids().map(str),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.datetimes(timezones=st.none()),
    st.builds(lambda when, zone: when.replace(tzinfo=zone), st.datetimes(), awkward_zones),
    st.datetimes(timezones=st.just(datetime.UTC)).map(str),
    st.sampled_from(
        [object(), type, len, Ellipsis, NotImplemented, iter([]), range(3), memoryview(b"a"), PYTHON]
    ),
)
hostile: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from([*PYTHON, "x", ""]) | st.integers(), inner, max_size=4),
        inner.map(lambda value: {**PYTHON, "title": value}),
        inner.map(lambda value: {**PYTHON, "tags": [value]}),
    ),
    max_leaves=6,
)


@given(types, hostile)
@example(t.Record("Thing"), PYTHON)
@example(t.TIMESTAMP, datetime.datetime(1, 1, 1, tzinfo=Awkward(datetime.timedelta(hours=23))))
def test_a_reader_answers_or_refuses_whatever_it_is_given(kind: t.Type, value: Any) -> None:
    try:
        cell = CODEC.reader(kind)(value, "input.x")
    except InvalidInput as error:
        refused = error
    else:
        assert CODEC.decoder(kind)(CODEC.encoder(kind)(cell)) == cell
        assert CODEC.reader(kind)(CODEC.python(kind)(cell), "x") == cell
        return
    assert refused.path.startswith("input.x")


@given(hostile)
def test_an_input_reader_answers_or_refuses_too(value: Any) -> None:
    for given_input in (value, {"key": "k", "shop_id": PYTHON["shop_id"], "seconds": 1, "things": value}):
        try:
            found = CODEC.input_reader("Make").read(given_input)
        except InvalidInput:
            continue
        assert CODEC.input_reader("Make").decode(found.canonical)[1:] == found.cells[1:]


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**38), 10**38)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(json_values, st.booleans())
def test_json_values_are_read_as_they_are(value: Any, ascii_only: bool) -> None:
    written = json.dumps(value, ensure_ascii=ascii_only)
    try:
        written.encode()
    except UnicodeEncodeError:
        return
    assert scan_json(written) == value
    assert scan_json(written.encode()) == value


@given(json_values, st.data())
def test_damaged_json_is_read_or_refused(value: Any, data: st.DataObject) -> None:
    written = bytearray(json.dumps(value).encode())
    at = data.draw(st.integers(0, len(written) - 1))
    written[at : at + 1] = data.draw(st.binary(max_size=2) | st.sampled_from([b'"', b"[", b"\\ud800", b"\\"]))
    try:
        found = scan_json(bytes(written))
    except Malformed:
        return
    json.dumps(found).encode()
    assert json.loads(bytes(written)) == found


def test_the_hostile_values_reach_both_ends() -> None:
    """The strategies above are worth something only if some values are read and some refused."""
    assert CODEC.reader(t.Record("Thing"))(PYTHON, "x")
    assert CODEC.reader(t.Decimal(3, 1))(Decimal("1.5"), "x") == 15
