"""Records and inputs: names, missing values, mappings and generated objects."""

from __future__ import annotations

import collections
import dataclasses
import types
from typing import Any

import pytest

from tests.unit.model.everything import CELLS, JSON, PYTHON, THING, MakeInput, codec
from treadle.errors import InvalidInput

CODEC = codec()
READ = CODEC.reader(THING)


def refused(value: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        READ(value, "thing")
    return caught.value


@pytest.mark.parametrize("given", [PYTHON, JSON], ids=["python", "json"])
def test_both_forms_give_the_same_cells(given: dict[str, Any]) -> None:
    assert READ(given, "thing") == CELLS


def test_other_mappings_are_read() -> None:
    assert READ(types.MappingProxyType(PYTHON), "thing") == CELLS
    assert READ(collections.UserDict(PYTHON), "thing") == CELLS
    assert READ(collections.OrderedDict(PYTHON), "thing") == CELLS


def test_an_optional_may_be_left_out() -> None:
    assert READ({name: value for name, value in PYTHON.items() if name != "note"}, "thing") == CELLS


def test_a_missing_field_is_named() -> None:
    error = refused({name: value for name, value in PYTHON.items() if name != "title"})
    assert error.path == "thing.title"
    assert "is missing: Thing requires it" in error.message


def test_null_is_not_missing() -> None:
    error = refused({**PYTHON, "title": None})
    assert "expects string<20>, not null" in error.message


def test_an_unknown_field_names_the_nearest() -> None:
    error = refused({**PYTHON, "titel": "x"})
    assert error.path == "thing.titel"
    assert "the nearest is title" in error.message


def test_an_unknown_field_is_found_where_nothing_is_absent() -> None:
    assert refused({**PYTHON, "note": "n", "extra": 1}).path == "thing.extra"
    assert refused({**PYTHON, "note": "n", "extra": None}).path == "thing.extra"


def test_a_misspelt_name_is_the_cause_not_the_field_that_is_then_missing() -> None:
    given = {**PYTHON, "titel": "x"}
    del given["title"]
    assert refused(given).path == "thing.titel"


def test_an_unknown_field_beside_an_absent_optional_is_found() -> None:
    given = {**PYTHON, "extra": 1}
    del given["note"]
    assert refused(given).path == "thing.extra"


@pytest.mark.parametrize("name", [1, None, b"title", ("title",)])
def test_names_are_text(name: Any) -> None:
    assert "names are str" in refused({**PYTHON, name: 1}).message


def test_strange_names_are_shown_safely() -> None:
    assert refused({**PYTHON, "\x1b[31m\ud800" + "x" * 1000: 1}).message.isprintable()


def test_the_fault_deep_inside_has_the_whole_path() -> None:
    with pytest.raises(InvalidInput) as caught:
        CODEC.input_reader("Make").read(
            {
                "key": "k",
                "shop_id": PYTHON["shop_id"],
                "seconds": 1,
                "things": [PYTHON, {**PYTHON, "tags": ["a", 1]}],
            }
        )
    assert caught.value.path == "input.things[1].tags[1]"


def test_a_generated_object_is_read_like_the_mapping() -> None:
    given = MakeInput(key="k", shop_id=PYTHON["shop_id"], seconds=60, class_="c", things=(PYTHON,))
    mapping = {"key": "k", "shop_id": PYTHON["shop_id"], "seconds": 60, "class": "c", "things": [PYTHON]}
    assert CODEC.input_reader("Make").read(given) == CODEC.input_reader("Make").read(mapping)


def test_metadata_names_the_field_that_an_attribute_stands_for() -> None:
    @dataclasses.dataclass
    class Renamed:
        other: str = dataclasses.field(metadata={"name": "class"})

    given = dataclasses.make_dataclass("Given", ["key", "shop_id", "seconds", "things"], bases=(Renamed,))(
        other="c", key="k", shop_id=PYTHON["shop_id"], seconds=1, things=[]
    )
    assert CODEC.input_reader("Make").read(given).cells[3] == "c"


def test_an_attribute_that_raises_refuses_the_object() -> None:
    @dataclasses.dataclass
    class Half:
        key: str = dataclasses.field(init=False)

    with pytest.raises(InvalidInput, match="raised AttributeError"):
        CODEC.input_reader("Make").read(Half())


def test_a_dataclass_itself_is_no_value() -> None:
    with pytest.raises(InvalidInput, match="not type"):
        CODEC.input_reader("Make").read(MakeInput)
