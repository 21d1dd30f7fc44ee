"""A command's input: cells, canonical bytes, the idempotency key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.model.everything import CELLS, JSON, PYTHON, SHOP, codec
from treadle.errors import InvalidInput, Malformed, UnknownName
from treadle.model import canonical

CODEC = codec()
MAKE = CODEC.input_reader("Make")
GIVEN: dict[str, Any] = {"key": "k-1", "shop_id": SHOP, "seconds": 60, "things": [PYTHON]}


def test_cells_stand_in_declared_order() -> None:
    assert MAKE.read(GIVEN).cells == ("k-1", SHOP.bytes, 60, None, (CELLS,))
    assert MAKE.key_position == 0


def test_the_bytes_hold_neither_the_key_nor_absent_optionals() -> None:
    body = canonical.decode(MAKE.read(GIVEN).canonical)
    assert isinstance(body, dict)
    assert set(body) == {"shop_id", "seconds", "things"}
    assert body["shop_id"] == SHOP
    assert body["things"][0]["price"] == PYTHON["price"]


def test_another_key_or_another_spelling_of_a_value_gives_the_same_bytes() -> None:
    wire = {"key": "k-2", "shop_id": str(SHOP), "seconds": "60", "things": [JSON], "class": None}
    assert MAKE.read(wire).canonical == MAKE.read(GIVEN).canonical


def test_another_value_gives_other_bytes() -> None:
    assert MAKE.read({**GIVEN, "seconds": 61}).canonical != MAKE.read(GIVEN).canonical


def test_the_bytes_give_the_cells_back_without_the_key() -> None:
    found = MAKE.read(GIVEN)
    assert MAKE.decode(found.canonical) == (None, *found.cells[1:])
    assert MAKE.encode(found.cells) == found.canonical


@pytest.mark.parametrize("key, error", [("", Malformed), (None, InvalidInput), ("k" * 129, InvalidInput)])
def test_the_key_is_there_and_not_empty(key: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        MAKE.read({**GIVEN, "key": key})


def test_a_command_without_a_key() -> None:
    look = CODEC.input_reader("Look")
    assert look.key_position is None
    assert look.decode(look.read({"number": 5}).canonical) == (5,)


def test_a_reimport_command_takes_its_records() -> None:
    reader = CODEC.input_reader("RestoreThings")
    assert reader.read({"records": [JSON]}).cells == ((CELLS,),)


def test_an_unknown_command_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="the nearest is Make"):
        CODEC.input_reader("Mak")


@pytest.mark.parametrize("given", [None, [], "text", 5, object()])
def test_anything_but_names_and_values_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput, match="expects command Make as a mapping"):
        MAKE.read(given)
